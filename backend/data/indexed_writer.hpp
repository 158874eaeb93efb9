// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Writes a Megatron-LM indexed dataset (indexed_format.hpp), a document a sequence. Both files
// appear when they are complete, the index last; until then they have other names, and an
// unfinished writer removes them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "backend/data/indexed_format.hpp"

namespace pleat {

class IndexedWriter {
 public:
  // Throws ConfigError (device_or_io) when the files cannot be made.
  IndexedWriter(const std::string& prefix, TokenType);
  IndexedWriter(const IndexedWriter&) = delete;
  IndexedWriter& operator=(const IndexedWriter&) = delete;
  ~IndexedWriter();

  // Throws ConfigError: device_or_io when the disk is full, bad_file for a document of more than
  // 2^31 - 1 tokens. Tokens must fit the type.
  void add(std::span<const std::int32_t> document);
  // Flushes both files to the disk and gives them their names.
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
