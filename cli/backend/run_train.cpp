// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/backend/run_commands.hpp"

#include <fmt/format.h>

#include "application/request/request.hpp"
#include "application/training/train_and_compare.hpp"
#include "console/write_file.hpp"
#include "core/diagnostics.hpp"

namespace pleat::cli {
namespace {

// The bundled backend's machine is the default place, its dialect the only one it runs.
PlanOptions for_this_machine(PlanOptions o) {
  if (o.plan_file.empty() && o.target.cluster.empty()) o.target.cluster = "localhost";
  if (o.target.runtime.empty() && o.target.profile.empty()) o.target.runtime = "pleat";
  return o;
}

// The default place is this machine's CPU.
void require_cluster(const TrainOptions& o, const PlanOptions& plan) {
  if (o.device.device == "cpu" || !plan.plan_file.empty() || !plan.target.cluster.empty()) return;
  throw_config_error(
      ExitCode::bad_request, "--cluster", "",
      fmt::format("with --device {} it is not said which GPUs these are", o.device.device),
      "--cluster h200-sxm, or another of `pleat clusters`");
}

}  // namespace

void run_train(const TrainOptions& o, const PlanOptions& plan) {
  if (!o.trace_file.empty()) require_writable(o.trace_file);
  require_cluster(o, plan);
  PlanOptions asked = for_this_machine(plan);
  if (!o.from.empty() && asked.target.model.empty() && asked.plan_file.empty()) {
    asked.target.model = o.from + "/config.json";
  }
  train_and_compare(o, resolve_request(asked));
}

}  // namespace pleat::cli
