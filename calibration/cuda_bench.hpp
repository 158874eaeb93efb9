// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Kernels timed on a GPU: events around each call, the L2 cache flushed before it, random operands.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calibration/microbench/bench.hpp"

namespace pleat {

// ConfigError (device_or_io) without a GPU, and as gpu_library throws.
[[nodiscard]] std::unique_ptr<Bench> cuda_bench(int device = 0);

// Versions of the driver ("0": there is none) and of the runtime, and the kernels' libraries as
// cuda::library_facts() has them. Needs no GPU. ConfigError as gpu_library throws.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> cuda_software_facts();

// The two in the library of CUDA kernels.
struct CudaBenchLibrary {
  std::unique_ptr<Bench> (*bench)(int device);
  std::vector<std::pair<std::string, std::string>> (*software_facts)();
};

}  // namespace pleat
