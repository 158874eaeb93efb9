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

#include "core/spec/cluster.hpp"
#include "planner/numerics.hpp"

namespace pleat {

// Asked between rounds; false stops the search.
struct SearchProgress {
  std::int64_t priced = 0;
  double seconds = 0;
  std::optional<Seconds> best;  // the fastest plan so far
  Seconds bound;                // no plan is faster; 0: not known yet
};

// The only values that a search may choose; none: all that it has.
template <class T>
struct Pinned {
  std::vector<T> values;
  Pinned& operator=(T value) {
    values = {value};
    return *this;
  }
  Pinned& operator=(std::vector<T> list) {
    values = std::move(list);
    return *this;
  }
  explicit operator bool() const { return !values.empty(); }
  [[nodiscard]] bool only(T value) const { return values == std::vector<T>{value}; }
  void reset() { values.clear(); }
};

// A set of modules to recompute, or whole layers.
struct RecomputeChoice {
  std::set<Module> modules;
  bool full = false;
  int layers = 0;  // full: the first so many of each chunk; 0: all
  int unit = 1;    // full: layers that keep one input together
  bool operator==(const RecomputeChoice&) const = default;
};

struct SearchConfig {
  int gpus = 1;
  Runtime runtime = Runtime::megatron;
  int top = 5;
  bool robust = false;  // ranked by the upper end of the prediction band instead of its middle
  // What other searches have found: plans whose value (value_of) is above this are of no interest.
  Seconds not_above{std::numeric_limits<double>::infinity()};
  double memory_margin = 0.05;  // part of the GPU's memory kept free
  std::optional<std::int64_t> most_bytes;  // of a GPU that a plan may need, whatever the margin
  // The number formats to choose from, at least one; of equally good plans the first one's is taken.
  // Plans that differ only in what the optimizer, attention or head use are variants of one another,
  // plans of different precision are not.
  std::vector<Numerics> numerics{1};
  // Pins: only these values are tried; empty means all valid ones.
  std::vector<int> tp, cp, dp, pp, vpp, ep, etp, micro_batch;
  std::vector<int> microbatch_group;  // of interleaved orders; 0: PP
  std::vector<std::string> layout;    // well-formed; for as many virtual stages as each has
  std::vector<PipelineSchedule> schedule;
  Pinned<Sharding> sharding;
  Pinned<Dispatcher> dispatcher;
  Pinned<CudaGraph> cuda_graph;
  Pinned<CpComm> cp_comm;
  std::vector<int> cp_a2a;             // with a2a+p2p: ranks of a group that exchanges heads
  std::optional<bool> hybrid_sharding;  // shards within the innermost network domain, copies across
  std::optional<bool> ep_overlap, delay_wgrad, tp_overlap, shared_overlap;
  std::vector<bool> tile_overlap;  // empty: off, no runtime has it
  // SMs that an exchange by DeepEP or HybridEP takes; 0 is the profile's number, which empty means
  // too. Beside 0, others are DeepEP's where its exchange stays within the innermost domain.
  std::vector<int> dispatcher_sms;
  // Of every plan. A choice it is not: a stash that holds what routing sends takes as long as none and
  // holds no less (paged_stash_test.cpp).
  PagedStash paged_stash;
  bool recompute = true;        // may choose recompute modules
  bool offload = true;          // may keep activations and optimizer state in host memory
  // The state in host memory between steps of the GPU; empty: not. Megatron-LM's main branch does not do
  // that, its dev branch does (pull requests 2760 and 2811).
  Pinned<bool> optimizer_offload;
  std::optional<bool> cpu_optimizer;      // there, and the CPU makes the step; not both on
  // Sets to recompute and to offload, the empty one where it may be that; whole layers are offloaded
  // beside pinned sets only where their numbers are pinned too.
  std::vector<RecomputeChoice> recompute_sets;
  std::vector<std::set<Offload>> offload_sets;
  // Layers of a chunk to recompute whole (0: all), in units of so many; to offload whole (0: none).
  std::vector<int> recompute_layers, recompute_unit, offload_layers;
  // Whether the stages of a pipeline choose for themselves what they recompute and offload; absent:
  // where the runtime can run it.
  std::optional<bool> by_stage;
  int threads = 0;              // 0: all cores
  // Limits: the search stops at the end of the round in which one is passed, of estimates at the last of
  // them. Without a plan by then it tries some that are likely to fit (SearchResult::fallback_priced).
  double time_limit = 0;              // seconds; 0: none
  std::int64_t max_evaluations = 0;   // estimates; 0: no limit, below: none is left
  int max_rounds = 0;                 // of 128 nodes each; 0: none
  std::function<bool(const SearchProgress&)> progress;
  double patience = 0.5;  // seconds without a plan after which progress is given some plan that fits
};

// Of a GPU, for a plan.
[[nodiscard]] inline std::int64_t usable_bytes(const ClusterSpec& cluster, const SearchConfig& c) {
  return c.most_bytes.value_or(
      static_cast<std::int64_t>(cluster.gpu.memory.base() * (1 - c.memory_margin)));
}

// For a further search, where limits hold for all together.
[[nodiscard]] inline SearchConfig rest_of_limits(SearchConfig c, double seconds,
                                                 std::int64_t priced) {
  if (c.time_limit > 0) c.time_limit = std::max(1e-9, c.time_limit - seconds);
  if (c.max_evaluations > 0) {
    c.max_evaluations = std::max<std::int64_t>(1, c.max_evaluations - priced);
  }
  return c;
}

}  // namespace pleat
