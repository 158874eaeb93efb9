// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What is to be planned, and a plan for it: what every command works on once its words are read.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/plan/plan_document.hpp"
#include "core/program/program.hpp"
#include "planner/problem.hpp"

namespace pleat {

// What is to be planned, without a plan.
struct Target : Problem {
  Runtime runtime = Runtime::megatron;
  int gpus = 1;
  bool accept_mismatch = false;
  std::vector<std::string> assumed;  // "--tp 1"
};

struct Request {
  Target target;
  Plan plan;
};

[[nodiscard]] Program compile_request(const Request&);
// What `--out` writes; without a prediction.
[[nodiscard]] PlanDocument document_of(const Request&, const std::string& provenance);

// "assumed: --tp 1, --cp 1 …" and a newline; empty when nothing was.
[[nodiscard]] std::string assumed_text(const std::vector<std::string>&);

}  // namespace pleat
