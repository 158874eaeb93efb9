// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Further searches of the space, beside the best plan that a search and its neighbours found. They
// end after a few rounds, and look only at plans that are not much slower than one that is known.
#pragma once

#include <optional>
#include <vector>

#include "planner/neighbours/neighbour_prices.hpp"
#include "planner/problem.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"
#include "planner/space/memory_choice.hpp"

namespace pleat {

class FurtherSearches {
 public:
  static constexpr int kMostRounds = 48;  // of a search

  // The references must outlive it. Estimates are added to `result`, and taken off the limit of
  // `config`, of which `prices` has used some, too.
  FurtherSearches(const Problem&, SearchConfig& config, NeighbourPrices& prices,
                  KnownPrices& known, SearchResult& result);

  // The best pipeline in 1F1B order where `best` has another order. It alone has several numbers of
  // chunks and groups of microbatches, so it gains more by other layouts and changes.
  [[nodiscard]] std::optional<Candidate> one_f_one_b(const Candidate& best);

  // The best plans without one thing that `best` has: its number of stages, its expert parallel
  // size, its dispatcher or CUDA graphs (with its degrees), ZeRO-1 (without a pipeline), or the
  // optimizer's state in host memory. Each config forbids that thing.
  struct Unlike {
    SearchConfig config;
    Candidate best;
  };
  [[nodiscard]] std::vector<Unlike> unlike(const Candidate& best);
  // The fastest plans that the search of the space met with other values of some fields
  // (SearchResult::met), also far slower ones. Each config pins that value.
  [[nodiscard]] std::vector<Unlike> met_unlike(const Candidate& best);

  // The best plans with some of the optimizer's state in host memory: with other shares of it,
  // where `best` has a share there, or with a few shares, where `best` saves memory in another way.
  // Fastest first, and few. A space has all of the state there or none; changes of a plan find only
  // what fits beside its other fields.
  [[nodiscard]] std::vector<Candidate> with_state_in_host_memory(const Candidate& best);

 private:
  [[nodiscard]] std::vector<Dispatcher> dispatchers() const;
  std::vector<Candidate> with_shares(StatePlace, const Candidate& best);
  std::vector<Candidate> with_state_in(StatePlace, double share, const Candidate& known,
                                       double hopeful, bool own_degrees);
  SearchResult search_with(SearchConfig, const Candidate& known, double hopeful, int plans,
                           int rounds = kMostRounds);
  void in_order(std::vector<Candidate>&) const;
  [[nodiscard]] Seconds value(const Candidate&) const;

  const Problem& problem_;
  SearchConfig& config_;
  NeighbourPrices& prices_;
  KnownPrices& known_;
  SearchResult& result_;
};

}  // namespace pleat
