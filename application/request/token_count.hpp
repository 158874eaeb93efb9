// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How many tokens are to be trained on, where a command tells the days that they take.
#pragma once

#include <optional>
#include <string>

namespace pleat {

// "15T". Empty text: nothing. ConfigError (bad_request) if it is no number of tokens.
[[nodiscard]] std::optional<double> read_tokens(const std::string&);

}  // namespace pleat
