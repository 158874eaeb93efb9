// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Lower bounds for what a stage does once per step: zero gradients, reduce them, step the
// optimizer, gather weights.
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
  // Before the stages exchange the gradients' norm: the reduction, which passes can hide, and all
  // else.
  Seconds reduce, before;
  // After it: the gather of weights, which passes can hide, and all else.
  Seconds gather, after;
  int pieces = 1;  // that reduction and gather are made in (sync_pieces)
  std::int64_t host_bytes = 0;  // of optimizer state in host memory, on a rank
};
struct StepTail {
  std::vector<StageTail> stages;
  Seconds norm;  // the exchange of the norm
};

// The parameters of a stage. `more`: elements that it may have in addition.
struct StageWeights {
  LayerWeights weights;
  std::int64_t more = 0;
  bool operator==(const StageWeights&) const = default;
};

[[nodiscard]] StepTail step_tail(const std::vector<StageWeights>&, const ModelSpec&, const Plan&,
                                 Runtime, const ClusterSpec&, const Profile&);

// The most time that one microbatch takes in all chunks of a stage, by Pass.
struct StagePasses {
  Seconds pass[2];
};
// What a step ends with, apart from when the slots of its stages end.
struct TailCosts {
  struct Stage {
    Seconds before, reduce;  // as StageTail's, of `reduce` what passes cannot hide
  };
  std::vector<Stage> stages;
  Seconds prologue, norm, after;
};
[[nodiscard]] TailCosts tail_costs(const StepTail&, const Plan&, Runtime, const Profile&,
                                   std::int64_t microbatches, std::size_t stages,
                                   const std::vector<std::optional<StagePasses>>& passes);
[[nodiscard]] Seconds step_end(const TailCosts&, const std::vector<Seconds>& finish);
// The end of the step if the slots of stage s end at finish[s] (counted from the start of the first
// slots). `passes`: for each stage; absent: unknown.
[[nodiscard]] Seconds step_end(const StepTail&, const Plan&, Runtime, const Profile&,
                               std::int64_t microbatches, const std::vector<Seconds>& finish,
                               const std::vector<std::optional<StagePasses>>& passes);

}  // namespace pleat
