// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A command line turned into checked specs: which model, cluster, profile, workload and plan, and
// what was assumed because nobody said it.
#pragma once

#include <string>
#include <vector>

#include "application/request/plan_words.hpp"
#include "application/target.hpp"

namespace pleat {

// ConfigError names every missing or wrong option. Each of model, cluster, gpus, seq_len and
// global_batch must be given.
[[nodiscard]] Target resolve_target(const TargetOptions&);

// What a plan file was made for, where no flag says otherwise. ConfigError (verification) where
// --model, --cluster or --gpus contradict it, unless --accept-mismatch.
[[nodiscard]] Target target_of_plan(const TargetOptions&, const PlanDocument&);

// The same degrees on another number of GPUs: data parallelism takes up the difference. ConfigError
// (bad_request) where it cannot.
void move_to_gpus(PlanDocument&, int gpus, const std::string& file);

// A plan from flags, or from --plan; satisfies every named rule, else ConfigError.
[[nodiscard]] Request resolve_request(const PlanOptions&);

// The plan that the flags mean on this target, rules checked; `assumed` gets what was not given.
// `where` stands before the messages: the flag they came from, or empty.
[[nodiscard]] Plan resolve_shape(const ShapeOptions&, const Target&, const std::string& where,
                                 std::vector<std::string>& assumed);

// bf16; of the runtime Pleat on CPUs, which compute in fp32 whatever they store, fp32.
[[nodiscard]] Precision default_precision(Runtime, const ClusterSpec&);

}  // namespace pleat
