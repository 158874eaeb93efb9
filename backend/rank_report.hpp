// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a rank tells rank 0 at the end of a run, as bytes that travel between processes of one
// program on machines of one kind.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "backend/collect.hpp"
#include "backend/trainer.hpp"

namespace pleat {

struct RankReport {
  RankMeasurement measured;
  double router_margin = std::numeric_limits<double>::infinity();
  std::vector<Span> spans;
  RankTensors tensors;
};

[[nodiscard]] std::vector<std::byte> pack(const RankReport&);
// std::runtime_error for bytes that pack() did not write.
[[nodiscard]] RankReport unpack(std::span<const std::byte>);

}  // namespace pleat
