// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The global batch does not depend on how many ranks share it, nor on where a run was resumed; what
// the end of a document means for positions, attention and loss.
#include "backend/data/batches.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "backend/data/document_reader.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

using Tokens = std::vector<std::int32_t>;

std::shared_ptr<const SampleSource> counting(std::size_t length, std::int64_t seq_len) {
  std::vector<std::uint8_t> text(length);
  for (std::size_t i = 0; i < length; ++i) text[i] = static_cast<std::uint8_t>(i % 251);
  return std::make_shared<ConsecutiveBytes>(text, seq_len);
}

// Documents of 1 to 12 tokens; each ends with 0.
std::shared_ptr<const Documents> documents(int count, std::int32_t first_token) {
  auto list = std::make_shared<MemoryDocuments>("documents");
  std::int32_t next = first_token;
  for (int d = 0; d < count; ++d) {
    Tokens tokens;
    for (int i = 0; i < d * 7 % 12; ++i) tokens.push_back(next++);
    tokens.push_back(0);
    list->add(tokens);
  }
  return list;
}

std::shared_ptr<const SampleSource> blended(std::int64_t samples) {
  return order_samples({{documents(30, 1), 0.3}, {documents(50, 1000), 0.7}},
                       {.seq_len = 8, .samples = samples, .seed = 1234});
}

Tokens tokens(const Batches& b, std::size_t n, int step, int microbatch, int dp) {
  Tokens out(n);
  b.tokens(step, microbatch, dp, out);
  return out;
}

TEST(ConsecutiveBytes, SamplesFollowEachOtherAndWrap) {
  const ConsecutiveBytes s(std::vector<std::uint8_t>(20), 4);
  EXPECT_EQ(s.start(0), 0);
  EXPECT_EQ(s.start(2), 8);
  EXPECT_EQ(s.start(3), 12);
  EXPECT_EQ(s.start(4), 1);  // 16 mod (20 - 4 - 1)
}

TEST(Batches, LabelsAreTheNextTokens) {
  const Batches b(counting(40, 4), {.seq_len = 4, .global_batch = 4}, 256, 1, 2);
  EXPECT_EQ(tokens(b, 8, 0, 1, 0), (Tokens{8, 9, 10, 11, 12, 13, 14, 15}));
  Tokens labels(8);
  b.labels(0, 1, 0, labels);
  EXPECT_EQ(labels, (Tokens{9, 10, 11, 12, 13, 14, 15, 16}));
}

// Samples by global number, however ranks and microbatches share them, and from wherever.
TEST(Batches, DataOrderDependsOnNothingButTheGlobalSample) {
  constexpr std::int64_t kSteps = 5, kBatch = 12, kSeq = 8;
  std::map<std::int64_t, Tokens> reference;
  const auto source = blended(kSteps * kBatch);
  for (std::int64_t s = 0; s < kSteps * kBatch; ++s) {
    Tokens sample(kSeq + 1);
    source->read(s, sample);
    sample.pop_back();
    reference[s] = sample;
  }
  for (const int dp : {1, 2, 3, 4, 6, 12}) {
    for (const int micro_batch : {1, 2, 3, 4}) {
      if (kBatch % (dp * micro_batch) != 0) continue;
      for (const std::int64_t resumed_at : {0, 3}) {
        const Batches b(blended(kSteps * kBatch), {.seq_len = kSeq, .global_batch = kBatch}, 5000,
                        dp, micro_batch, {}, resumed_at * kBatch);
        std::map<std::int64_t, Tokens> seen;
        for (int step = 0; step + resumed_at < kSteps; ++step) {
          for (int d = 0; d < dp; ++d) {
            for (int m = 0; m < kBatch / (dp * micro_batch); ++m) {
              const Tokens all =
                  tokens(b, static_cast<std::size_t>(micro_batch * kSeq), step, m, d);
              for (int i = 0; i < micro_batch; ++i) {
                const auto from = all.begin() + i * kSeq;
                EXPECT_TRUE(
                    seen.emplace(b.sample(step, m, d, i), Tokens(from, from + kSeq)).second);
              }
            }
          }
        }
        EXPECT_EQ(seen.size(), static_cast<std::size_t>((kSteps - resumed_at) * kBatch));
        for (const auto& [number, sample] : seen) EXPECT_EQ(sample, reference.at(number)) << number;
      }
    }
  }
}

TEST(Batches, EveryStepOfABlendKeepsTheWeights) {
  const auto source = blended(100);
  Tokens sample(9);
  int second = 0;
  for (std::int64_t s = 0; s < 100; ++s) {
    source->read(s, sample);
    for (const std::int32_t t : sample) {
      if (t == 0) continue;
      second += t >= 1000 ? 1 : 0;
      break;
    }
  }
  EXPECT_EQ(second, 70);
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::bad_file);
    return e.what();
  }
  return "no error";
}

TEST(Batches, RefusesTooLittleDataAndTokensOutsideTheVocabulary) {
  EXPECT_THAT(error_of([] { counting(9, 8); }), testing::HasSubstr("the text has 9 bytes"));
  EXPECT_NO_THROW(counting(9, 7));
  const Batches small(counting(20, 4), {.seq_len = 4, .global_batch = 1}, 6, 1, 1);
  EXPECT_EQ(tokens(small, 4, 0, 0, 0), (Tokens{0, 1, 2, 3}));
  EXPECT_THAT(error_of([&] { tokens(small, 4, 1, 0, 0); }),
              testing::HasSubstr("token 6 of sample 1 is not in the vocabulary of 6 tokens"));
  const Batches few(order_samples({{documents(9, 1), 0}}, {.seq_len = 8, .samples = 2, .seed = 1}),
                    {.seq_len = 8, .global_batch = 4}, 5000, 1, 1);
  EXPECT_THAT(error_of([&] { tokens(few, 8, 99, 0, 0); }),
              testing::HasSubstr("sample 396 was asked for"));
  EXPECT_THAT(error_of([] {
                const auto blend = order_samples({{documents(9, 1), 0}, {documents(5, 1), 0}},
                                                 {.seq_len = 8, .samples = 99, .seed = 1});
              }),
              testing::HasSubstr("the run takes 99"));
}

// Tokens 5 6 E 7 E E 8 with E the end of a document.
class Packing : public testing::Test {
 protected:
  Tokens tokens_{5, 6, 9, 7, 9, 9, 8};
  [[nodiscard]] Tokens positions(const PackingRules& rules) const {
    Tokens p(tokens_.size());
    position_ids(tokens_, rules, p);
    return p;
  }
};

TEST_F(Packing, ADocumentBeginsBehindTheEndOfTheLast) {
  Tokens starts(tokens_.size());
  document_starts(tokens_, {.end_of_document = 9, .reset_attention = true}, starts);
  EXPECT_EQ(starts, (Tokens{0, 0, 0, 3, 3, 5, 6}));
  document_starts(tokens_, {.end_of_document = 9, .reset_positions = true}, starts);
  EXPECT_EQ(starts, Tokens(7, 0));
}

TEST_F(Packing, PositionsStartAnewOnlyIfAskedTo) {
  EXPECT_EQ(positions({.end_of_document = 9, .reset_positions = true}),
            (Tokens{0, 1, 2, 0, 1, 0, 0}));
  EXPECT_EQ(positions({.end_of_document = 9, .reset_attention = true, .mask_loss = true}),
            (Tokens{0, 1, 2, 3, 4, 5, 6}));
}

TEST_F(Packing, LossLeavesOutWhatFollowsAnEnd) {
  Tokens labels{6, 9, 7, 9, 9, 8, 1};
  mask_labels(tokens_, {.end_of_document = 9, .mask_loss = true}, labels);
  EXPECT_EQ(labels, (Tokens{6, 9, kIgnoredLabel, 9, kIgnoredLabel, kIgnoredLabel, 1}));
}

TEST(Batches, PackedSamplesCarryTheirDocuments) {
  auto list = std::make_shared<MemoryDocuments>("two");
  list->add(Tokens{1, 2, 0, 3, 4, 5, 0, 6, 7});
  const auto source = [&] {
    return order_samples({{list, 0}}, {.seq_len = 4, .samples = 2, .seed = 1});
  };
  const WorkloadSpec workload{.seq_len = 4, .global_batch = 2};
  const PackingRules rules{
      .end_of_document = 0, .reset_positions = true, .reset_attention = true, .mask_loss = true};
  const Batches packed(source(), workload, 8, 1, 2, rules), plain(source(), workload, 8, 1, 2);
  const Tokens text = tokens(packed, 8, 0, 0, 0);
  EXPECT_THAT(text, testing::UnorderedElementsAre(1, 2, 0, 3, 4, 5, 0, 6));
  Tokens positions(8), labels(8);
  Tokens starts(8);
  packed.document_starts(0, 0, 0, starts);
  EXPECT_EQ(starts, (Tokens{0, 0, 0, 3, 0, 0, 0, 3}));
  packed.positions(0, 0, 0, positions);
  EXPECT_EQ(positions, (Tokens{0, 1, 2, 0, 0, 1, 2, 0}));
  packed.labels(0, 0, 0, labels);
  EXPECT_EQ(labels[2], kIgnoredLabel);
  EXPECT_EQ(labels[6], kIgnoredLabel);
  EXPECT_EQ(packed.loss_weight(0), 8.0 / 6);
  EXPECT_EQ(plain.loss_weight(0), 1);
  plain.labels(0, 0, 0, labels);
  EXPECT_THAT(labels, testing::UnorderedElementsAre(2, 0, 3, 4, 5, 0, 6, 7));
  plain.document_starts(0, 0, 0, starts);
  EXPECT_EQ(starts, Tokens(8, 0));
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
