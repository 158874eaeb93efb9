// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a rank must keep of training in a checkpoint: weights, main parameters and moments, by their
// global names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/checkpoint/element_type.hpp"
#include "backend/execute/executor.hpp"

namespace pleat {

// Consecutive elements of a whole tensor, and where this rank has them in memory.
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
  saved_here,  // what this rank saves: of all ranks, one saves each element
  all,         // every element that this rank needs to go on
};

// Each name comes once, but where a rank has an expert and copies of it. The memory belongs to the
// executor and is valid until its next step.
[[nodiscard]] std::vector<KeptTensor> kept_state(Executor&, Kept);

}  // namespace pleat
