// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What single pipeline stages recompute and offload, as it is typed: stages or ranges of them with
// what they do, slashes between: "0=full/1-2=moe_act+layernorm".
#pragma once

#include <string>

#include "core/plan/plan.hpp"

namespace pleat {

// Both add to plan.stages; what a stage is not told is as the plan's, which must be set before.
// ConfigError (bad_request) names the part that is wrong. `words` as of --recompute and --offload.
void put_stage_recompute(const std::string& words, const std::string& flag, Plan&);
void put_stage_offload(const std::string& words, const std::string& flag, Plan&);

}  // namespace pleat
