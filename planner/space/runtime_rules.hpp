// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a runtime does not run although the rules of plans allow it. A search leaves it out; `pleat
// predict` prices it all the same, and says so.
#pragma once

#include <string_view>

#include "core/plan/plan.hpp"
#include "core/spec/cluster.hpp"
#include "core/spec/model.hpp"
#include "core/spec/workload.hpp"

namespace pleat {

// Whether the weights themselves are kept and gathered in 8 bits.
[[nodiscard]] bool keeps_fp8_weights(const Plan&);

// Whether the CPU may make a step of these number formats, whatever the sharding. Megatron-LM's
// excludes weights kept in fp8, but for delayed scaling (training/arguments.py:1889).
[[nodiscard]] bool cpu_may_step(Runtime, const Plan&);

// Whether the runtime builds the pipeline's stages. Megatron-LM has prediction blocks on no first
// rank (core/transformer/pipeline_parallel_layer_layout.py:86).
[[nodiscard]] bool builds_layout(Runtime, const ModelSpec&, const Plan&);

// The rule that a step on the CPU breaks, whatever else the plan gives up; null: none.
[[nodiscard]] const char* refused_cpu_step(Runtime, const Plan&);

// The name of the rule that the plan breaks on such GPUs; null: none.
[[nodiscard]] const char* refused_by(Runtime, const ModelSpec&, const WorkloadSpec&, const Plan&,
                                     const GpuSpec&);

// Why, and what would be valid, as a sentence for whoever wrote such a plan. `rule`: of refused_by.
[[nodiscard]] std::string_view why_refused(std::string_view rule);

}  // namespace pleat
