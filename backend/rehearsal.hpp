// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The executor's births and deaths of a step, on an arena whose memory is not there.
#pragma once

#include <cstdint>
#include <functional>

#include "core/program/program.hpp"

namespace pleat {

struct Rehearsed {
  std::int64_t blocks = 0;    // bytes that the arena takes
  std::int64_t in_pages = 0;  // the same as cudaMalloc gives them
  std::int64_t slab = 0;      // bytes of a Slab that has room for them
  std::uint64_t layout = 0;   // of the slab: other offsets or sizes give another number
};

// Where the executor's arena puts them: in its segments, these with routed tensors apart
// (keeps_routed_apart), or in a Slab.
enum class TensorPlacement : std::uint8_t { segments, routed_apart, slab };

// Of those tensors that `counts`; `routed` is asked for the sizes of routed ones among them.
[[nodiscard]] Rehearsed rehearse(const StageProgram&, const RoutedCount& routed,
                                 const std::function<bool(const Tensor&)>& counts,
                                 TensorPlacement = TensorPlacement::segments);

}  // namespace pleat
