// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A Megatron command line, or a configuration of another framework: the plan that it means.
#include <fmt/format.h>

#include "application/exchange/import.hpp"
#include "application/exchange/megatron_job.hpp"
#include "console/output.hpp"
#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"
#include "core/plan/constraints.hpp"
#include "core/spec/catalog.hpp"
#include "interop/bridge_import.hpp"
#include "interop/keyed_import.hpp"
#include "interop/yaml_text.hpp"

namespace pleat {
const std::string& only_file(const ImportOptions& o) {
  if (o.files.size() != 1) {
    throw_config_error(ExitCode::bad_request, o.kind, "",
                       fmt::format("{} files given, one is read", o.files.size()), "one file");
  }
  return o.files.front();
}

namespace {

// Notes, and the plan file.
void finish(const ImportOptions& o, interop::ImportedRun& run,
            const std::vector<std::string>& unpriced) {
  const std::string& path = o.files.front();
  PlanDocument& d = run.document;
  if (o.model.empty() && !o.name.empty()) d.model_name = o.name;
  d.cluster = o.cluster.empty() ? "h100-sxm" : o.cluster;
  if (o.cluster.empty()) run.assumed.push_back("--cluster h100-sxm");
  d.provenance = fmt::format("pleat import {} {}", o.kind, path);
  require_valid({d.model, d.workload, d.plan, d.gpus}, path);
  for (const std::string& assumption : run.assumed) note("assumed: " + assumption);
  for (const std::string& argument : run.ignored) note("no counterpart: " + argument);
  for (const std::string& flag : unpriced) note("not priced: " + flag);
  const std::string text = write_plan_document(d);
  if (o.output.file.empty())
    print(text);
  else
    write_output(o.output, o.output.file, text);
}

}  // namespace

void import_megatron_arguments(const ImportOptions& o) {
  check_output(o.output);
  MegatronJob job = read_megatron_job({.files = o.files,
                                       .set = o.set,
                                       .model = o.model,
                                       .vocab = o.vocab,
                                       .gpus = o.gpus,
                                       .command = o.command});
  finish(o, job.run, job.unpriced);
}

void import_bridge_config(const ImportOptions& o) {
  check_output(o.output);
  const std::string& path = only_file(o);
  RecipeOptions recipe = o.recipe;
  if (is_recipe(path))
    recipe.gpu = load_cluster(o.cluster.empty() ? "h100-sxm" : o.cluster).gpu.name;
  const std::string text =
      is_recipe(path) ? read_bridge_recipe(path, recipe) : read_text_file(path);
  interop::ImportChoices choices{.gpus = o.gpus, .vocab = o.vocab, .model = {}};
  if (!o.model.empty()) choices.model = load_model(o.model).model;
  interop::ImportedRun run = interop::import_arguments(
      interop::read_bridge_config(interop::read_yaml(text, path), path), choices, path);
  finish(o, run, {});
}

void import_keyed_config(const ImportOptions& o) {
  check_output(o.output);
  const std::string& path = only_file(o);
  interop::ImportChoices choices{.gpus = o.gpus, .vocab = o.vocab, .model = {}};
  choices.seq_len = o.seq_len.value_or(0);
  if (!o.model.empty()) choices.model = load_model(o.model).model;
  const interop::KeyedFormat format = o.kind == "torchtitan"  ? interop::KeyedFormat::torchtitan
                                      : o.kind == "deepspeed" ? interop::KeyedFormat::deepspeed
                                                              : interop::KeyedFormat::nemo;
  interop::KeyedRun read = interop::import_keys(format, read_text_file(path), choices, path);
  if (!o.model.empty()) read.run.document.model_name = o.model;
  finish(o, read.run, read.unpriced);
}

}  // namespace pleat
