// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The executor, the CUDA device and the CUDA kernels together, without a GPU: compiled for the CPU,
// several ranks on the one emulated GPU.
#pragma once

#include "kernels/cuda/gpu_device.hpp"
#include "tests/backend/device/gpu_parity.hpp"
#include "tests/kernels/emulation/include/cuda_runtime.h"

namespace pleat::test {

inline std::unique_ptr<Device> emulated_gpu(Rank) {
  return gpu_device(0, {.scratch_bytes = 1 << 16});
}

inline void expect_graphs_repeat(const std::string& name) {
  const std::vector<GraphCase> all = graph_cases();
  const auto found = std::ranges::find(all, name, &GraphCase::name);
  ASSERT_NE(found, all.end());
  emulated_graph_launches = 0;
  expect_parity(in_graphs(*found), emulated_gpu, 4, false);
  EXPECT_GT(emulated_graph_launches, 0);
}

}  // namespace pleat::test
