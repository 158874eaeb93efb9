// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The executor, the CUDA device and the CUDA kernels together, without a GPU: compiled for the CPU,
// several ranks on the one emulated GPU.
#pragma once

#include "kernels/cuda/gpu_device.hpp"
#include "tests/backend/device/gpu_parity.hpp"

namespace pleat::test {

inline std::unique_ptr<Device> emulated_gpu(Rank) {
  return gpu_device(0, {.scratch_bytes = 1 << 16});
}

}  // namespace pleat::test
