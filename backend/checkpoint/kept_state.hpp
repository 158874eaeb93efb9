// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What training has to keep on one rank, by global names: weights, main parameters, moments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/checkpoint/element_type.hpp"
#include "backend/execute/executor.hpp"

namespace pleat {

// Consecutive elements of the whole tensor, where they lie in this rank's memory.
struct KeptRun {
  std::int64_t whole = 0, elements = 0;
  std::byte* data = nullptr;
};

struct KeptTensor {
  std::string name;  // "exp_avg/layers.3.qkv"
  ElementType type = ElementType::f32;
  std::int64_t elements = 0;  // of the whole tensor
  std::vector<KeptRun> runs;
};

enum class Kept {
  saved_here,  // each element on one rank of the job
  all,         // every element that this rank needs to go on
};

// Each name once. The memory stays the executor's: valid until its next step.
[[nodiscard]] std::vector<KeptTensor> kept_state(Executor&, Kept);

}  // namespace pleat
