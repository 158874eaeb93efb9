// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One stage from its composition, with layer programs from wherever they are known.
#pragma once

#include <functional>

#include "core/program/program.hpp"
#include "core/program/stage_composition.hpp"

namespace pleat {

using LayerSource = std::function<SharedLayer(const LayerVariant&)>;

// Everything but the order of its slots, which the schedule decides.
[[nodiscard]] StageProgram assemble_stage(const ModelSpec&, const Plan&, Runtime, Stage,
                                          const StageComposition&, const LayerSource&);

[[nodiscard]] Schedule schedule_of(const Plan&, const WorkloadSpec&);

}  // namespace pleat
