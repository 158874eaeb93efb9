// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The batch of a step as it was given: so many sequences, or as many as so many tokens make.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pleat {

struct GlobalBatch {
  std::optional<std::int64_t> sequences, tokens;

  [[nodiscard]] bool has_value() const { return sequences || tokens; }
  // In sequences of this length; ConfigError (bad_request) if the tokens do not make whole ones.
  [[nodiscard]] std::int64_t of(std::int64_t seq_len) const;
};

// How many tokens are to be trained on, where a command tells the days that they take: "15T". Empty
// text: nothing. ConfigError (bad_request) if it is no number of tokens.
[[nodiscard]] std::optional<double> read_tokens(const std::string&);

}  // namespace pleat
