// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a search answers: plans with their estimates, what became of all others, and what is proven.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/plan/plan.hpp"
#include "simulator/estimate.hpp"

namespace pleat {

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

// Lists the first so many plans alone: the others count as slower, as they would have been of a search for
// so few.
void keep_first(std::size_t most, SearchResult&);

// What a search makes least: the step, or the upper end of its band.
[[nodiscard]] inline Seconds value_of(const StepEstimate& e, bool robust) {
  return robust ? e.high : e.step;
}

inline double SearchResult::gap() const {
  if (best.empty()) return 0;
  const Seconds value = value_of(best.front().estimate, robust);
  return value > bound ? (value - bound) / value : 0;
}

}  // namespace pleat
