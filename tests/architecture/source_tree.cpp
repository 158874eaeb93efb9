// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The files of a source tree as lines of text.
#include "tests/architecture/source_tree.hpp"

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>

namespace pleat::architecture {
namespace {

namespace fs = std::filesystem;

bool is_kind(const fs::path& path, Kind kind) {
  static const std::set<std::string> cxx = {".hpp", ".cpp", ".cu", ".cuh"};
  static const std::set<std::string> source = {".cmake", ".py", ".sh"};
  static const std::set<std::string> text = {".md", ".json", ".jsonl", ".txt", ".yaml", ".yml"};
  const std::string extension = path.extension().string();
  if (cxx.contains(extension)) return true;
  if (kind == Kind::cxx) return false;
  const bool is_build_file = path.filename() == "CMakeLists.txt";
  const bool is_ci_script = path.parent_path().filename() == ".ci";
  if (source.contains(extension) || is_build_file || is_ci_script) return true;
  return kind == Kind::text && text.contains(extension);
}

bool is_left_out(const fs::path& entry, bool at_root) {
  const std::string name = entry.filename().string();
  if (name == ".ci") return false;
  return name.starts_with(".") || name == "__pycache__" || (at_root && name.starts_with("build"));
}

std::vector<std::string> read_lines(const fs::path& path) {
  std::ifstream stream(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

std::string to_text(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings)
    text += finding.path + ":" + std::to_string(finding.line) + ": " + finding.message + "\n";
  return text;
}

std::vector<TextFile> read_tree(const fs::path& root, Kind kind) {
  std::vector<TextFile> files;
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::end(entry); ++entry) {
    if (is_left_out(entry->path(), entry.depth() == 0)) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file() && is_kind(entry->path(), kind)) {
      files.push_back(
          {fs::relative(entry->path(), root).generic_string(), read_lines(entry->path())});
    }
  }
  std::sort(files.begin(), files.end(),
            [](const TextFile& a, const TextFile& b) { return a.path < b.path; });
  return files;
}

bool is_in(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder + "/");
}

std::vector<Include> includes_of(const TextFile& file) {
  static const std::regex directive(R"re(^\s*#\s*include\s*([<"])([^>"]+)[>"])re");
  std::vector<Include> includes;
  int number = 0;
  for (const std::string& line : file.lines) {
    ++number;
    std::smatch match;
    if (std::regex_search(line, match, directive))
      includes.push_back({number, match[2].str(), match[1].str() == "\""});
  }
  return includes;
}

}  // namespace pleat::architecture
