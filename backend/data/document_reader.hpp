// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Training text: where it comes from, and reading it document by document.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/checkpoint/read_file.hpp"

namespace pleat {

// Files of text, document by document.

// What one document is.
enum class DocumentKind {
  automatic,  // jsonl for a name that ends in .jsonl, else file
  file,       // the whole file
  line,
  paragraph,  // up to a line without anything but white space
  jsonl,      // a JSON object a line, with the text in one of its members
};

// A file's bytes as text.
[[nodiscard]] inline std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

class DocumentReader {
 public:
  // Throws ConfigError (device_or_io) when the file cannot be read.
  DocumentReader(const std::string& path, DocumentKind, std::string json_key);

  // The next document that is not empty; nothing at the end. Throws ConfigError (bad_file) for a
  // line that is no object with that text.
  [[nodiscard]] std::optional<std::string> next();

  [[nodiscard]] std::int64_t bytes() const {
    return static_cast<std::int64_t>(file_.bytes().size());
  }
  [[nodiscard]] std::int64_t bytes_read() const { return static_cast<std::int64_t>(at_); }
  [[nodiscard]] std::int64_t empty_documents() const { return empty_; }

 private:
  [[nodiscard]] std::string_view next_line();
  [[nodiscard]] std::string paragraph();
  [[nodiscard]] std::string json_text(std::string_view line) const;

  std::string path_;
  MappedFile file_;
  std::string_view text_;
  DocumentKind kind_;
  std::string json_key_;
  std::size_t at_ = 0;
  std::int64_t line_ = 0, empty_ = 0;
};

// Where training text comes from: a file, or the Bible as Debian's bible-kjv package prints it.

// The bytes of a file. Throws ConfigError when it cannot be read or is empty.
[[nodiscard]] std::vector<std::uint8_t> load_text(const std::filesystem::path&);

// Output of `bible gen1:1-rev22:21`, kept in cache_directory/bible-kjv.txt after the first call.
// Throws ConfigError when the program is missing or fails.
[[nodiscard]] std::vector<std::uint8_t> default_text(const std::filesystem::path& cache_directory);

// What a program prints, run without a shell; throws ConfigError when it cannot run or fails.
[[nodiscard]] std::vector<std::uint8_t> output_of(const std::vector<std::string>& command);

}  // namespace pleat
