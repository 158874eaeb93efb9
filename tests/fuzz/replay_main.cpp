// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Runs a target on every file of the given folders, without a fuzzer: what was found once stays found.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/fuzz/fuzz_target.hpp"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  int inputs = 0, accepted = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : fs::recursive_directory_iterator(argv[i])) {
      if (!entry.is_regular_file()) continue;
      std::ostringstream text;
      text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      std::printf("%s\n", entry.path().c_str());
      std::fflush(stdout);
      if (pleat::fuzz::run_checked(text.str())) ++accepted;
      ++inputs;
    }
  }
  std::printf("%d inputs, %d accepted\n", inputs, accepted);
  return accepted > 0 ? 0 : 1;  // a corpus without an input that is read tries nothing
}
