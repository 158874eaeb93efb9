// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A Megatron command line: the plan that it means.
#include "application/exchange/import.hpp"
#include "application/exchange/megatron_job.hpp"

#include <fmt/format.h>

#include "console/output.hpp"
#include "core/diagnostics.hpp"
#include "core/plan/constraints.hpp"

namespace pleat {
const std::string& only_file(const ImportOptions& o) {
  if (o.files.size() != 1) {
    throw_config_error(ExitCode::bad_request, o.kind, "",
                       fmt::format("{} files given, one is read", o.files.size()), "one file");
  }
  return o.files.front();
}

void import_megatron_arguments(const ImportOptions& o) {
  check_output(o.output);
  const std::string& path = o.files.front();
  MegatronJob job = read_megatron_job({.files = o.files,
                                       .set = o.set,
                                       .model = o.model,
                                       .vocab = o.vocab,
                                       .gpus = o.gpus,
                                       .command = o.command});
  interop::ImportedRun& run = job.run;
  PlanDocument& d = run.document;
  if (o.model.empty() && !o.name.empty()) d.model_name = o.name;
  d.cluster = o.cluster.empty() ? "h100-sxm" : o.cluster;
  if (o.cluster.empty()) run.assumed.push_back("--cluster h100-sxm");
  d.provenance = "pleat import megatron-args " + path;
  require_valid({d.model, d.workload, d.plan, d.gpus}, path);
  for (const std::string& assumption : run.assumed) note("assumed: " + assumption);
  for (const std::string& argument : run.ignored) note("no counterpart: " + argument);
  for (const std::string& flag : job.unpriced) note("not priced: " + flag);
  const std::string text = write_plan_document(d);
  if (o.output.file.empty())
    print(text);
  else
    write_output(o.output, o.output.file, text);
}

}  // namespace pleat
