// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A rule of C++ that no compiler checks across files: a name stands for one type. Two types of one
// name share functions of the standard library, because the linker takes their copies for the same.
#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "tests/architecture/checks.hpp"

namespace pleat::architecture {
namespace {

// What is at the beginning of a line is at namespace scope: all else is indented.
struct Scope {
  std::vector<std::string> names;  // an empty one has none, and what is in it is the file's own

  // Returns whether the line opened or closed a namespace.
  bool follow(const std::string& line) {
    static const std::regex opens(R"(^(?:inline )?namespace ?([\w:]*) ?\{$)");
    std::smatch m;
    if (std::regex_match(line, m, opens)) {
      names.push_back(m[1]);
      return true;
    }
    if (!line.starts_with("}  // namespace") || names.empty()) return false;
    names.pop_back();
    return true;
  }
  [[nodiscard]] bool is_shared() const {
    return std::ranges::find(names, "") == names.end() && !names.empty();
  }
  [[nodiscard]] std::string of(const std::string& type) const {
    std::string whole;
    for (const std::string& name : names) whole += name + "::";
    return whole + type;
  }
};

}  // namespace

Findings check_one_definition(const std::filesystem::path& root) {
  static const std::regex defines(R"(^(?:struct|class|union|enum class|enum) (?:alignas\(\w+\) )?)"
                                  R"((\w+)(?: final)?(?: :.*)? ?\{.*$)");
  Findings findings;
  std::map<std::string, std::string> known;  // the file of each type
  for (const TextFile& file : read_tree(root, Kind::cxx)) {
    if (is_in(file.path, "tests")) continue;  // programs of their own
    Scope scope;
    int number = 0;
    for (const std::string& line : file.lines) {
      ++number;
      std::smatch m;
      if (scope.follow(line) || !scope.is_shared() || !std::regex_match(line, m, defines)) continue;
      const auto [at, fresh] = known.try_emplace(scope.of(m[1]), file.path);
      if (!fresh) {
        findings.push_back({file.path, number, at->first + " is also a type of " + at->second});
      }
    }
  }
  return findings;
}

}  // namespace pleat::architecture
