// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which ranks of an expert-parallel group hold which experts of a layer, where they are placed by
// load. As DeepSeek's EPLB does (github.com/deepseek-ai/EPLB): the busiest experts get the copies
// that there is room for, then each copy, the busiest first, goes to the rank with the fewest
// tokens that still has room. Then the busiest rank exchanges copies with others as long as that
// helps, which EPLB does not. A rank has ExpertMapping::local slots; the tokens of an expert are
// dealt out evenly to its copies.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/spec/model.hpp"
#include "core/spec/workload.hpp"

namespace pleat {

// Slots are numbered over all ranks: rank r has slots [r * local, (r + 1) * local).
class ExpertSlots {
 public:
  ExpertSlots() = default;
  ExpertSlots(std::vector<int> expert_of_slot, std::int64_t experts);

  [[nodiscard]] bool empty() const { return expert_of_.empty(); }  // experts are in order
  [[nodiscard]] int expert_of(std::int64_t slot) const {
    return expert_of_[static_cast<std::size_t>(slot)];
  }
  [[nodiscard]] std::span<const int> experts() const { return expert_of_; }  // by slot
  [[nodiscard]] std::int64_t expert_count() const { return std::ssize(first_) - 1; }
  // Of one expert, ascending. The first is its home: what is saved of the expert, and its optimizer
  // state that counts, are there.
  [[nodiscard]] std::span<const int> slots_of(std::int64_t expert) const;
  [[nodiscard]] int home_of(std::int64_t slot) const { return slots_of(expert_of(slot)).front(); }
  [[nodiscard]] bool is_copy(std::int64_t slot) const { return home_of(slot) != slot; }
  [[nodiscard]] std::size_t most_copies() const;

 private:
  std::vector<int> expert_of_;
  std::vector<int> slots_, first_;  // of expert e: slots_[first_[e]] … before slots_[first_[e + 1]]
};

// Experts that a router picks together (routing groups, where it picks of few groups) stay on the
// ranks that have them in order. The mapping's placement must be by_load, and its rules hold.
// Without redundant experts no rank is busier than with experts in order.
[[nodiscard]] ExpertSlots place_experts(std::span<const double> loads, const MoeSpec&,
                                        const ExpertMapping&);
// Of a decoder layer or prediction depth, numbered as in ExpertLoads. Empty: in order. A layer
// without loads of its own is placed as if its experts had the same.
[[nodiscard]] ExpertSlots slots_of_layer(const ModelSpec&, const WorkloadSpec&,
                                         const ExpertMapping&, int layer);

// Tokens of the busiest rank over the mean; an expert takes `capacity` times its mean at most (0:
// all).
[[nodiscard]] double busiest_rank(const ExpertSlots&, std::span<const double> loads, int ranks,
                                  double capacity = 0);
// The same of a layer as the plan places its experts, with all that the workload says of routing
// (rank_imbalance in core/spec/expert_load.hpp). `loads`: index into WorkloadSpec::expert_loads, or
// -1.
[[nodiscard]] double rank_imbalance(const WorkloadSpec&, const MoeSpec&, int loads,
                                    const ExpertMapping&);
// By index of the loads. Remembered where it takes long.
[[nodiscard]] std::vector<double> rank_imbalances(const WorkloadSpec&, const MoeSpec&,
                                                  const ExpertMapping&);

// The largest ExpertMapping::redundant: with so many, every rank has every expert of its block.
[[nodiscard]] std::int64_t most_redundant(const MoeSpec&, const ExpertMapping&);
// Runs of experts that stay on the same ranks wherever they are placed: routing groups, or all.
[[nodiscard]] std::int64_t placement_blocks(const MoeSpec&);

}  // namespace pleat
