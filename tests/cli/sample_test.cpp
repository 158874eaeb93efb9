// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat sample`: a model that has learned a text goes on with it, from a checkpoint and from a
// Hugging Face folder alike.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::HasSubstr;

const std::string kLettersModel = R"({"model_type": "mixtral", "hidden_size": 32,
  "vocab_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
  "head_dim": 8, "intermediate_size": 48, "num_local_experts": 4, "num_experts_per_tok": 2,
  "rms_norm_eps": 1e-6, "tie_word_embeddings": false, "hidden_act": "silu",
  "rope_theta": 10000.0})";

TEST(Sample, GoesOnWithWhatTheModelHasLearned) {
  const std::string folder = test_folder();
  write_text(folder + "/config.json", kLettersModel);
  std::string text;
  while (text.size() < 4000) text += "abcdefghij";
  write_text(folder + "/text", text);
  const Said trained = run_pleat({"train", "--model", folder + "/config.json", "--data",
                                  folder + "/text", "--gpus", "2", "--ep", "2", "--precision",
                                  "fp32", "--seq-len", "16", "--global-batch", "8", "--steps",
                                  "60", "--lr", "0.01", "--save", folder + "/ck"});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const std::vector<std::string> likeliest{"--prompt", "abc", "--temperature", "0", "--tokens",
                                           "27"};
  // Longer than the 16 tokens that a sequence has.
  const Said sampled =
      run_pleat(std::vector<std::string>{"sample", "--checkpoint", folder + "/ck"} + likeliest);
  EXPECT_EQ(sampled.exit_code, 0) << sampled.err;
  EXPECT_EQ(sampled.out, text.substr(0, 30) + "\n");

  ASSERT_EQ(run_pleat({"export-weights", "--model", folder + "/config.json", "--checkpoint",
                       folder + "/ck/step_00000060", "-o", folder + "/hf"})
                .exit_code,
            0);
  EXPECT_EQ(run_pleat(std::vector<std::string>{"sample", "--from", folder + "/hf", "--context",
                                               "16"} +
                      likeliest)
                .out,
            sampled.out);

  const auto drawn = [&](const char* seed) {
    return run_pleat({"sample", "--checkpoint", folder + "/ck", "--temperature", "30", "--seed",
                      seed, "--tokens", "40", "--json"})
        .out;
  };
  EXPECT_EQ(drawn("1"), drawn("1"));
  EXPECT_NE(drawn("1"), drawn("2"));
}

TEST(Sample, SaysWhatIsMissing) {
  const Said nothing = run_pleat({"sample"});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.err, HasSubstr("--checkpoint, --from"));
  const Said no_checkpoint = run_pleat({"sample", "--checkpoint", test_folder()});
  EXPECT_EQ(no_checkpoint.exit_code, 5);
  EXPECT_THAT(no_checkpoint.err, HasSubstr("has no checkpoint"));
}

}  // namespace
}  // namespace pleat::cli_test
