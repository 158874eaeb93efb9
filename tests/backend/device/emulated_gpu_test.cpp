// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A step of some runs; emulated_gpu_slow_test has more.
#include "tests/backend/device/emulated_gpu.hpp"

namespace pleat::test {
namespace {

TEST(EmulatedGpu, TrainsAsTheCpu) {
  for (const DeviceCase& c : device_cases_named({"OneRank", "AllGather", "LossInParts"})) {
    expect_parity(c, emulated_gpu, 1);
  }
}

// Norms and SwiGLU that quantise what they make, which is nowhere.
TEST(EmulatedGpu, MakesCodesAsTheCpu) {
  expect_parity(device_cases_named({"FusedCodes"})[0], emulated_gpu, 1);
}

// The device's own capture, of its own kernels.
TEST(EmulatedGpu, RepeatsGraphs) { expect_graphs_repeat("Dense_full_iteration"); }

// Spans are of the device's own clock.
TEST(EmulatedGpu, TracesWithoutAWaitForEachOperation) {
  const DeviceCase c = device_cases_named({"OneRank"}).front();
  TrainConfig config = parity_config(c, 1);
  config.make_device = emulated_gpu;
  std::size_t spans = 0;
  const auto waits = [&](bool trace) {
    config.trace = trace;
    const int before = emulated_waits;
    spans = run(c.model, c.plan, config, c.workload).trace.spans.size();
    return emulated_waits - before;
  };
  const int without = waits(false);
  EXPECT_LE(waits(true), without + 4);  // where the clocks meet
  EXPECT_GT(spans, 40U);
}

}  // namespace
}  // namespace pleat::test
