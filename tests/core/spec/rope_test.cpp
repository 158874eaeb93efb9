// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Frequencies of scaled rotary positions, and how configs say them.
#include "core/spec/rope.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/spec/catalog.hpp"
#include "core/spec/model.hpp"

namespace pleat {
namespace {

// Wave length 2 pi / f: 8192 / 4 and 8192 / 1 are where llama3's rule changes.
TEST(RopeFrequency, Llama3DividesLongWavesOnly) {
  const RopeScaling s{.rule = RopeRule::llama3, .factor = 8, .original_positions = 8192};
  const auto plain = [](std::int64_t i) {
    return std::pow(500000.0, -static_cast<double>(i) / 64);
  };
  EXPECT_DOUBLE_EQ(rope_frequency(s, 500000, 128, 0), plain(0));
  EXPECT_DOUBLE_EQ(rope_frequency(s, 500000, 128, 28), plain(28));   // wave length 1,956
  EXPECT_DOUBLE_EQ(rope_frequency(s, 500000, 128, 36), plain(36) / 8);  // 10,080
  const double between = rope_frequency(s, 500000, 128, 32);  // 4,443: 1.844 turns
  const double keep = (8192 * plain(32) / (2 * std::numbers::pi) - 1) / 3;
  EXPECT_NEAR(between, plain(32) * (keep + (1 - keep) / 8), 1e-12);
  EXPECT_LT(between, plain(32));
}

// DeepSeek-V3: 64 columns, pairs below 10 keep their frequency, those from 23 on are divided by 40.
TEST(RopeFrequency, YarnRampsBetweenPairs) {
  const RopeScaling s{.rule = RopeRule::yarn, .factor = 40, .original_positions = 4096};
  const auto plain = [](std::int64_t i) { return std::pow(10000.0, -static_cast<double>(i) / 32); };
  EXPECT_DOUBLE_EQ(rope_frequency(s, 10000, 64, 10), plain(10));
  EXPECT_DOUBLE_EQ(rope_frequency(s, 10000, 64, 23), plain(23) / 40);
  const double ramp = (16.0 - 10) / (23 - 10);
  EXPECT_NEAR(rope_frequency(s, 10000, 64, 16), plain(16) * (1 - ramp + ramp / 40), 1e-15);
}

TEST(RopeFrequency, YarnMagnitudeGrowsWithTheLogarithm) {
  EXPECT_EQ(yarn_magnitude(1, 1), 1);
  EXPECT_NEAR(yarn_magnitude(40, 1), 1 + 0.1 * std::log(40), 1e-15);
}

TEST(HfRope, DeepseekScalesScoresAndNotTheTurns) {
  const AttentionSpec a = load_model("deepseek-v3").model.attention;
  EXPECT_EQ(a.rope_scaling.rule, RopeRule::yarn);
  EXPECT_EQ(a.rope_scaling.factor, 40);
  EXPECT_EQ(a.rope_scaling.original_positions, 4096);
  EXPECT_EQ(a.rope_scaling.magnitude, 1);  // mscale == mscale_all_dim
  EXPECT_NEAR(a.rope_scaling.scores, 1.8738542, 1e-6);
  EXPECT_TRUE(a.rope_interleaved);
}

TEST(HfRope, GptOssScalesTheTurns) {
  const AttentionSpec a = load_model("gpt-oss-20b").model.attention;
  EXPECT_EQ(a.rope_scaling.rule, RopeRule::yarn);
  EXPECT_NEAR(a.rope_scaling.magnitude, 1 + 0.1 * std::log(32), 1e-12);
  EXPECT_EQ(a.rope_scaling.scores, 1);
  EXPECT_FALSE(a.rope_scaling.truncate);
  EXPECT_FALSE(a.rope_interleaved);
}

TEST(HfRope, BothSpellingsAndWhatIsUnknown) {
  const std::string model = R"({"model_type": "llama", "vocab_size": 64, "hidden_size": 32,
      "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 8,
      "max_position_embeddings": 64, )";
  const auto scaling = [&](const std::string& rest) {
    return read_hf_config(model + rest + "}", "config.json", "m").model.attention.rope_scaling;
  };
  const RopeScaling linear{.rule = RopeRule::linear, .factor = 2, .original_positions = 64};
  EXPECT_EQ(scaling(R"("rope_scaling": {"type": "linear", "factor": 2.0})"), linear);
  EXPECT_EQ(
      scaling(R"("rope_parameters": {"rope_type": "linear", "rope_theta": 5e5, "factor": 2})"),
      linear);
  EXPECT_EQ(scaling(R"("rope_scaling": null)"), RopeScaling{});
  EXPECT_EQ(scaling(R"("rope_scaling": {"type": "longrope", "factor": 4.0})").rule,
            RopeRule::unknown);
}

}  // namespace
}  // namespace pleat
