// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Runs a target on the given files and all files of the given folders, and JSON also with a few
// thousand of the fuzzer's changes, the same ones every time: what was found once stays found.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/json_mutator.hpp"

namespace {

constexpr unsigned kChanges = 3000;  // over all files

void run_changed(const std::vector<std::string>& inputs) {
  using namespace pleat::fuzz;
  for (unsigned seed = 0; seed < kChanges; ++seed) {
    std::string changed = inputs[seed % inputs.size()];
    for (unsigned i = 0; i <= seed % 3; ++i) {
      const std::string next = mutate(changed, kForm, 3 * seed + i);
      if (!next.empty()) changed = next;
    }
    (void)run_checked(changed);
  }
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::vector<std::string> inputs;
  int accepted = 0;
  const auto replay = [&](const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    std::printf("%s\n", path.c_str());
    std::fflush(stdout);
    if (pleat::fuzz::run_checked(text.str())) ++accepted;
    inputs.push_back(text.str());
  };
  for (int i = 1; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) {
      replay(argv[i]);
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(argv[i]))
      if (entry.is_regular_file()) replay(entry.path());
  }
  std::printf("%zu inputs, %d accepted\n", inputs.size(), accepted);
  if (accepted == 0) return 1;  // a corpus without an input that is read tries nothing
  if (pleat::fuzz::kForm != pleat::fuzz::Form::bytes) run_changed(inputs);
  return 0;
}
