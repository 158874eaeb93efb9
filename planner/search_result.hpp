// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a search answers: plans with their estimates, what became of all others, and what is proven.
#pragma once

#include <algorithm>
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

// The fastest priced plan with its value of one field (search/met_plans.hpp).
struct MetPlan {
  Plan plan;
  Seconds value;        // value_of
  std::size_t row = 0;  // of the field in the table of a plan's fields
};

// A technique that the search does not try, and why.
struct NotTried {
  std::string what;
  std::string why;
};

// A field in which two plans differ.
struct FieldDifference {
  std::string path, from, to;
  bool operator==(const FieldDifference&) const = default;
};

// What was tried outside of the space (neighbours/neighbours.hpp).
struct NeighboursTried {
  std::int64_t tried = 0;   // legal plans that differ in a few fields from a listed one
  std::int64_t priced = 0;  // estimates for them
  bool all = true;          // false: the budget or a limit ended it
  Seconds best_before;      // value of the best plan without them
  double gain = 0;          // by what part of that the best plan with them is faster
  // What the best plan has in other fields than the best plan before; empty: none was faster.
  std::vector<FieldDifference> differences;
};

// What the certificate is about: the step on all GPUs, the step on the best number of GPUs
// (sizes_search.hpp), or the GPU time on the cheapest number.
enum class Objective : std::uint8_t { step, step_of_sizes, gpu_time };

struct SearchResult {
  // Smallest value (value_of) first, at most `top`, plans that are really different.
  std::vector<Candidate> best;
  // Of the space's plans in `best` so many, the first ones, are certain: none is missing before
  // them (SearchConfig::certain).
  int certain = 0;
  // Slower pipelines that may become some of the best with another layout (layout_polish.hpp):
  // smallest value first, at most `top`, counted as "slower".
  std::vector<Candidate> spares;
  // Fastest first. A plan may be there for several fields.
  std::vector<MetPlan> met;
  std::vector<Candidate> nearest;  // when nothing fits: those that miss the least memory first
  // How many plans the space has, and how many of them were priced. Every plan is counted once: in
  // `best`, or in `rejected` under the name of the rule of plans that it breaks, or one of these:
  //   memory       it does not fit on the GPU
  //   host-memory  it offloads more than a node holds
  //   time-bound   its bound is above the slowest certain one of `best`
  //   no-effect    it differs from another plan only in flags that have no effect here
  //   over-saving  it saves memory although the setting fits without, or although a plan of its
  //                mesh that saves less is as fast
  //   variant      it is a listed plan with other flags or another layout
  //   alike        it has almost the time and memory of a listed plan of its mesh
  //                (different_plans.hpp)
  //   slower       it was priced
  //   not-reached  a limit came first
  std::int64_t enumerated = 0, priced = 0;
  std::map<std::string, std::int64_t> rejected;
  // Estimates made in addition, of plans that a search tries to know good ones early
  // (search/good_plans.hpp).
  std::int64_t fallback_priced = 0;
  // A plan whose stages choose their own recompute and offload counts as one of `enumerated`. This
  // is how many combinations all of them stand for.
  double stage_ways = 0;
  // For each of `best`, after layouts were polished: whether its layout is proven to be the
  // fastest.
  std::vector<bool> best_of_layouts;
  std::vector<NotTried> not_tried;
  // Where the search chose number formats for itself: how many sets of them it searched, and how
  // many the runtime has. The certificate is about those that were searched.
  std::int64_t numerics_searched = 0, numerics_possible = 0;
  std::optional<NeighboursTried> neighbours;  // absent: nothing was tried outside of the space
  // The certificate. `optimal`: `best` holds the best plans of the whole space. In any case no plan
  // of the space has a value below `bound`.
  bool optimal = true;
  Objective objective = Objective::step;
  bool robust = false;                     // as asked for
  std::optional<std::int64_t> most_bytes;  // likewise
  Seconds bound;
  double seconds = 0;
  // By what part of its value the first of `best` may be above the optimum; 0 if there is none.
  [[nodiscard]] double gap() const;
};

// How many of `best`, the first ones, are certain to be the best of the space.
[[nodiscard]] inline int certain_listed(const SearchResult& r) {
  return std::min(r.certain, static_cast<int>(r.best.size()));
}
// Whether no better plan is missing between those listed.
[[nodiscard]] inline bool all_certain(const SearchResult& r) {
  return certain_listed(r) == static_cast<int>(r.best.size());
}

// Shortens the list to `most` plans. The others count as slower, as in a search with `top` =
// `most`.
void keep_first(std::size_t most, SearchResult&);

// What a search minimises: the predicted step, or (robust) the upper end of its band.
[[nodiscard]] inline Seconds value_of(const StepEstimate& e, bool robust) {
  return robust ? e.high : e.step;
}

inline double SearchResult::gap() const {
  if (best.empty()) return 0;
  const Seconds value = value_of(best.front().estimate, robust);
  return value > bound ? (value - bound) / value : 0;
}

}  // namespace pleat
