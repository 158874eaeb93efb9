// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// From files of text to samples; and a masked loss is the mean over what is left, on every layout.
#include "backend/data/training_data.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "backend/data/document_reader.hpp"
#include "backend/data/indexed_dataset.hpp"
#include "backend/data/tokenize_files.hpp"
#include "core/diagnostics.hpp"
#include "tests/backend/train_runs.hpp"

namespace pleat {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;
using Tokens = std::vector<std::int32_t>;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("pleat-data-" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  [[nodiscard]] static std::string error_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "no error";
  }
  fs::path folder_;
};

Texts all(DocumentReader reader) {
  Texts texts;
  while (auto text = reader.next()) texts.push_back(*text);
  EXPECT_EQ(reader.bytes_read(), reader.bytes());
  return texts;
}

TEST_F(Files, DocumentsAreFilesLinesParagraphsOrJson) {
  const std::string plain = write("a.txt", "one\ntwo\r\n\n \n\nthree\nfour");
  EXPECT_EQ(all({plain, DocumentKind::automatic, ""}), (Texts{"one\ntwo\r\n\n \n\nthree\nfour"}));
  EXPECT_EQ(all({plain, DocumentKind::line, ""}), (Texts{"one", "two", " ", "three", "four"}));
  EXPECT_EQ(all({plain, DocumentKind::paragraph, ""}), (Texts{"one\ntwo\r", "three\nfour"}));
  EXPECT_EQ(all({write("empty", ""), DocumentKind::file, ""}), Texts{});
  const std::string json = write(
      "a.jsonl", "{\"text\": \"a\\nb\", \"n\": 1}\n\n{\"text\": \"\"}\n{\"text\": \"\\u00e9\"}");
  EXPECT_EQ(all({json, DocumentKind::automatic, "text"}), (Texts{"a\nb", "\xC3\xA9"}));
}

TEST_F(Files, BadJsonLinesAreNamed) {
  const auto error = [&](const std::string& line) {
    const std::string file = write("b.jsonl", "{\"text\": \"x\"}\n" + line + "\n");
    return error_of([&] { all({file, DocumentKind::jsonl, "text"}); });
  };
  EXPECT_THAT(error("{"), testing::HasSubstr("b.jsonl:2: is not valid JSON"));
  EXPECT_THAT(error("[]"), testing::HasSubstr("b.jsonl:2: is no JSON object"));
  EXPECT_THAT(error("{\"txt\": 1}"), testing::HasSubstr("has no \"text\""));
  EXPECT_THAT(error("{\"text\": 1}"), testing::HasSubstr("\"text\" is no text"));
  EXPECT_THAT(error("{\"text\": \"\xff\"}"), testing::HasSubstr("is not valid JSON"));
}

TEST_F(Files, TokensComeInTheOrderOfTheFilesOnAnyNumberOfThreads) {
  std::string lines;
  for (int i = 0; i < 5000; ++i) lines += std::to_string(i) + "\n";
  const Texts files{write("1.txt", lines), write("2.txt", "last")};
  const auto tokenizer = byte_tokenizer();
  std::vector<Tokens> reference;
  for (const int jobs : {1, 4}) {
    std::vector<Tokens> documents;
    const TokenizeProgress p = tokenize_files(
        *tokenizer, {files, DocumentKind::line, "", 0, false, jobs},
        [&](std::span<const std::int32_t> t) { documents.emplace_back(t.begin(), t.end()); });
    EXPECT_EQ(p.documents, 5001);
    EXPECT_EQ(p.bytes_read, p.bytes);
    if (jobs == 1) reference = documents;
    EXPECT_EQ(documents, reference);
    EXPECT_EQ(documents[10], (Tokens{'1', '0', 0}));
    EXPECT_EQ(documents.back(), (Tokens{'l', 'a', 's', 't', 0}));
  }
}

TEST_F(Files, ATextAndThePrefixMadeOfItGiveTheSameSamples) {
  const std::string text = write("t.txt", "In the beginning God created the heaven and the earth.");
  IndexedWriter writer(path("p"), TokenType::u16);
  tokenize_files(*byte_tokenizer(), {{text}, DocumentKind::file, "", 0, false, 1},
                 [&](std::span<const std::int32_t> t) { writer.add(t); });
  writer.finish();
  const SampleRequest request{.seq_len = 7, .samples = 30, .seed = 5};
  std::vector<std::vector<Tokens>> seen;
  for (const std::string& source : {text, path("p"), path("p.bin"), path("p.idx")}) {
    const TrainingData data = open_training_data({.source = source, .vocab = 256}, request);
    EXPECT_EQ(data.end_of_document, 0);
    ASSERT_GE(data.samples->size(), 30);
    auto& samples = seen.emplace_back();
    for (std::int64_t s = 0; s < 30; ++s) {
      samples.emplace_back(8);
      data.samples->read(s, samples.back());
    }
    EXPECT_EQ(samples, seen.front()) << source;
  }
}

TEST_F(Files, WrongSourcesAreRefused) {
  const std::string text = write("t.txt", "abc");
  const SampleRequest request{.seq_len = 2, .samples = 1, .seed = 1};
  const auto error = [&](const DataRequest& r) {
    return error_of([&] { auto d = open_training_data(r, request); });
  };
  EXPECT_THAT(error({.source = path("none")}), testing::HasSubstr("none: cannot read"));
  EXPECT_THAT(error({.source = write("e", "")}), testing::HasSubstr("is empty"));
  EXPECT_THAT(error({.source = text, .vocab = 99}),
              testing::HasSubstr("token 2 of document 0 is 99: not in the vocabulary of 99"));
  EXPECT_THAT(error({.source = text, .eod = "EOD"}), testing::HasSubstr("'EOD' is no token"));
  EXPECT_THAT(error({.source = text, .split = "0,1"}),
              testing::HasSubstr("documents 0 to 0 have 0 tokens"));
  EXPECT_EQ(error({.source = text, .vocab = 100}), "no error");
}

// Batch of samples in which 3 of every 8 tokens end a document: their labels do not count.
TrainConfig masked(bool mask) {
  TrainConfig config = test::small_config(2);
  for (std::size_t i = 0; i < config.text.size(); ++i) {
    config.text[i] = i % 8 < 3 ? 9 : static_cast<std::uint8_t>(10 + i * i % 50);
  }
  config.packing = {.end_of_document = 9, .mask_loss = mask};
  return config;
}

TEST(MaskedLoss, IsTheMeanOverWhatCountsOnEveryLayout) {
  const TrainResult one = test::run(test::small_moe(), test::fp32_plan(), masked(true));
  for (const Plan& plan : {test::fp32_plan(2), test::fp32_plan(2, 2), test::fp32_plan(1, 1, 2)}) {
    const TrainResult more = test::run(test::small_moe(), plan, masked(true));
    for (std::size_t s = 0; s < 2; ++s) {
      EXPECT_NEAR(more.steps[s].loss, one.steps[s].loss, 1e-5 * one.steps[s].loss);
      EXPECT_NEAR(more.steps[s].grad_norm, one.steps[s].grad_norm, 1e-4 * one.steps[s].grad_norm);
    }
    test::expect_close(more.gradients, one.gradients, 1e-5);
  }
  const TrainResult all = test::run(test::small_moe(), test::fp32_plan(), masked(false));
  EXPECT_GT(std::abs(all.steps[0].loss - one.steps[0].loss), 1e-4);
  EXPECT_NEAR(one.steps[0].loss, std::log(64.0),
              0.5);  // a mean over five eighths, not a part of the sum
}

}  // namespace
}  // namespace pleat
