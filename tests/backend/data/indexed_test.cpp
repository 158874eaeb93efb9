// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Indexed datasets as numpy writes them are read, what is written reads back, damage is named.
#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "backend/data/indexed_dataset.hpp"
#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"
#include "core/json/text_file.hpp"

namespace pleat {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

class IndexedFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("pleat-indexed-" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    prefix_ = (folder_ / "d").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& suffix, const std::string& bytes) const {
    std::ofstream(prefix_ + suffix, std::ios::binary) << bytes;
  }
  [[nodiscard]] std::string bytes(const std::string& suffix) const {
    return read_text_file(prefix_ + suffix);
  }
  void make() const {
    IndexedWriter writer(prefix_, TokenType::u16);
    writer.add(std::vector<std::int32_t>{1, 2, 3});
    writer.add(std::vector<std::int32_t>{4});
    writer.finish();
  }
  [[nodiscard]] std::string error() const {
    try {
      const IndexedDataset dataset(prefix_);
    } catch (const ConfigError& e) {
      code_ = e.exit_code();
      return e.what();
    }
    return "no error";
  }
  // The error after overwriting some bytes of the index.
  [[nodiscard]] std::string error_with(std::size_t at, std::uint64_t value,
                                       std::size_t width) const {
    make();
    std::string index = bytes(".idx");
    std::memcpy(index.data() + at, &value, width);
    write(".idx", index);
    return error();
  }

  fs::path folder_;
  std::string prefix_;
  mutable ExitCode code_ = ExitCode::done;
};

TEST_F(IndexedFiles, WhatNumpyWritesIsRead) {
  const std::string path = std::string(PLEAT_SOURCE_DIR) + "/tests/backend/data/orders.json";
  const JsonValue json = parse_json(read_text_file(path), path);
  const auto& datasets = json.find("datasets")->items();
  ASSERT_EQ(datasets.size(), 6U);
  for (const JsonValue& d : datasets) {
    write(".idx", from_hex(*d.find("idx")->as_string()));
    write(".bin", from_hex(*d.find("bin")->as_string()));
    const IndexedDataset dataset(prefix_);
    const auto& sequences = d.find("sequences")->items();
    ASSERT_EQ(dataset.lengths().size(), sequences.size());
    EXPECT_EQ(dataset.documents(), *d.find("documents")->as_integer());
    for (std::size_t s = 0; s < sequences.size(); ++s) {
      const auto& expected = sequences[s].items();
      ASSERT_EQ(dataset.lengths()[s], static_cast<std::int32_t>(expected.size()));
      std::vector<std::int32_t> tokens(expected.size());
      dataset.read(static_cast<std::int64_t>(s), 0, tokens);
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        const std::int64_t value = *expected[i].as_integer();
        EXPECT_EQ(tokens[i], value > INT32_MAX ? -1 : value);
        std::int32_t one = 0;
        dataset.read(static_cast<std::int64_t>(s), static_cast<std::int64_t>(i), {&one, 1});
        EXPECT_EQ(one, tokens[i]);
      }
    }
  }
}

TEST_F(IndexedFiles, WhatIsWrittenIsWhatNumpyWrites) {
  IndexedWriter writer(prefix_, TokenType::u16);
  writer.add(std::vector<std::int32_t>{1, 2, 65535});
  writer.add({});
  EXPECT_EQ(writer.tokens(), 3);
  EXPECT_FALSE(fs::exists(prefix_ + ".bin"));
  writer.finish();
  EXPECT_EQ(bytes(".bin"), from_hex("01000200ffff"));
  EXPECT_EQ(bytes(".idx"), from_hex("4d4d494449445800000100000000000000"
                                    "08"
                                    "0200000000000000"
                                    "0300000000000000"
                                    "03000000"
                                    "00000000"
                                    "0000000000000000"
                                    "0600000000000000"
                                    "0000000000000000"
                                    "0100000000000000"
                                    "0200000000000000"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
}

TEST_F(IndexedFiles, AnUnfinishedWriterLeavesWhatWasThere) {
  make();
  const std::string before = bytes(".bin") + bytes(".idx");
  {
    IndexedWriter writer(prefix_, TokenType::i32);
    writer.add(std::vector<std::int32_t>{9, 9, 9, 9});
    EXPECT_TRUE(fs::exists(writer.partial_file()));
  }
  EXPECT_EQ(bytes(".bin") + bytes(".idx"), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 2);
}

TEST_F(IndexedFiles, NoFolderIsAnError) {
  EXPECT_THROW(IndexedWriter((folder_ / "no" / "d").string(), TokenType::u16), ConfigError);
}

TEST_F(IndexedFiles, DamageIsNamed) {
  EXPECT_THAT(error_with(0, 'X', 1), HasSubstr("d.idx: is no index of Megatron-LM"));
  EXPECT_THAT(error_with(9, 2, 8), HasSubstr("version: is 2; 1 is known"));
  EXPECT_THAT(error_with(17, 9, 1), HasSubstr("dtype: 9 is no type of tokens"));
  EXPECT_THAT(error_with(17, 7, 1), HasSubstr("dtype: float32 values are no tokens"));
  EXPECT_THAT(error_with(18, 3, 8),
              HasSubstr("has 82 bytes; 3 sequences and 3 document boundaries need more"));
  EXPECT_THAT(error_with(18, std::uint64_t{1} << 62, 8), HasSubstr("need more"));
  EXPECT_THAT(error_with(26, 2, 8),
              HasSubstr("has 8 bytes more than 2 sequences and 2 document boundaries take"));
  EXPECT_THAT(error_with(34, 0xFFFFFFFF, 4), HasSubstr("sequence_lengths[0]: is -1"));
  EXPECT_THAT(error_with(34, 100, 4),
              HasSubstr("d.bin: has 8 bytes; sequence 0 of the index lies at 0 and has 100"));
  EXPECT_THAT(error_with(50, 1 << 20, 8), HasSubstr("d.bin: has 8 bytes; sequence 1"));
  EXPECT_THAT(error_with(34, 2, 4),
              HasSubstr("d.bin: has 8 bytes; the 3 tokens of the index are 6"));
  EXPECT_THAT(error_with(58, 1, 8), HasSubstr("document_indices[0]: is 1"));
  EXPECT_THAT(error_with(66, 9, 8), HasSubstr("document_indices[2]: is 2"));
  EXPECT_THAT(error_with(74, 1, 8), HasSubstr("document_indices[2]: is 1"));
  EXPECT_EQ(code_, ExitCode::bad_file);
}

TEST_F(IndexedFiles, MultimodalAndCutAndMissingFilesAreRefused) {
  make();
  write(".idx", bytes(".idx") + std::string(2, '\0'));  // a mode for each of two sequences
  EXPECT_THAT(error(), HasSubstr("the dataset is multimodal"));
  make();
  write(".idx", bytes(".idx").substr(0, 33));
  EXPECT_THAT(error(), HasSubstr("is no index of Megatron-LM"));
  make();
  write(".bin", bytes(".bin").substr(0, 7));
  EXPECT_THAT(error(), HasSubstr("d.bin: has 7 bytes"));
  fs::remove(prefix_ + ".bin");
  EXPECT_THAT(error(), HasSubstr("d.bin: cannot read: No such file"));
  EXPECT_EQ(code_, ExitCode::device_or_io);
}

}  // namespace
}  // namespace pleat
