// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The words of a plan's summary, each with what it is about.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/plan.hpp"

namespace pleat {

enum class PlanTopic : std::uint8_t {
  parallel,  // TP1 CP1 DP128 PP2 VPP8
  experts,   // ETP1 EP32 EDP4
  batch,     // mbs1 group4
  formats,   // mxfp8 grads=bf16
  exchange,  // hybridep ep-overlap
  memory,    // zero1 recompute=moe_act
  run,       // zb-h1 graph=partial
  layout     // layout=Et*4|(t*4|)*14tmL
};

struct PlanPart {
  PlanTopic topic;
  std::string text;
  bool operator==(const PlanPart&) const = default;
};

// In the order of the summary, which is them with blanks between.
[[nodiscard]] std::vector<PlanPart> plan_parts(const Plan&);

}  // namespace pleat
