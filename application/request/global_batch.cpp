// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/request/global_batch.hpp"

#include <fmt/format.h>

#include "core/diagnostics.hpp"
#include "planner/capacity/amounts.hpp"

namespace pleat {

std::int64_t GlobalBatch::of(std::int64_t seq_len) const {
  if (!tokens) return sequences.value_or(0);
  if (*tokens % seq_len == 0) return *tokens / seq_len;
  const std::int64_t below = *tokens / seq_len;
  throw_config_error(ExitCode::bad_request, "--global-batch", "",
                     fmt::format("{} tokens are no whole number of sequences of {}", *tokens,
                                 seq_len),
                     below > 0 ? fmt::format("{} or {} sequences", below, below + 1)
                               : std::string("1 sequence"));
}

std::optional<double> read_tokens(const std::string& text) {
  constexpr double kMost = 1e18;  // more than any job
  if (text.empty()) return {};
  const ParsedAmount tokens = parse_count(text);
  const auto refuse = [](const std::string& problem) {
    throw_config_error(ExitCode::bad_request, "--tokens", "", problem,
                       "a number with k, M, B or T, for example 15T");
  };
  if (!tokens.value) refuse(tokens.problem);
  if (!(*tokens.value >= 1 && *tokens.value <= kMost)) {
    refuse(fmt::format("{} is not in the range of 1 to {:.0e}", text, kMost));
  }
  return tokens.value;
}

}  // namespace pleat
