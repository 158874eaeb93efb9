// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a search is asked for on the command line: numerics, pins, limits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "application/request/pin_words.hpp"
#include "application/request/request.hpp"
#include "application/request/search_numerics.hpp"
#include "planner/search_config.hpp"

namespace pleat {

struct SearchOptions {
  // Each of several values of a field a choice; where none are given: those of the mode. A
  // precision may be "any": all that the GPU computes.
  NumericsRequest numerics;
  // Absent or empty: the search's choice.
  PinWords pins;
  std::optional<std::string> hybrid_sharding;  // on, off
  double paged_stash = 0, stash_capacity = 0;  // over the balanced mean; 0: no stash
  std::optional<std::string> optimizer_offload, cpu_optimizer;                     // on, off; any
  std::optional<std::string> by_stage;  // on, off
  std::vector<std::string> recompute, offload;  // sets, plus signs inside
  bool robust = false;
  bool no_recompute = false, no_offload = false;
  int top = 5;
  int certain = 1;  // of those so many, the first ones (SearchConfig::certain)
  int threads = 0;
  double time_limit = 0;             // seconds; 0: none
  std::int64_t max_evaluations = 0;  // 0: none
  std::int64_t neighbours = SearchConfig{}.neighbours;
  double memory_margin = 0.05;
};

// ConfigError (bad_request) for words that name nothing.
[[nodiscard]] SearchConfig search_config(const SearchOptions&, const NumericsQuestion&,
                                         const Target&);

}  // namespace pleat
