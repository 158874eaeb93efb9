// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Tokens are bytes, and the global batch does not depend on how many ranks share it.
#include "backend/data.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "backend/text.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

std::vector<std::uint8_t> counting_text(std::size_t length) {
  std::vector<std::uint8_t> text(length);
  for (std::size_t i = 0; i < length; ++i) text[i] = static_cast<std::uint8_t>(i % 251);
  return text;
}

std::vector<std::int32_t> tokens(const Batches& b, std::size_t n, int step, int microbatch,
                                 int dp) {
  std::vector<std::int32_t> out(n);
  b.tokens(step, microbatch, dp, out);
  return out;
}

TEST(Batches, SamplesFollowEachOtherAndWrap) {
  const auto text = counting_text(20);
  const Batches b(text, {.seq_len = 4, .global_batch = 3}, 256, 1, 1);
  EXPECT_EQ(b.sample_start(0, 0), 0);
  EXPECT_EQ(b.sample_start(0, 2), 8);
  EXPECT_EQ(b.sample_start(1, 0), 12);
  EXPECT_EQ(b.sample_start(1, 1), 1);  // 16 mod (20 - 4 - 1)
}

TEST(Batches, LabelsAreTheNextBytes) {
  const auto text = counting_text(40);
  const Batches b(text, {.seq_len = 4, .global_batch = 4}, 256, 1, 2);
  EXPECT_EQ(tokens(b, 8, 0, 1, 0), (std::vector<std::int32_t>{8, 9, 10, 11, 12, 13, 14, 15}));
  std::vector<std::int32_t> labels(8);
  b.labels(0, 1, 0, labels);
  EXPECT_EQ(labels, (std::vector<std::int32_t>{9, 10, 11, 12, 13, 14, 15, 16}));
}

TEST(Batches, EveryDpSeesTheSameGlobalBatch) {
  const auto text = counting_text(1000);
  const WorkloadSpec workload{.seq_len = 8, .global_batch = 12};
  for (int step : {0, 7}) {
    std::vector<std::multiset<std::vector<std::int32_t>>> seen;
    for (int dp : {1, 2, 3, 6}) {
      const Batches b(text, workload, 256, dp, 2);
      auto& samples = seen.emplace_back();
      for (int d = 0; d < dp; ++d) {
        for (int m = 0; m < 12 / (dp * 2); ++m) {
          const auto both = tokens(b, 16, step, m, d);
          samples.insert({both.begin(), both.begin() + 8});
          samples.insert({both.begin() + 8, both.end()});
        }
      }
    }
    for (const auto& samples : seen) {
      EXPECT_EQ(samples.size(), 12U);
      EXPECT_EQ(samples, seen.front());
    }
  }
}

TEST(Batches, RefusesTextThatIsTooShortOrOutsideTheVocabulary) {
  const auto text = counting_text(9);
  EXPECT_THROW(Batches(text, {.seq_len = 8, .global_batch = 1}, 256, 1, 1), ConfigError);
  EXPECT_NO_THROW(Batches(text, {.seq_len = 7, .global_batch = 1}, 256, 1, 1));
  try {
    const Batches b(text, {.seq_len = 4, .global_batch = 1}, 6, 1, 1);
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_STREQ(e.what(),
                 "error: --data: byte 8 at offset 8 is not in the vocabulary of 6 tokens\n"
                 "  hint: a model with vocab_size 256 or more: tokens are bytes");
    EXPECT_EQ(e.exit_code(), ExitCode::bad_file);
  }
}

class TextFiles : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(testing::TempDir()) /
                 ("pleat-" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
                  testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::filesystem::path directory_;
};

TEST_F(TextFiles, LoadsBytesAsTheyAre) {
  const std::string content("a\0\r\n\xff", 5);
  std::ofstream(directory_ / "t", std::ios::binary) << content;
  const auto text = load_text(directory_ / "t");
  EXPECT_EQ(std::string(text.begin(), text.end()), content);
}

TEST_F(TextFiles, RefusesMissingFilesDirectoriesAndEmptyFiles) {
  EXPECT_THROW(static_cast<void>(load_text(directory_ / "missing")), ConfigError);
  EXPECT_THROW(static_cast<void>(load_text(directory_)), ConfigError);
  std::ofstream(directory_ / "empty").close();
  EXPECT_THROW(static_cast<void>(load_text(directory_ / "empty")), ConfigError);
}

TEST_F(TextFiles, TheCacheIsUsedWhenItIsThere) {
  std::ofstream(directory_ / "bible-kjv.txt") << "In the beginning";
  const auto text = default_text(directory_);
  EXPECT_EQ(std::string(text.begin(), text.end()), "In the beginning");
}

TEST_F(TextFiles, RunsProgramsWithoutAShell) {
  const auto text = output_of({"printf", "%s|", "a b", "$HOME"});
  EXPECT_EQ(std::string(text.begin(), text.end()), "a b|$HOME|");
  EXPECT_THROW(static_cast<void>(output_of({"false"})), ConfigError);
  EXPECT_THROW(static_cast<void>(output_of({"no-such-program-here"})), ConfigError);
}

}  // namespace
}  // namespace pleat
