// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Every way in which the executor touches memory, on the emulated GPU.
#include "tests/backend/device/emulated_gpu.hpp"

namespace pleat::cuda {
extern bool emulated_cudnn;
extern int emulated_attentions;
}  // namespace pleat::cuda

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

// Heads of multiples of eight columns, as cuDNN wants them.
ModelSpec wide_mla() {
  ModelSpec m = small_mla();
  m.attention.kv_lora_rank = 16;
  m.attention.qk_nope_head_dim = m.attention.qk_rope_head_dim = 8;
  return m;
}

// Loops in cuDNN's place see the pieces of a ring and of gathered keys, forward and backward.
TEST(EmulatedGpu, GivesContextParallelPiecesToTheLibrary) {
  for (const CpComm kind : {CpComm::p2p, CpComm::all_gather}) {
    DeviceCase c{"Context", context_plan(kind, 2), wide_mla()};
    c.plan.precision = Precision::bf16;
    cuda::emulated_cudnn = true;
    const int before = cuda::emulated_attentions;
    expect_parity(c, emulated_gpu, 1);
    cuda::emulated_cudnn = false;
    EXPECT_GT(cuda::emulated_attentions, before);
  }
}

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
