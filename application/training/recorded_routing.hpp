// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How unevenly a measured step's router spread the tokens: what a prediction of that very step is
// to be made with, for nobody knows it before.
#pragma once

#include "backend/trainer.hpp"
#include "core/program/program.hpp"

namespace pleat {

// Routed rows of the busiest rank of an expert-parallel group over the mean, averaged over groups,
// layers and microbatches of the last step: WorkloadSpec::imbalance of what was measured. At least
// 1; 1 where nothing was routed.
[[nodiscard]] double recorded_imbalance(const Program&, const TrainResult&);

}  // namespace pleat
