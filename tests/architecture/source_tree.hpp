// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The files of a source tree as lines of text, and what a check has to say about them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pleat::architecture {

struct TextFile {
  std::string path;  // from the root, with '/'
  std::vector<std::string> lines;
};

// What breaks a rule, and where. Line 0 is the file as a whole.
struct Finding {
  std::string path;
  int line = 0;
  std::string message;
  bool operator==(const Finding&) const = default;
};
using Findings = std::vector<Finding>;

// "core/plan/plan.cpp:12: …", one a line; empty if there are none.
[[nodiscard]] std::string to_text(const Findings& findings);

enum class Kind {
  cxx,     // C++ and CUDA
  source,  // and scripts and build files
  text,    // and documents and data
};

// Sorted by path. Build folders and what starts with a dot are left out, but for .ci.
[[nodiscard]] std::vector<TextFile> read_tree(const std::filesystem::path& root, Kind kind);

// "core/plan" is in "core" and in itself; "core_x" is not in "core".
[[nodiscard]] bool is_in(const std::string& path, const std::string& folder);

struct Include {
  int line = 0;
  std::string path;
  bool quoted = false;
};
[[nodiscard]] std::vector<Include> includes_of(const TextFile& file);

}  // namespace pleat::architecture
