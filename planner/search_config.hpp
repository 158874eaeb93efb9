// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a search is asked: which plans it may choose from, what is best, and when it is to stop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/numerics_rows.hpp"
#include "core/spec/cluster.hpp"
#include "planner/plan_pins.hpp"

namespace pleat {

// Asked between rounds; false stops the search.
struct SearchProgress {
  std::int64_t priced = 0;
  double seconds = 0;
  std::optional<Seconds> best;  // the fastest plan so far
  Seconds bound;                // no plan of the space is faster; 0: not known yet
  bool changes = false;  // the space has been searched: changes of the plans found are tried now
};

// A set of modules to recompute, or whole layers.
struct RecomputeChoice {
  std::set<Module> modules;
  bool full = false;
  int layers = 0;  // with `full`: how many layers of each chunk, the first ones; 0: all
  int unit = 1;    // with `full`: consecutive layers that are recomputed from one saved input
  bool operator==(const RecomputeChoice&) const = default;
};
// Of a plan, or of one of its stages.
template <class Choice>
[[nodiscard]] RecomputeChoice recompute_of(const Choice& c) {
  return {.modules = c.recompute,
          .full = c.recompute_full,
          .layers = c.recompute_layers,
          .unit = c.recompute_unit};
}

struct SearchConfig {
  int gpus = 1;
  Runtime runtime = Runtime::megatron;
  int top = 5;  // plans to list
  // Of them so many, the first ones, are certain to be the best where a search takes long. The
  // others are then the best that were priced: better ones may be missing. 0: all are certain.
  int certain = 0;
  bool robust = false;  // ranked by the upper end of the prediction band instead of its middle
  // Plans whose value (value_of) is above this are of no interest: other searches have found better
  // ones.
  Seconds not_above{std::numeric_limits<double>::infinity()};
  double memory_margin = 0.05;  // part of the GPU's memory kept free
  std::optional<std::int64_t> most_bytes;  // a plan may need on a GPU; replaces the margin
  // The number formats to choose from, at least one. Of equally good plans the one with the earlier
  // format wins. Plans that differ only in the formats of optimizer, attention or head are variants
  // of one another (one is listed); plans of different precision are not.
  std::vector<Numerics> numerics{1};
  // Values that the search may put into these formats for itself, one field or several; those of a
  // row follow one another. Empty: it takes `numerics` as they are.
  std::vector<NumericsValue> free_numerics;
  std::vector<std::size_t> told_numerics;  // rows that were set to what the runtime has not
  // Of each field that may be pinned (plan_table.hpp), the only values that are tried; none: all
  // valid ones. In some, a value has a meaning of its own:
  //   layout            each fixes the number of virtual stages that it has
  //   microbatch-group  of interleaved schedules; 0: PP
  //   dispatcher-sms    SMs that DeepEP or HybridEP use for an exchange; 0: the number of the
  //                     profile, as without a pin. With a 0, the others are tried for DeepEP alone,
  //                     where its exchange stays within the innermost network domain.
  //   recompute-layers  whole layers of a chunk to recompute; 0: all
  //   offload-layers    and to offload; 0: none
  PlanPins pins;
  template <FlagText Flag>  // config.pin<"tp">()
  [[nodiscard]] auto& pin() {
    return pins.of<Flag>();
  }
  template <FlagText Flag>
  [[nodiscard]] const auto& pin() const {
    return pins.of<Flag>();
  }
  // Shards within the innermost network domain, replicas across.
  std::optional<bool> hybrid_sharding;
  // The same for every plan. It is not searched: a stash that has room for what routing sends takes
  // as long as no stash and needs no less memory (paged_stash_test.cpp).
  PagedStash paged_stash;
  bool recompute = true;        // may choose recompute modules
  bool offload = true;          // may keep activations and optimizer state in host memory
  // Whether the optimizer state may lie in host memory while the GPU makes the step; empty: no, but
  // for changes of the best plans of the runtime Pleat.
  // Megatron-LM does this on its dev branch, not on main (pull requests 2760 and 2811).
  Pinned<bool> optimizer_offload;
  // Whether the state lies there and the CPU makes the step. Not both.
  std::optional<bool> cpu_optimizer;
  // How much of the state lies there where any of it does, above 0 to 1.
  double host_share = 1;
  // Sets of modules to recompute and to offload; the empty set stands for none. With pinned sets,
  // whole layers are offloaded only if "offload-layers" is pinned too.
  std::vector<RecomputeChoice> recompute_sets;
  std::vector<std::set<Offload>> offload_sets;
  // Whether the stages of a pipeline choose for themselves what they recompute and offload; absent:
  // where the runtime can run it.
  std::optional<bool> by_stage;
  int threads = 0;              // 0: all cores
  // Limits. The search ends with the round in which time or rounds run out, and exactly at the last
  // allowed estimate, without those of plans tried to know good ones early
  // (SearchResult::fallback_priced). Choices that are compiled for single stages count, too, and
  // may be more by those of one round.
  double time_limit = 0;              // seconds; 0: none
  std::int64_t max_evaluations = 0;   // estimates; 0: no limit, negative: none is left
  int max_rounds = 0;                 // of 128 nodes each; 0: none
  bool tells_nearest = true;  // SearchResult::nearest, where nothing fits
  // Estimates for plans outside of the space that differ in a field or two from those that were
  // found (neighbours/neighbours.hpp); 0: none.
  std::int64_t neighbours = 3000;
  std::function<bool(const SearchProgress&)> progress;
  // Seconds without a plan after which `progress` is shown some plan that fits.
  double patience = 0.5;
};

// How many plans a search lists, and how many of them are certain.
[[nodiscard]] inline int listed_plans(const SearchConfig& c) { return std::max(1, c.top); }
[[nodiscard]] inline int certain_plans(const SearchConfig& c) {
  return c.certain > 0 ? std::min(c.certain, listed_plans(c)) : listed_plans(c);
}

// Bytes of a GPU that a plan may use.
[[nodiscard]] inline std::int64_t usable_bytes(const ClusterSpec& cluster, const SearchConfig& c) {
  return c.most_bytes.value_or(
      static_cast<std::int64_t>(cluster.gpu.memory.base() * (1 - c.memory_margin)));
}

// The config of a further search, when the limits hold for all searches together and this much is
// used up. Its progress counts from there on.
[[nodiscard]] inline SearchConfig rest_of_limits(SearchConfig c, double seconds,
                                                 std::int64_t priced) {
  if (c.time_limit > 0) c.time_limit = std::max(1e-9, c.time_limit - seconds);
  if (c.max_evaluations > 0) {
    c.max_evaluations = std::max<std::int64_t>(1, c.max_evaluations - priced);
  }
  if (c.progress) {
    c.progress = [seconds, priced, all = std::move(c.progress)](SearchProgress p) {
      p.seconds += seconds;
      p.priced += priced;
      return all(p);
    };
  }
  return c;
}

}  // namespace pleat
