// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The plan document, plan.json: a plan with everything needed to price or run it, the model
// included. Reading what was written gives the same document to the bit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/json/json_value.hpp"
#include "core/plan/plan.hpp"
#include "core/spec/model.hpp"
#include "core/spec/profile.hpp"
#include "core/spec/workload.hpp"

namespace pleat {

inline constexpr int kPlanSchemaVersion = 1;

struct PlanPrediction {
  double step_seconds = 0;
  std::int64_t peak_bytes = 0;  // of the fullest rank
  bool operator==(const PlanPrediction&) const = default;
};

struct PlanDocument {
  int schema_version = kPlanSchemaVersion;
  std::string model_name;                   // as it was asked for, "deepseek-v3"
  std::optional<std::string> model_sha256;  // of the config file it was resolved from
  ModelSpec model;
  WorkloadSpec workload;
  std::string cluster;
  int gpus = 0;
  Runtime runtime = Runtime::megatron;
  Plan plan;
  std::optional<PlanPrediction> predicted;
  std::string provenance;  // who made the plan, from what
  bool operator==(const PlanDocument&) const = default;
};

[[nodiscard]] JsonValue plan_document_json(const PlanDocument&);
[[nodiscard]] std::string write_plan_document(const PlanDocument&);

// Strict: throws ConfigError (exit code bad_file) with every problem. Named constraints are not
// checked here; see require_valid.
[[nodiscard]] PlanDocument read_plan_document(const std::string& text,
                                              const std::string& file_name);

}  // namespace pleat
