// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How many parameters a layer has, for the bounds of a search.
#pragma once

#include <array>
#include <cstdint>

#include "core/program/layer_program.hpp"

namespace pleat {

// On one rank, in elements, without buffers. By Bucket; 2 and 3: of them the matrices of 0 and 1
// (core/program/step_state.hpp).
struct LayerWeights {
  std::array<std::int64_t, 4> of{};
  std::array<std::int64_t, 4> replicated{};  // of these: also summed over tp
  std::int64_t table = 0;                    // of[0]: an embedding table, which a stage has once
  bool operator==(const LayerWeights&) const = default;
};
[[nodiscard]] LayerWeights count_weights(const LayerProgram&);

}  // namespace pleat
