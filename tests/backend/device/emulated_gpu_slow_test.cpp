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
                                          "DelayedScaling", "DelayedScalingOfExperts",
                                          "Packed", "TiedDepthWithAll", "Gpt", "Bf16", "Fp8",
                                          "Fp8Block", "Mxfp8", "Nvfp4", "TokensAsTheyAre",
                                          "Remainders", "RoundedGradients", "LambBf16",
                                          "MuonBf16", "Fp8Attention", "Mxfp8Attention",
                                          "Mxfp8LatentAttention",
                                          "Mxfp8LatentAttentionOnShares", "Oss", "ThreeDepths",
                                          "TileLevel", "TileLevelOfAll",
                                          "TP2_CP2_PP2_EP2_EDP2_p2p_unsharded_bf16"})),
    [](const auto& info) { return info.param.name; });

TEST(EmulatedGpu, RepeatsGraphsOfExperts) { expect_graphs_repeat("Padded_full_iteration"); }
TEST(EmulatedGpu, RepeatsAWholeStepWithExperts) {
  expect_graphs_repeat("PaddedAlone_full_iteration");
}
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
    expect_parity(c, emulated_gpu, 1, true, Arithmetic::libraries);
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

// Gradients of attention in codes are percents from the CPU's, with one rank of tp as with two:
// single codes that fell to the other side. In the last layer, where the backward pass begins,
// there is nothing of it yet; and one weight that is one bf16 apart takes the CPU's own gradients
// as far.
TEST(EmulatedGpu, SingleCodesTakeGradientsApart) {
  for (const int tp : {1, 2}) {
    DeviceCase c{"", in_precision(Precision::mxfp8, tp_plan(tp)), small_mla(), small_workload(),
                 true};
    c.plan.fp8_attention = true;
    TrainConfig config = parity_config(c, 1);
    config.seed = 21;
    const Tensors here = run(c.model, c.plan, config, c.workload).gradients;
    config.make_device = emulated_gpu;
    const Tensors there = run(c.model, c.plan, config, c.workload).gradients;
    for (const auto& [name, values] : here) {
      if (!name.starts_with("layers.3.")) continue;
      EXPECT_LE(relative_difference(there.at(name), values), 1e-3) << name << " tp " << tp;
    }
    config.make_device = nullptr;
    config.adjust_weight = [skew = config.adjust_weight](const std::string& name,
                                                         std::span<float> values) {
      skew(name, values);
      if (name == "layers.3.kv_b") values[5] *= 1 + 0x1p-7F;
    };
    double most = 0;
    for (const auto& [name, values] : run(c.model, c.plan, config, c.workload).gradients) {
      most = std::max(most, relative_difference(values, here.at(name)));
    }
    EXPECT_GT(most, 0.01) << "tp " << tp;
  }
}

TEST(EmulatedGpu, GivesTheSameBitsAgain) {
  expect_repeatable(device_cases_named({"Folded"})[0], emulated_gpu);
}

}  // namespace
}  // namespace pleat::test
