// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Kernels timed on a GPU: events around each call, the L2 cache flushed before it, random operands.
#pragma once

#include <memory>

#include "calibration/microbench/bench.hpp"

namespace pleat {

// ConfigError (device_or_io) without CUDA in this build, or without a GPU.
[[nodiscard]] std::unique_ptr<Bench> cuda_bench(int device = 0);

}  // namespace pleat
