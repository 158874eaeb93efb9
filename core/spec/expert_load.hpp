// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How much busier than the mean the busiest rank of an expert-parallel group is (docs/MODEL.md
// section 9). Rank r of so many has the r-th run of experts, as Megatron places them.
#pragma once

#include <array>
#include <span>

#include "core/spec/model.hpp"
#include "core/spec/workload.hpp"

namespace pleat {

// Mean of the largest of n independent standard normal values.
[[nodiscard]] double expected_largest(int n);

// Tokens of the busiest rank over the mean. An expert takes `capacity` times its mean at most; 0:
// all.
[[nodiscard]] double busiest_rank(std::span<const double> loads, int ranks, double capacity = 0);

// The same where experts' loads are random, with a standard deviation of `spread` times the mean:
// what is to be expected.
[[nodiscard]] double busiest_rank(double spread, const MoeSpec&, int ranks);

// Index into WorkloadSpec::expert_loads for a layer, numbered as there; equal loads have one index.
// A prediction depth without loads of its own has those of the last decoder layer. -1: there are
// none.
[[nodiscard]] int loads_of_layer(const WorkloadSpec&, const ModelSpec&, int layer);

// The busiest rank in a layer with the loads of that index, or of -1, where rank r has the r-th run
// of experts. At least 1; 1 where there is one rank.
[[nodiscard]] double rank_imbalance(const WorkloadSpec&, const MoeSpec&, int loads, int ranks);
// The same of several ranks whose busiest one has `busiest` times the mean by what is known of the
// experts' loads: with the rest that the workload says of routing.
[[nodiscard]] double rank_imbalance(const WorkloadSpec&, double busiest);

// How the experts of a router are loaded that was trained with an auxiliary loss, with a bias
// instead of one, or not at all: WorkloadSpec::expert_spread, with sources in docs/MODEL.md.
inline constexpr double kAuxLossSpread = 0.26;
inline constexpr double kAuxLossFreeSpread = 0.017;
inline constexpr double kUntrainedSpread = 1.5;
// The words for them, in requests and in published runs.
struct RouterTraining {
  const char* word;
  double spread;  // of its experts' loads
};
inline constexpr std::array kRouterTrainings{RouterTraining{"aux-loss", kAuxLossSpread},
                                             RouterTraining{"aux-loss-free", kAuxLossFreeSpread},
                                             RouterTraining{"untrained", kUntrainedSpread}};
// By what the model's router is trained with.
[[nodiscard]] double natural_spread(const MoeSpec&);

}  // namespace pleat
