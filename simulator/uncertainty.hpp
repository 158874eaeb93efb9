// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a profile does not know: the band around a predicted step (docs/MODEL.md section 8).
#pragma once

#include "core/plan/plan.hpp"
#include "core/spec/learned.hpp"
#include "core/spec/model.hpp"
#include "core/spec/profile.hpp"
#include "simulator/estimate.hpp"

namespace pleat {

// How many times the GPUs of the largest run that the profile was fitted to; at least 1.
[[nodiscard]] double beyond_runs(int gpus, const Profile&);

// Which terms of the band a model and a plan call for; `doubling` goes by the number of GPUs.
struct BandUse {
  bool experts = false, nccl_exchange = false, sharded = false, hybrid = false;
};
[[nodiscard]] BandUse band_use(const ModelSpec&, const Plan&);

// Half-width of low … high over the step: the profile's relative_band and the terms that the model
// and the plan call for, added as independent errors.
[[nodiscard]] double relative_band(const ModelSpec&, const Plan&, const Profile&);

// Shares of a step that each learned constant prices; idle time follows them, offload is nobody's.
// How far a step moves, in logarithms, with the time factor of each.
[[nodiscard]] LearnedVector learned_shares(const CostVector& parts);

// What a profile that learned adds to its relative_band for such a step, as an independent error:
// what its constants' errors mean, and the part of the band before that constants did not explain
// since the step depends on several. With it no band is wider than before. 0: nothing was learned.
[[nodiscard]] double learned_band(const CostVector& parts, const Profile&);

// Half-width of a band over the standard deviation of a normal error: 80% lie inside.
inline constexpr double kBandDeviations = 1.2816;

// Low and high of an estimate whose step and parts are known.
void set_band(StepEstimate&, const ModelSpec&, const Plan&, const Profile&);

}  // namespace pleat
