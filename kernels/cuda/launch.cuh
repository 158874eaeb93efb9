// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Launches: grids of 64-bit sizes, the set's stream, and errors as exceptions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/diagnostics.hpp"
#include "kernels/cuda/cuda_check.cuh"
#include "kernels/cuda/divisor.hpp"
#include "kernels/cuda/resources.hpp"
#include "kernels/cuda/shared.cuh"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

inline constexpr int kThreads = 256;

[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// A grid's first dimension.
[[nodiscard]] inline unsigned blocks_of(std::int64_t blocks) {
  PLEAT_ASSERT(blocks > 0 && blocks <= INT32_MAX);
  return static_cast<unsigned>(blocks);
}

// Makes the device current, launches `kernel` on the set's stream and checks.
template <class... Parameters, class... Arguments>
void launch(const Resources& r, void (*kernel)(Parameters...), dim3 grid, int threads,
            std::size_t shared, Arguments... arguments) {
  r.device().make_current();
  if (shared > 48 * 1024) {
    PLEAT_CUDA_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                          cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          static_cast<int>(shared)));
  }
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = shared;
  config.stream = native(r);
  PLEAT_CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, arguments...));
}

// Blocks that run together on one multiprocessor, as the kernel's registers and its own shared
// memory let them: a grid of so many for each is one wave.
template <class... Parameters>
[[nodiscard]] int blocks_together(const Resources& r, void (*kernel)(Parameters...), int threads) {
  r.device().make_current();
  int blocks = 0;
  PLEAT_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, reinterpret_cast<const void*>(kernel), threads, 0));
  return std::max(1, blocks);
}

// Row and column of element `i` of rows of `cols`; in 32 bits where that is enough.
__device__ __forceinline__ void split(std::int64_t i, std::int64_t cols, std::int64_t& row,
                                      std::int64_t& col) {
  if ((i | cols) >> 32 == 0) {
    const auto quotient = static_cast<std::uint32_t>(i) / static_cast<std::uint32_t>(cols);
    row = quotient;
    col = i - row * cols;
  } else {
    row = i / cols;
    col = i - row * cols;
  }
}

// n / d, rounded down; n is not negative.
__device__ __forceinline__ int quotient(int n, const Divisor& d) {
  const auto product = static_cast<std::uint64_t>(static_cast<std::uint32_t>(n)) * d.multiplier;
  return static_cast<int>(product >> d.shift);
}

}  // namespace pleat::cuda
