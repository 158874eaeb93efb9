// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_options.hpp"

#include <CLI/CLI.hpp>

#include "application/request/plan_values.hpp"
#include "cli/option_checks.hpp"
#include "cli/option_choices.hpp"
#include "cli/options/shared_options.hpp"

namespace pleat::cli {
namespace {

const char* const kWorkload = "Workload";
const char* const kShape = "Plan";

void add_option(CLI::App& app, const ShapeOption& o, std::optional<int>& value) {
  app.add_option("--" + o.name, value, o.help)
      ->check(in_range(1, static_cast<int>(o.most)))
      ->group(kShape);
}
void add_option(CLI::App& app, const ShapeOption& o, std::optional<double>& value) {
  app.add_option("--" + o.name, value, o.help)->check(in_range(0.0, o.most))->group(kShape);
}
void add_option(CLI::App& app, const ShapeOption& o, std::optional<std::string>& value) {
  CLI::Option* const option = app.add_option("--" + o.name, value, o.help)->group(kShape);
  if (!o.words.empty()) option->check(offers(o.words));
}
void add_option(CLI::App& app, const ShapeOption& o, bool& value) {
  app.add_flag("--" + o.name, value, o.help)->group(kShape);
}

}  // namespace

void add_target_options(CLI::App& app, TargetOptions& o) {
  const auto describe = [&](const char* name, auto& value, const char* text) {
    return app.add_option(name, value, text)->group(kWorkload);
  };
  describe("-m,--model", o.model,
           "Name of a shipped model (`pleat models`), a Hugging Face config.json, or a size such "
           "as 400B-A20B for a typical model of it")
      ->check(offers_configs(ConfigKind::model));
  describe("-c,--cluster", o.cluster,
           "Name of a shipped cluster (`pleat clusters`) or a cluster file")
      ->check(offers_configs(ConfigKind::cluster));
  describe("-n,--gpus", o.gpus, "GPUs in the job")->check(in_range(1, kMaxDegree));
  add_seq_len(app, o.seq_len, "Tokens of a sequence")->group(kWorkload);
  add_global_batch(app, o.global_batch, "Sequences of a step, over all GPUs")->group(kWorkload);
  describe("--runtime", o.runtime,
           "Dialect to compile for: megatron or pleat (default: the profile's, else pleat on "
           "localhost and megatron elsewhere)")
      ->check(offers(runtime_words()));
  describe("--profile", o.profile,
           "Profile name or file (default: NAME-RUNTIME.json beside the cluster's file, the newest "
           "of the cluster and runtime, that of a cluster with the same GPU, else datasheet "
           "efficiencies)")
      ->check(offers_configs(ConfigKind::profile));
  describe("--capacity-factor", o.capacity_factor,
           "Tokens an expert takes, over the balanced mean; the rest are dropped (default: none)")
      ->check(in_range(0.0, 1e6));
  describe("--straggler-slowdown", o.straggler_slowdown,
           "Expected slow-down of the slowest rank over the mean, 0.02 for 2% (default: none)")
      ->check(in_range(0.0, 1e3));
  describe("--documents", o.documents,
           "Lengths of the documents that sequences are packed from, with commas, equally frequent "
           "(default: one document a sequence)")
      ->delimiter(',')
      ->check(in_range(std::int64_t{1}, kMaxTokens));
  add_routing_options(app, o.routing, kWorkload);
  app.add_flag("--unbound-ranks", o.unbound_ranks,
               "Ranks are not bound to the cores next to their GPU (numactl, bindpcie): the host "
               "takes longer")
      ->group(kWorkload);
  app.add_flag("--pad-to-capacity", o.pad_to_capacity, "Pad every expert's tokens to its capacity")
      ->group(kWorkload);
  app.add_flag("--accept-mismatch", o.accept_mismatch,
               "Go on when a profile or a plan file was made for something else")
      ->group(kWorkload);
}

void add_shape_options(CLI::App& app, ShapeOptions& shape) {
  for (const ShapeOption& o : shape_options(shape)) {
    std::visit([&](auto* value) { add_option(app, o, *value); }, o.value);
  }
}

void add_plan_options(CLI::App& app, PlanOptions& o) {
  app.add_option("-p,--plan", o.plan_file, "A plan file; replaces all of the options below");
  add_target_options(app, o.target);
  add_shape_options(app, o.shape);
}

}  // namespace pleat::cli
