// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Finds the best valid plans under the model.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/numerics.hpp"
#include "core/plan/plan.hpp"
#include "core/spec/cluster.hpp"
#include "core/spec/model.hpp"
#include "core/spec/profile.hpp"
#include "core/spec/workload.hpp"
#include "simulator/estimate.hpp"

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
  int max_rounds = 0;                 // of 64 nodes each; 0: none
  std::function<bool(const SearchProgress&)> progress;
  double patience = 0.5;  // seconds without a plan after which progress is given some plan that fits
};

struct Candidate {
  Plan plan;
  StepEstimate estimate;
};

// A technique that the space leaves out, and why.
struct NotTried {
  std::string what;
  std::string why;
};

// What a certificate is of: the step on all GPUs, on as many as help (sizes_search.hpp), or GPU time on
// as many as are cheapest.
enum class Objective : std::uint8_t { step, step_of_sizes, gpu_time };

struct SearchResult {
  std::vector<Candidate> best;     // least value first, at most `top`, different but for flags
  // Slower ones of several stages that another layout may bring among them (layout_polish.hpp): at most
  // as many, least value first, counted as "slower".
  std::vector<Candidate> spares;
  std::vector<Candidate> nearest;  // when nothing fits: least memory missing first
  // enumerated = best + sum of rejected. Besides named rules: "memory" does not fit, "host-memory" offloads
  // more than a node holds, "time-bound" cannot be faster than the slowest of `best`, "moot" differs
  // in flags that do nothing here, "needless" gives up what the same setting fits without, or more than another plan of its mesh that
  // is as fast, "variant" is a listed plan with other flags or layout, "near" one of a listed plan's mesh
  // and microbatch with nearly its time and memory (best_list.hpp), "slower" was priced,
  // "not-reached" a limit came first.
  std::int64_t enumerated = 0, priced = 0;
  std::map<std::string, std::int64_t> rejected;
  // Estimates beside `priced`, which gave `best` where a limit came before any plan.
  std::int64_t fallback_priced = 0;
  // Ways of stages to choose for themselves that the plans by stage among `enumerated` stand for.
  double stage_ways = 0;
  // Of `best`, once layouts were polished: whether no layout of the plan is faster. Else they may be.
  std::vector<bool> best_of_layouts;
  std::vector<NotTried> not_tried;
  // Certificate: `best` holds the best plans of the whole space; else no plan's value is below `bound`.
  bool optimal = true;
  Objective objective = Objective::step;
  bool robust = false;                     // as asked for
  std::optional<std::int64_t> most_bytes;  // likewise
  Seconds bound;
  double seconds = 0;
  // By how much of its value the first of `best` may be off the optimum; 0 without any.
  [[nodiscard]] double gap() const;
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

// What a search makes least: the step, or the upper end of its band.
[[nodiscard]] inline Seconds value_of(const StepEstimate& e, bool robust) {
  return robust ? e.high : e.step;
}

inline double SearchResult::gap() const {
  if (best.empty()) return 0;
  const Seconds value = value_of(best.front().estimate, robust);
  return value > bound ? (value - bound) / value : 0;
}

class KnownPrices;  // plan_prices.hpp

// `known`: what searches of the same job found out before this one; none: nothing.
[[nodiscard]] SearchResult search(const ModelSpec&, const ClusterSpec&, const WorkloadSpec&,
                                  const Profile&, const SearchConfig&,
                                  KnownPrices* known = nullptr);

// Why `loser` is slower than `winner`: the rubrics where it loses most, in words.
[[nodiscard]] std::string explain_difference(const Candidate& winner, const Candidate& loser);

}  // namespace pleat
