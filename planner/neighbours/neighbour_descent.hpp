// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// From a plan to faster ones, change by change, until no legal change makes it faster.
#pragma once

#include <vector>

#include "planner/neighbours/legal_plans.hpp"
#include "planner/neighbours/memory_sets.hpp"
#include "planner/neighbours/neighbour_prices.hpp"
#include "planner/neighbours/other_pipelines.hpp"
#include "planner/neighbours/plan_change.hpp"

namespace pleat {

// Each step takes the fastest plan that fits among those with one change. If none is faster, and
// the plan gives up something for memory, all other sets of modules to recompute and to offload are
// looked at, then such sets beside layouts that save memory, then beside smaller shares of the
// optimizer's state in host memory. Then two changes are tried together:
//   - shares of the optimizer's state that are stepped on the CPU and that come back to the GPU;
//   - one that breaks a rule, and one that mends it;
//   - one that would be faster but does not fit, and one to three that save memory;
//   - one that is slower but saves memory, and all sets of modules that then fit; the same for
//     another pipeline or other expert degrees that do not fit;
//   - two degrees, or one and the microbatch or the dispatcher, that leave as many microbatches as
//     before, and sets of modules for these;
//   - two that are slower alone, those first whose times add up to the least, and if these do not
//     fit, one to three that save memory.
class NeighbourDescent {
 public:
  struct Tries {
    bool pairs = false;        // two changes together
    bool other_degrees = true;
    bool other_state = true;   // other shares of the optimizer's state in host memory
  };

  // The references must outlive it.
  NeighbourDescent(const Problem&, const SearchConfig&, NeighbourPrices&);

  // Returns the start if nothing is faster.
  Candidate run(Candidate start, Tries);

  // Of the plans that were met, those that a better layout may make the fastest. Fastest first.
  std::vector<Plan> other_pipelines(const Candidate& best, std::size_t most);

 private:
  // A change and what became of it: where its answer is, or that a rule forbids it, and then where
  // that of the change with what the rule asks for is.
  struct Single {
    PlanChange change;
    int at = -1, mended = -1;
  };

  void find_singles();
  void find_wider();
  bool find_memory_sets();
  void find_sets_beside_layouts();
  void price_all(std::size_t first, Seconds cutoff);
  bool add(const PlanChange&, const PlanChange* second);
  bool add_to_mended(const Single&, const Single& second);
  // Goes to the fastest of the answers, if it is faster.
  bool step();
  void repeat_gains(const std::vector<PlanChange>& gains);
  [[nodiscard]] std::vector<PlanChange> gains() const;
  bool try_pairs();
  void find_both_shares();
  void find_sets_beside_smaller_shares();
  void find_mended();
  void find_slow_pairs();
  void find_sets_beside_savers();
  void find_sets_of_pipelines(const std::vector<Neighbour>& changed);
  // Adds the `sets` most promising memory choices beside each of the fastest of these plans.
  void find_sets_beside(std::vector<const Neighbour*>, Seconds than, std::size_t sets);
  void find_exchanges();
  // Tries to mend the fastest of the plans from `first` on that do not fit. Returns whether one
  // became the best.
  bool mend_fastest(const std::vector<Neighbour>&, std::size_t first);
  void mend_memory(const Plan& from, std::int64_t over, Seconds value);
  [[nodiscard]] std::int64_t least_saved() const;  // bytes

  const Problem& problem_;
  const SearchConfig& config_;
  LegalPlans legal_;
  MemorySets memory_;
  NeighbourPrices& prices_;
  std::vector<int> numbers_;
  bool by_stage_, places_experts_;
  bool other_degrees_ = true, other_state_ = true;
  Candidate best_;
  Seconds value_;
  std::vector<Single> singles_;
  std::vector<Neighbour> plans_;
  OtherPipelines pipelines_;
};

}  // namespace pleat
