// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a profile does not know: the band around a predicted step (docs/MODEL.md section 8).
#pragma once

#include "core/plan/plan.hpp"
#include "core/spec/model.hpp"
#include "core/spec/profile.hpp"
#include "simulator/estimate.hpp"

namespace pleat {

// How many times the GPUs of the largest run that the profile was fitted to; at least 1.
[[nodiscard]] double beyond_runs(int gpus, const Profile&);

// Half-width of low … high over the step: the profile's relative_band and the terms that the model
// and the plan call for, added as independent errors.
[[nodiscard]] double relative_band(const ModelSpec&, const Plan&, const Profile&);

// Low and high of an estimate whose step is known.
void set_band(StepEstimate&, const ModelSpec&, const Plan&, const Profile&);

}  // namespace pleat
