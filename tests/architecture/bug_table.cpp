// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The table of other systems' bugs against the tests that it names.
#include <regex>
#include <set>
#include <string>

#include "tests/architecture/checks.hpp"

namespace pleat::architecture {
namespace {

const std::string kTable = "docs/KNOWN_BUGS.md";

// "Suite.Name" of every test in C++.
std::set<std::string> tests_of(const std::vector<TextFile>& files) {
  static const std::regex test(R"(^TEST(?:_F|_P)?\((\w+), (\w+)\))");
  std::set<std::string> names;
  for (const TextFile& file : files) {
    if (!is_in(file.path, "tests")) continue;
    for (const std::string& line : file.lines) {
      std::smatch found;
      if (std::regex_search(line, found, test)) names.insert(found[1].str() + "." + found[2].str());
    }
  }
  return names;
}

void check_row(const std::string& line, int number, const std::set<std::string>& tests,
               Findings& findings) {
  static const std::regex name(R"(`(\w+\.\w+)`)");
  auto found = std::sregex_iterator(line.begin(), line.end(), name);
  if (found == std::sregex_iterator()) findings.push_back({kTable, number, "names no test"});
  for (; found != std::sregex_iterator(); ++found) {
    const std::string test = (*found)[1].str();
    if (!tests.contains(test)) findings.push_back({kTable, number, "there is no test " + test});
  }
}

}  // namespace

Findings check_bug_table(const std::filesystem::path& root, int bugs) {
  Findings findings;
  const std::set<std::string> tests = tests_of(read_tree(root, Kind::cxx));
  int next = 1;
  for (const TextFile& file : read_tree(root, Kind::text)) {
    if (file.path != kTable) continue;
    int number = 0;
    for (const std::string& line : file.lines) {
      ++number;
      if (!line.starts_with("| " + std::to_string(next) + " |")) continue;
      check_row(line, number, tests, findings);
      ++next;
    }
  }
  if (next <= bugs) findings.push_back({kTable, 0, "no row for " + std::to_string(next)});
  return findings;
}

}  // namespace pleat::architecture
