// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Published sizes and FLOPs of the shipped models. Expected values: parameters in billions from the
// models' papers and cards, as reproduced by Megatron; FLOPs from Megatron's formula at the
// published sequence length.
#include <gtest/gtest.h>

#include "core/spec/catalog.hpp"

namespace pleat {
namespace {

constexpr double kSizeTolerance = 2e-4;    // 0.02%
constexpr double kActiveTolerance = 5e-3;  // expected values have two decimals
constexpr double kFlopsTolerance = 2.5e-3;

struct Size {
  const char* name;
  double total, active;    // 1e9
  std::int64_t vocab = 0;  // other than the file's
};

class ModelSize : public ::testing::TestWithParam<Size> {};

TEST_P(ModelSize, MatchesPublished) {
  ModelSpec model = load_model(GetParam().name).model;
  if (GetParam().vocab != 0) model.vocab = GetParam().vocab;
  const ParameterCount count = count_parameters(model);
  EXPECT_NEAR(static_cast<double>(count.total) / 1e9, GetParam().total,
              GetParam().total * kSizeTolerance);
  EXPECT_NEAR(static_cast<double>(count.active) / 1e9, GetParam().active, kActiveTolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Shipped, ModelSize,
    ::testing::Values(Size{"deepseek-v3", 671.026, 37.55}, Size{"qwen3-235b-a22b", 235.094, 22.19},
                      Size{"qwen3-30b-a3b", 30.532, 3.35}, Size{"mixtral-8x7b", 46.703, 12.88},
                      Size{"mixtral-8x22b", 140.630, 39.16, 32768},
                      Size{"qwen2-57b-a14b", 57.409, 14.25}, Size{"llama-3-8b", 8.030, 8.030},
                      Size{"llama-3-70b", 70.554, 70.554}, Size{"llama-3.1-405b", 405.853, 405.853},
                      Size{"gpt3-175b", 174.616, 174.616}));

TEST(ModelSize, DeepseekMtp) {
  const ParameterCount count = count_parameters(load_model("deepseek-v3").model);
  EXPECT_NEAR(static_cast<double>(count.mtp) / 1e9, 11.61, 5e-3);
}

struct Work {
  const char* name;
  std::int64_t seq_len;
  double gflops;
  std::int64_t mtp_layers = 0;
};

class ModelWork : public ::testing::TestWithParam<Work> {};

TEST_P(ModelWork, FlopsPerTokenMatchMegatron) {
  const Work& work = GetParam();
  ModelSpec model = load_model(work.name).model;
  model.mtp_layers = work.mtp_layers;
  EXPECT_NEAR(model_flops_per_token(model, work.seq_len).base() / 1e9, work.gflops,
              work.gflops * kFlopsTolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Shipped, ModelWork,
    ::testing::Values(Work{"deepseek-v3", 4096, 259.99, 1}, Work{"deepseek-v3", 4096, 249.81},
                      Work{"qwen3-235b-a22b", 4096, 148.03}, Work{"qwen3-30b-a3b", 4096, 23.01},
                      Work{"llama-3-8b", 8192, 51.47}, Work{"llama-3-70b", 8192, 449.22},
                      Work{"llama-3.1-405b", 8192, 2523.96}));

// Every term by hand, on a model small enough to count.
TEST(ModelSize, TinyMoeByHand) {
  const ModelSpec m = load_model("tiny-moe").model;
  const ParameterCount count = count_parameters(m);
  const std::int64_t attention = 128 * 32 * (4 + 2 * 2) + 4 * 32 * 128;
  const std::int64_t dense = 3 * 128 * 384;
  const std::int64_t moe = 128 * 8 + 8 * 3 * 128 * 128 + 3 * 128 * 128 + 128;
  EXPECT_EQ(count.attention_per_layer, attention);
  EXPECT_EQ(count.dense_mlp_per_layer, dense);
  EXPECT_EQ(count.moe_per_layer, moe);
  EXPECT_EQ(count.embedding, 256 * 128);
  EXPECT_EQ(count.total, 2 * 256 * 128 + 128 + 4 * (attention + 2 * 128) + dense + 3 * moe);
  EXPECT_EQ(count.active, count.total - 3 * 6 * 3 * 128 * 128);
  EXPECT_EQ(count.mtp, 0);
}

// Latent attention without a compressed q (DeepSeek-V2-Lite) has another q term in both counts.
TEST(ModelSize, LatentAttentionWithoutQueryCompression) {
  ModelSpec m = load_model("deepseek-v3").model;
  const ParameterCount with = count_parameters(m);
  const double flops = model_flops_per_token(m, 4096).base();
  m.attention.q_lora_rank = 0;
  const ParameterCount without = count_parameters(m);
  const std::int64_t h = 7168, n = 128, r = 1536, qk = 192;
  EXPECT_EQ(without.attention_per_layer - with.attention_per_layer,
            h * n * qk - (h * r + r + r * n * qk));
  const double layers = 62;  // with the MTP layer
  EXPECT_NEAR(model_flops_per_token(m, 4096).base() - flops,
              6 * layers * static_cast<double>(h * n * qk - r * (h + n * qk + 1)), 1e3);
}

}  // namespace
}  // namespace pleat
