// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/diagnostics.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace pleat::fuzz {

bool run_checked(std::string_view input) {
  try {
    run(input);
    return true;
  } catch (const ConfigError& e) {
    const std::string_view said = e.what();
    require(e.exit_code() != ExitCode::done, "an error that says that all went well");
    require(said.size() > 10, "an empty message");
    return false;
  }
}

}  // namespace pleat::fuzz
