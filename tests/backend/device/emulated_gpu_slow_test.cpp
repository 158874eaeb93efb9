// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Every way in which the executor touches memory, on the emulated GPU.
#include "tests/backend/device/emulated_gpu.hpp"

namespace pleat::test {
namespace {

class EmulatedGpu : public testing::TestWithParam<DeviceCase> {};

TEST_P(EmulatedGpu, TrainsAsTheCpu) { expect_parity(GetParam(), emulated_gpu); }

INSTANTIATE_TEST_SUITE_P(
    Runs, EmulatedGpu,
    testing::ValuesIn(device_cases_named({"OneRank", "Folded", "Zero3", "Ring", "GatheredKeys",
                                          "SteppedOnTheHost", "Sgd", "Lamb", "Muon", "Padded",
                                          "Packed", "TiedDepthWithAll", "Gpt", "Bf16", "Fp8",
                                          "Fp8Block", "Mxfp8", "Nvfp4", "TokensAsTheyAre",
                                          "Remainders", "RoundedGradients", "LambBf16",
                                          "MuonBf16", "Fp8Attention", "Mxfp8Attention",
                                          "Mxfp8LatentAttention", "Oss", "ThreeDepths",
                                          "TileLevel", "TileLevelOfAll",
                                          "TP2_CP2_PP2_EP2_EDP2_p2p_unsharded_bf16"})),
    [](const auto& info) { return info.param.name; });

TEST(EmulatedGpu, RepeatsGraphsOfExperts) { expect_graphs_repeat("Padded_full_iteration"); }
TEST(EmulatedGpu, RepeatsAWholeStepWithExperts) { expect_graphs_repeat("PaddedAlone_full_iteration"); }
TEST(EmulatedGpu, RepeatsTheRouterWithItsCounts) { expect_graphs_repeat("Dropped_router"); }

TEST(EmulatedGpu, UsesStreams) {
  for (const DeviceCase& c : stream_cases()) {
    if (c.name == "Offloaded" || c.name == "ShardedGradients") {
      expect_parity(c, emulated_gpu, 1, false);
    }
  }
}

TEST(EmulatedGpu, GivesTheSameBitsAgain) {
  expect_repeatable(device_cases_named({"Folded"})[0], emulated_gpu);
}

}  // namespace
}  // namespace pleat::test
