// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the stages of a plan do once per step, at least: zeroing, gradient reduction, optimizer,
// gather.
#pragma once

#include <optional>
#include <vector>

#include "core/spec/cluster.hpp"
#include "core/spec/model.hpp"
#include "core/spec/profile.hpp"
#include "simulator/layer_work.hpp"
#include "simulator/step_costs.hpp"

namespace pleat {

struct StageTail {
  Seconds prologue;
  // Before all stages agree on the gradients' norm and after: exchanges of shards, which passes may
  // hide, and the rest.
  Seconds reduce, before;
  Seconds gather, after;
  int pieces = 1;  // of the exchanges (sync_pieces)
};
struct StepTail {
  std::vector<StageTail> stages;
  Seconds norm;  // the exchange of the norm
};

// Parameters of a stage. `more`: elements that it may have beside them.
struct StageWeights {
  LayerWeights weights;
  std::int64_t more = 0;
  bool operator==(const StageWeights&) const = default;
};

[[nodiscard]] StepTail step_tail(const std::vector<StageWeights>&, const ModelSpec&, const Plan&,
                                 Runtime, const ClusterSpec&, const Profile&);

// What one microbatch takes at most through all chunks of a stage, by Pass.
struct StagePasses {
  Seconds pass[2];
};
// End of the step when the stages' pipelines end at `finish`, the first slots starting at once.
// `passes`: by stage; absent: unknown.
[[nodiscard]] Seconds step_end(const StepTail&, const Plan&, Runtime, const Profile&,
                               std::int64_t microbatches, const std::vector<Seconds>& finish,
                               const std::vector<std::optional<StagePasses>>& passes);

}  // namespace pleat
