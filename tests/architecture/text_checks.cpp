// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rules about the text of files: size, width, licence, machine paths, environment.
#include <algorithm>
#include <regex>
#include <string>

#include "tests/architecture/checks.hpp"

namespace pleat::architecture {
namespace {

namespace fs = std::filesystem;

// CMake files say what is built in one breath; what they hold is no work of its own.
bool carries_spdx(const TextFile& file) {
  const fs::path path(file.path);
  return path.extension() != ".cmake" && path.filename() != "CMakeLists.txt";
}

bool line_has(const TextFile& file, std::size_t index, const std::string& text) {
  return index < file.lines.size() && file.lines[index].find(text) != std::string::npos;
}

// UTF-8: bytes that go on with a character are none of their own.
int characters(const std::string& line) {
  return static_cast<int>(std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

Findings check_file_size(const fs::path& root) {
  Findings findings;
  for (const TextFile& file : read_tree(root, Kind::source)) {
    const auto count = static_cast<int>(file.lines.size());
    if (count > kMaxLines)
      findings.push_back({file.path, kMaxLines + 1,
                          std::to_string(count) + " lines; at most " + std::to_string(kMaxLines) +
                              ", and 50 to 150 read best"});
  }
  return findings;
}

Findings check_line_length(const fs::path& root) {
  Findings findings;
  for (const TextFile& file : read_tree(root, Kind::cxx)) {
    int number = 0;
    for (const std::string& line : file.lines) {
      ++number;
      const int columns = characters(line);
      if (columns > kMaxColumns)
        findings.push_back({file.path, number,
                            std::to_string(columns) + " columns; at most " +
                                std::to_string(kMaxColumns) + " (clang-format)"});
    }
  }
  return findings;
}

Findings check_spdx(const fs::path& root) {
  Findings findings;
  for (const TextFile& file : read_tree(root, Kind::source)) {
    if (!carries_spdx(file)) continue;
    const std::size_t first = line_has(file, 0, "#!") ? 1 : 0;
    if (!line_has(file, first, "SPDX-FileCopyrightText: 2026 The Pleat authors") ||
        !line_has(file, first + 1, "SPDX-License-Identifier: Apache-2.0"))
      findings.push_back(
          {file.path, static_cast<int>(first) + 1, "must begin with the two SPDX lines"});
  }
  return findings;
}

Findings check_machine_paths(const fs::path& root) {
  // Not where a name goes on before the slash: a URL or a relative path.
  static const std::regex machine_path(
      R"((^|[^A-Za-z0-9_.}\)/*-])(/(home|root|tmp|work|Users|mnt|scratch)/))");
  Findings findings;
  for (const TextFile& file : read_tree(root, Kind::text)) {
    int number = 0;
    for (const std::string& line : file.lines) {
      ++number;
      std::smatch match;
      if (std::regex_search(line, match, machine_path))
        findings.push_back({file.path, number, "names a path of one machine: " + match[2].str()});
    }
  }
  return findings;
}

Findings check_environment(const fs::path& root) {
  const std::string reader = "core/environment.cpp";
  static const std::regex read(R"(\b(secure_)?get)"
                               R"(env\b|\bextern\s+char\s*\*\*\s*environ\b)");
  Findings findings;
  bool found_reader = false;
  for (const TextFile& file : read_tree(root, Kind::cxx)) {
    int number = 0;
    for (const std::string& line : file.lines) {
      ++number;
      if (!std::regex_search(line, read)) continue;
      if (file.path == reader) {
        found_reader = true;
      } else {
        findings.push_back({file.path, number, "environment variables are read in " + reader});
      }
    }
  }
  if (!found_reader)
    findings.push_back({reader, 0, "should be where environment variables are read"});
  return findings;
}

Findings check_json_access(const fs::path& root) {
  static const std::regex unseen(
      R"re((\*[\w.>-]*(\(["\w]*\)[\w.>-]*)*as_[a-z]+\(\)|as_[a-z]+\(\)->))re");
  Findings findings;
  for (const TextFile& file : read_tree(root, Kind::cxx)) {
    if (file.path.starts_with("tests/") || file.path.starts_with("core/json/")) continue;
    int number = 0;
    for (const std::string& line : file.lines) {
      ++number;
      std::smatch match;
      if (std::regex_search(line, match, unseen))
        findings.push_back({file.path, number, "looks at no type before " + match[0].str()});
    }
  }
  return findings;
}

}  // namespace pleat::architecture
