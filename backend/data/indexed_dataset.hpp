// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Reads a Megatron-LM indexed dataset (indexed_format.hpp). Samples are cut from its sequences, as
// GPTDataset does; documents are groups of sequences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/checkpoint/read_file.hpp"
#include "backend/data/documents.hpp"
#include "backend/data/indexed_format.hpp"

namespace pleat {

class IndexedDataset final : public Documents {
 public:
  // `prefix` without ".bin" or ".idx". Throws ConfigError: device_or_io for a file that cannot be
  // read, bad_file for one that is not what the index says.
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

}  // namespace pleat
