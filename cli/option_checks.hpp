// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Checks of option values whose limits stand in the message and not in every line of the help.
#pragma once

#include <CLI/CLI.hpp>

namespace pleat::cli {

template <class T>
[[nodiscard]] CLI::Validator in_range(T lowest, T highest) {
  return CLI::Range(lowest, highest).description("");
}

}  // namespace pleat::cli
