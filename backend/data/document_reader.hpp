// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Training text: where it comes from, and how it is read, one document after the other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/checkpoint/read_file.hpp"

namespace pleat {

// What counts as one document of a file.
enum class DocumentKind {
  automatic,  // jsonl if the name of the file ends in .jsonl, else file
  file,       // the whole file
  line,
  paragraph,  // ends at an empty line, or one with white space alone
  jsonl,      // each line is a JSON object, with the text in one of its members
};

// Reads the documents of one file.
[[nodiscard]] inline std::string_view text_of(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

class DocumentReader {
 public:
  // Throws ConfigError (device_or_io) if the file cannot be read.
  DocumentReader(const std::string& path, DocumentKind, std::string json_key);

  // The next document that is not empty; nothing at the end of the file. Throws ConfigError
  // (bad_file) for a line that is no JSON object or has no text.
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

// The bytes of a file. Throws ConfigError if it cannot be read or is empty.
[[nodiscard]] std::vector<std::uint8_t> load_text(const std::filesystem::path&);

// The output of `bible gen1:1-rev22:21`. The first call keeps it in cache_directory/bible-kjv.txt.
// Throws ConfigError if the program is missing or fails.
[[nodiscard]] std::vector<std::uint8_t> default_text(const std::filesystem::path& cache_directory);

// Runs a program without a shell and returns what it prints. Throws ConfigError if it cannot be run
// or fails.
[[nodiscard]] std::vector<std::uint8_t> output_of(const std::vector<std::string>& command);

}  // namespace pleat
