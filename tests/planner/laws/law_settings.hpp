// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the environment says of the laws: how much they try, and what they draw.
#pragma once

#include <cstdint>
#include <string>

#include "core/environment.hpp"

namespace pleat::test {

// PLEAT_EVERY_CASE: all of a law's cases, some CPU minutes for each; else what the quick suite has
// time for.
inline bool every_case() { return environment_variable("PLEAT_EVERY_CASE").has_value(); }

// The seed of a law's draws. PLEAT_LAW_SEED=N: another one, so that the law meets requests that the
// search was not mended with.
inline std::uint64_t law_seed(std::uint64_t usual) {
  constexpr std::uint64_t kMostLaws = 100;
  const std::string other = environment_variable("PLEAT_LAW_SEED").value_or("0");
  return usual + kMostLaws * std::stoull(other);
}

}  // namespace pleat::test
