// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the simulator says of a run that a log or a plan file describes.
#pragma once

#include <string>

#include "core/plan/plan_document.hpp"
#include "simulator/estimate.hpp"

namespace pleat {

struct PricedDocument {
  StepEstimate estimate;
  std::string profile;  // its name
};

// `cluster` and `profile` are names or files; an empty profile: the usual one of the cluster and
// the runtime, else datasheet efficiencies. Throws ConfigError for what cannot be read, and for a
// plan that breaks a rule, at `where`.
[[nodiscard]] PricedDocument price_document(const PlanDocument&, const std::string& cluster,
                                            const std::string& profile, const std::string& where);

}  // namespace pleat
