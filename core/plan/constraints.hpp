// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Named rules that a plan must satisfy, each with a reason and numbers. The planner's enumeration
// and the independent check of a plan from a file or a command line use this same list.
#pragma once

#include <string>
#include <vector>

#include "core/diagnostics.hpp"
#include "core/plan/plan.hpp"
#include "core/spec/model.hpp"
#include "core/spec/workload.hpp"

namespace pleat {

struct PlanContext {
  const ModelSpec& model;
  const WorkloadSpec& workload;
  const Plan& plan;
  int gpus = 0;  // world size asked for
};

struct Violation {
  std::string rule;     // "experts-divisible"
  std::string path;     // "expert.ep"
  std::string message;  // "160 experts cannot be split over EP 64"
  std::string hint;     // "divisors up to 64: 1 2 4 …"
  ExitCode code = ExitCode::bad_request;  // bad_file only where a limit of the format is passed
  bool operator==(const Violation&) const = default;
};

struct Constraint {
  const char* name;
  // Appends at most one violation. Must not allocate when the rule holds (but that of
  // stages, where the plan names any).
  bool (*holds)(const PlanContext&);
  Violation (*explain)(const PlanContext&);  // called only when !holds
  // Whether it looks at model, workload, degrees, order, chunks, layout and microbatches alone.
  bool of_mesh = false;
};

[[nodiscard]] const std::vector<Constraint>& constraints();
[[nodiscard]] std::vector<Violation> violations(const PlanContext&);

// Throws ConfigError with every violation. `where` names the file or flag the plan came from.
void require_valid(const PlanContext&, const std::string& where);

}  // namespace pleat
