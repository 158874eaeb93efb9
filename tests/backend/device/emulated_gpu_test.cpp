// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A step of two runs; emulated_gpu_slow_test has more.
#include "tests/backend/device/emulated_gpu.hpp"

namespace pleat::test {
namespace {

TEST(EmulatedGpu, TrainsAsTheCpu) {
  for (const DeviceCase& c : device_cases_named({"OneRank", "AllGather"})) {
    expect_parity(c, emulated_gpu, 1);
  }
}

// The device's own capture, of its own kernels.
TEST(EmulatedGpu, RepeatsGraphs) { expect_graphs_repeat("Dense_full_iteration"); }

}  // namespace
}  // namespace pleat::test
