// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Plans that a search has found, priced again with other number formats: cheap, and never better
// than a search with those formats.
#pragma once

#include <optional>
#include <vector>

#include "core/plan/numerics.hpp"
#include "planner/problem.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"
#include "simulator/estimator.hpp"

namespace pleat {

class NumericsPrices {
 public:
  // At most `most` of the plans, the first ones. The problem must outlive this.
  NumericsPrices(const Problem&, const SearchConfig&, const std::vector<Candidate>& plans,
                 std::size_t most);

  // The best of the plans with these formats. Each gives up nothing for memory if it fits so, else
  // what it gave up when it was found; with `save_less` without those modules to recompute and
  // offload which it need not give up with these formats. Empty: none is valid, or none fits.
  [[nodiscard]] std::optional<Candidate> operator()(const Numerics&, bool save_less = false);

  [[nodiscard]] int priced() const { return priced_; }

 private:
  [[nodiscard]] std::optional<Candidate> price(Plan plan, const Numerics&);
  // One module after the other, while that makes the plan faster.
  [[nodiscard]] Candidate saving_less(Candidate);

  struct Variants {
    Plan lean, found;  // nothing given up; as it was found
  };
  const Problem& problem_;
  Runtime runtime_;
  bool robust_;
  int gpus_;
  std::int64_t usable_;
  bool saves_freely_;
  std::vector<Variants> plans_;
  Estimator estimator_;
  int priced_ = 0;
};

// The formats that no change of one field makes faster, as priced on the best plans, from those of
// the first plan on: each value of `config.free_numerics` is tried in turn, and where no plan has
// it alone and fits, it together with each other one. No plans: the first formats of the config.
[[nodiscard]] Numerics settle_numerics(const Problem&, const SearchConfig&,
                                       const std::vector<Candidate>& best);

// The plans of a result with the formats of others who trained such models.
struct NumericsGain {
  std::size_t choice = 0;  // index into `others`
  Candidate candidate;
  double ratio = 1;  // of its value to that of the result's first plan
  int priced = 0;
};
// The fastest of the best plans with each of `others`. Empty: none is faster by at least half a
// percent.
[[nodiscard]] std::optional<NumericsGain> numerics_gain(const Problem&, const SearchConfig&,
                                                        const SearchResult&,
                                                        const std::vector<Numerics>& others);

}  // namespace pleat
