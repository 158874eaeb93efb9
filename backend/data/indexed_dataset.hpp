// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Megatron-LM's indexed dataset: its format, its reader and its writer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/checkpoint/read_file.hpp"
#include "backend/data/documents.hpp"

namespace pleat {

// Megatron-LM's indexed dataset: PREFIX.bin holds tokens, PREFIX.idx where each sequence begins.
// Little-endian throughout. The index:
//   9 bytes "MMIDIDX\0\0", u64 version 1, u8 type of the tokens, u64 S, u64 D,
//   i32 length of each of S sequences, i64 byte offset of each in PREFIX.bin,
//   i64 number of the sequence at which each document begins, D of them, the last one S;
//   multimodal datasets have S more bytes.
// (NVIDIA/Megatron-LM d98e8a6, megatron/core/datasets/indexed_dataset.py.)

inline constexpr std::string_view kIndexMagic("MMIDIDX\0\0", 9);
inline constexpr std::uint64_t kIndexVersion = 1;
inline constexpr std::size_t kIndexHeaderBytes = 34;

enum class TokenType : std::uint8_t {
  u8 = 1,
  i8 = 2,
  i16 = 3,
  i32 = 4,
  i64 = 5,
  f64 = 6,
  f32 = 7,
  u16 = 8
};

[[nodiscard]] constexpr std::size_t bytes_of(TokenType type) {
  constexpr std::array<std::size_t, 9> kBytes = {0, 1, 1, 2, 4, 8, 8, 4, 2};
  return kBytes[static_cast<std::size_t>(type)];
}
[[nodiscard]] constexpr std::string_view name_of(TokenType type) {
  constexpr std::array<std::string_view, 9> kNames = {
      "", "uint8", "int8", "int16", "int32", "int64", "float64", "float32", "uint16"};
  return kNames[static_cast<std::size_t>(type)];
}
// The type that Megatron-LM would choose: 16 bits if the vocabulary has less than 65,500 tokens.
[[nodiscard]] constexpr TokenType type_for(std::int64_t vocab_size) {
  return vocab_size < 65500 ? TokenType::u16 : TokenType::i32;
}

// Reads an indexed dataset. Documents are groups of sequences; samples are cut from the sequences,
// as Megatron-LM's GPTDataset does.

class IndexedDataset final : public Documents {
 public:
  // `prefix` is the path without ".bin" or ".idx". Throws ConfigError: device_or_io if a file
  // cannot be read, bad_file if it is not what the index says.
  explicit IndexedDataset(const std::string& prefix);

  [[nodiscard]] std::span<const std::int32_t> lengths() const override { return lengths_; }
  void read(std::int64_t sequence, std::int64_t offset,
            std::span<std::int32_t> tokens) const override;
  [[nodiscard]] const std::string& name() const override { return prefix_; }

  [[nodiscard]] TokenType type() const { return type_; }
  [[nodiscard]] std::int64_t documents() const { return documents_; }
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }

 private:
  void read_index(const ReadFile& file);
  void check_sequences();
  void check_documents(std::span<const std::byte> numbers);

  std::string prefix_;
  ReadFile bin_;
  TokenType type_ = TokenType::i32;
  std::vector<std::int32_t> lengths_;
  std::vector<std::int64_t> pointers_;
  std::int64_t documents_ = 0, tokens_ = 0;
};

// Whether PREFIX.idx is there.
[[nodiscard]] bool is_indexed_prefix(const std::string& path);

// Writes an indexed dataset in which each document is one sequence. Both files get their names when
// they are complete, the index last. A writer that does not finish leaves no files.

class IndexedWriter {
 public:
  // Throws ConfigError (device_or_io) if the files cannot be made.
  IndexedWriter(const std::string& prefix, TokenType);
  IndexedWriter(const IndexedWriter&) = delete;
  IndexedWriter& operator=(const IndexedWriter&) = delete;
  ~IndexedWriter();

  // Tokens must fit the type. Throws ConfigError: device_or_io if the disk is full, bad_file for a
  // document of more than 2^31 - 1 tokens.
  void add(std::span<const std::int32_t> document);
  // Writes both files to the disk and gives them their names.
  void finish();

  [[nodiscard]] std::int64_t documents() const {
    return static_cast<std::int64_t>(lengths_.size());
  }
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }
  [[nodiscard]] const std::string& partial_file() const { return partial_bin_; }

 private:
  void write(std::FILE*, const void* data, std::size_t bytes, const std::string& path);
  void close(std::FILE*&, const std::string& path);
  [[nodiscard]] std::string index() const;

  std::string prefix_, partial_bin_, partial_idx_;
  TokenType type_;
  std::FILE *bin_ = nullptr, *idx_ = nullptr;
  bool finished_ = false;
  std::int64_t tokens_ = 0;
  std::vector<std::int32_t> lengths_;
  std::vector<char> buffer_;
};

}  // namespace pleat
