// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How many tokens the experts of the busiest rank receive, layer by layer.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/program/layer_program.hpp"
#include "core/spec/model.hpp"
#include "core/spec/workload.hpp"

namespace pleat {

// Routed tokens of the slowest rank. Forced routing balances exactly; an expert takes no more than
// its capacity, and exactly that when short ones are padded.
class LayerRows {
 public:
  LayerRows(const ModelSpec&, const WorkloadSpec&, const Plan&);
  // Of layers that are one program each counts as their mean.
  [[nodiscard]] Binding of(const LayerProgram&) const;

 private:
  Binding alike_;                       // of layers whose loads are not known
  std::vector<std::int64_t> of_loads_;  // by index into WorkloadSpec::expert_loads
};

// The busiest rank's tokens over the mean, over the decoder layers with experts.
struct BusiestRanks {
  double mean = 1, most = 1;
  std::int64_t layer = 0;  // where it is `most`, the first of them
};
// Nothing where no rank is busier than another.
[[nodiscard]] std::optional<BusiestRanks> busiest_ranks(const ModelSpec&, const WorkloadSpec&,
                                                        const Plan&);

// Rows of two layers that run side by side, by pass.
struct PairRows {
  PairRows(const Binding& both) : forward(both), backward(both) {}  // NOLINT: alike mostly
  PairRows(const Binding& f, const Binding& b) : forward(f), backward(b) {}
  [[nodiscard]] const Binding& of(Pass p) const { return p == Pass::forward ? forward : backward; }

  Binding forward, backward;
};

}  // namespace pleat
