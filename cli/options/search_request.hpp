// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a search is asked for on the command line: numerics, pins, limits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options/search_numerics.hpp"
#include "cli/request.hpp"
#include "planner/search_config.hpp"

namespace pleat::cli {

struct SearchOptions {
  // Each of several values of a field a choice; where none are given: those of the mode. A
  // precision may be "any": all that the GPU computes.
  NumericsRequest numerics;
  // Pins; absent or empty: the search's choice.
  std::vector<int> tp, cp, dp, pp, vpp, ep, etp, micro_batch, microbatch_group, dispatcher_sms;
  std::vector<std::string> layout;
  std::vector<std::string> schedule;
  std::vector<std::string> sharding, dispatcher, cuda_graph, cp_comm;
  std::optional<std::string> hybrid_sharding;  // on, off
  std::vector<int> cp_a2a;
  std::optional<std::string> ep_overlap, delay_wgrad, tp_overlap, shared_overlap;  // on, off
  std::vector<std::string> tile_overlap;  // on, off, any
  double paged_stash = 0, stash_capacity = 0;  // over the balanced mean; 0: no stash
  std::optional<std::string> optimizer_offload, cpu_optimizer;                     // on, off; any
  std::optional<std::string> by_stage;  // on, off
  std::vector<std::string> recompute, offload;  // sets, plus signs inside
  std::vector<int> recompute_layers, recompute_unit, offload_layers;
  bool robust = false;
  bool no_recompute = false, no_offload = false;
  int top = 5;
  int threads = 0;
  double time_limit = 0;             // seconds; 0: none
  std::int64_t max_evaluations = 0;  // 0: none
  std::int64_t neighbours = SearchConfig{}.neighbours;
  double memory_margin = 0.05;
};

// The values that words stand for, each once: on, off, or any for both. ConfigError for others.
[[nodiscard]] std::vector<bool> parse_switches(const std::vector<std::string>&, const char* flag);

// ConfigError (bad_request) for words that name nothing.
[[nodiscard]] SearchConfig search_config(const SearchOptions&, const NumericsQuestion&,
                                         const Target&);

}  // namespace pleat::cli
