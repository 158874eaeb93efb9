// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A command line turned into checked specs: which model, cluster, profile, workload and plan, and
// what was assumed because nobody said it.
#pragma once

#include <string>
#include <vector>

#include "cli/plan_options.hpp"
#include "core/plan/plan.hpp"
#include "core/plan/plan_document.hpp"
#include "core/program/program.hpp"
#include "core/spec/cluster.hpp"
#include "core/spec/model.hpp"
#include "core/spec/profile.hpp"
#include "core/spec/workload.hpp"

namespace pleat::cli {

// What is to be planned, without a plan.
struct Target {
  ModelSpec model;
  ClusterSpec cluster;
  Profile profile;
  WorkloadSpec workload;
  Runtime runtime = Runtime::megatron;
  int gpus = 1;
  bool accept_mismatch = false;
  std::vector<std::string> assumed;  // "--tp 1"
};

struct Request {
  Target target;
  Plan plan;
};

// ConfigError names every missing or wrong option. Each of model, cluster, gpus, seq_len and
// global_batch must be given.
[[nodiscard]] Target resolve_target(const TargetOptions&);

// A plan from flags, or from --plan; satisfies every named rule, else ConfigError.
[[nodiscard]] Request resolve_request(const PlanOptions&);

// The plan that the flags mean on this target, rules checked; `assumed` gets what was not given.
// `where` stands before the messages: the flag they came from, or empty.
[[nodiscard]] Plan resolve_shape(const ShapeOptions&, const Target&, const std::string& where,
                                 std::vector<std::string>& assumed);

[[nodiscard]] Precision default_precision(Runtime);
[[nodiscard]] Program compile_request(const Request&);
// What `--out` writes; without a prediction.
[[nodiscard]] PlanDocument document_of(const Request&, const std::string& provenance);

// "assumed: --tp 1, --cp 1 …" and a newline; empty when nothing was.
[[nodiscard]] std::string assumed_text(const std::vector<std::string>&);

}  // namespace pleat::cli
