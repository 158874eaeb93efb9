// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The batch of a step as it was given: so many sequences, or as many as so many tokens make.
#pragma once

#include <cstdint>
#include <optional>

namespace pleat {

struct GlobalBatch {
  std::optional<std::int64_t> sequences, tokens;

  [[nodiscard]] bool has_value() const { return sequences || tokens; }
  // In sequences of this length; ConfigError (bad_request) if the tokens do not make whole ones.
  [[nodiscard]] std::int64_t of(std::int64_t seq_len) const;
};

}  // namespace pleat
