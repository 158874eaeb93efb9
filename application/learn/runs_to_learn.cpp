// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/learn/runs_to_learn.hpp"

#include <fmt/format.h>

#include <memory>

#include "core/diagnostics.hpp"
#include "core/plan/constraints.hpp"
#include "core/program/program.hpp"
#include "core/spec/catalog.hpp"

namespace pleat {
namespace {

std::string what_ran(const std::string& model, int gpus, const Plan& plan) {
  return fmt::format("{} on {} GPUs: {}", model, gpus, summary(plan));
}

RunToLearn ready(const ModelSpec& model, const WorkloadSpec& workload, const Plan& plan,
                 Runtime runtime, const ClusterSpec& cluster, const std::string& era) {
  struct Priced {  // shared by the copies of the function
    Program program;
    ClusterSpec cluster;
    std::string era;
  };
  const auto priced =
      std::make_shared<const Priced>(Priced{compile(model, workload, plan, runtime), cluster, era});
  RunToLearn run;
  run.gpus = plan.world();
  run.use = band_use(model, plan);
  run.price = [priced](const Profile& profile) {
    return estimate(priced->program, priced->cluster, profile_of_era(profile, priced->era));
  };
  return run;
}

struct Origin {
  std::string where, cluster;
  Runtime runtime = Runtime::megatron;
};

Origin origin_of(const GivenRun& given) {
  if (const auto* row = std::get_if<MeasuredRun>(&given)) {
    return {row->where, row->cluster, Runtime::megatron};
  }
  const auto& log = std::get<LoggedRun>(given);
  return {log.file, log.document.cluster, log.document.runtime};
}

// A name or a file; of the runs, the first that says one.
std::string cluster_of(const std::vector<GivenRun>& given, const std::string& asked) {
  if (!asked.empty()) return asked;
  for (const GivenRun& run : given) {
    if (const std::string name = origin_of(run).cluster; !name.empty()) return name;
  }
  throw_config_error(ExitCode::bad_request, "--cluster", "",
                     "is required: a Megatron log does not name its GPUs",
                     "`pleat clusters` lists what ships");
}

void require_one_origin(const std::vector<GivenRun>& given, const ClusterSpec& cluster,
                        Runtime runtime) {
  Diagnostics problems;
  for (const GivenRun& run : given) {
    const Origin o = origin_of(run);
    if (!o.cluster.empty() && o.cluster != cluster.name) {
      problems.error(ExitCode::bad_file, o.where, "cluster",
                     fmt::format("ran on {}, not on {}", o.cluster, cluster.name),
                     "a profile is of one cluster: learn from the runs of each apart");
    }
    if (o.runtime != runtime) {
      problems.error(ExitCode::bad_file, o.where, "runtime",
                     fmt::format("is a run of {}, the first one is of {}", runtime_name(o.runtime),
                                 runtime_name(runtime)),
                     "a profile is of one runtime: learn from the runs of each apart");
    }
  }
  problems.throw_if_errors();
}

FoundProfile profile_to_begin(const std::string& asked, const std::string& cluster_name_or_path,
                              const ClusterSpec& cluster, Runtime runtime) {
  if (asked.empty()) {
    if (auto found = find_usual_profile(cluster_name_or_path, runtime)) return std::move(*found);
    return {"", datasheet_profile(cluster, runtime)};
  }
  Profile profile = load_profile(asked);
  if (profile.cluster != cluster.name || profile.runtime != runtime) {
    throw_config_error(ExitCode::verification, "--profile", "",
                       fmt::format("{} describes {} with the runtime {}, the runs are of {} with "
                                   "{}",
                                   profile.name, profile.cluster, runtime_name(profile.runtime),
                                   cluster.name, runtime_name(runtime)));
  }
  return {config_path(ConfigKind::profile, asked), std::move(profile)};
}

}  // namespace

RunToLearn run_to_learn(const LoggedRun& log, const ClusterSpec& cluster) {
  const PlanDocument& d = log.document;
  require_valid({d.model, d.workload, d.plan, d.gpus}, log.file);
  RunToLearn run = ready(d.model, d.workload, d.plan, d.runtime, cluster, "");
  run.file = log.file;
  run.name = log.file;
  run.what = fmt::format("{}, {} steps", what_ran(d.model_name, d.gpus, d.plan), log.steps);
  run.measured = log.seconds;
  return run;
}

RunToLearn run_to_learn(const MeasuredRun& row, const RunRequest& request, const Plan& plan,
                        double measured_seconds) {
  RunToLearn run =
      ready(request.model, request.workload, plan, Runtime::megatron, *request.cluster, row.era);
  run.file = row.where.substr(0, row.where.rfind(':'));
  run.name = row.id;
  run.what = what_ran(row.model_name, row.gpus, plan);
  run.measured = measured_seconds;
  return run;
}

RunsOfCluster runs_of_cluster(const std::vector<GivenRun>& given, const std::string& cluster,
                              const std::string& profile) {
  if (given.empty()) {
    throw_config_error(ExitCode::bad_file, "--from-runs", "", "the files hold no run",
                       "rows of `pleat validate`, Megatron logs, or a plan file and a log of "
                       "`pleat train`");
  }
  const std::string name = cluster_of(given, cluster);
  RunsOfCluster r;
  r.cluster = load_cluster(name);
  const Runtime runtime = origin_of(given.front()).runtime;
  require_one_origin(given, r.cluster, runtime);
  FoundProfile begin = profile_to_begin(profile, name, r.cluster, runtime);
  r.profile = std::move(begin.profile);
  r.profile_path = std::move(begin.path);
  RunCatalog catalog(r.profile, r.cluster);
  for (const GivenRun& one : given) {
    if (const auto* log = std::get_if<LoggedRun>(&one)) {
      r.runs.push_back(run_to_learn(*log, r.cluster));
      continue;
    }
    const auto& row = std::get<MeasuredRun>(one);
    const PreparedRun prepared = catalog.prepare(row);
    const auto leave_out = [&](const std::string& why) {
      r.left_out.push_back(fmt::format("{} ({}): {}", row.id, row.where, why));
    };
    if (!prepared.request) {
      leave_out(prepared.reason);
      continue;
    }
    const std::optional<MeasuredStep> step = measured_step(row, *prepared.request);
    if (!step) {
      leave_out("no step time, TFLOP/s or MFU was measured");
      continue;
    }
    const PredictedRun predicted = predict_run(*prepared.request);
    if (!predicted.prediction) {
      leave_out(predicted.reason);
      continue;
    }
    r.runs.push_back(
        run_to_learn(row, *prepared.request, predicted.prediction->plan, step->seconds));
  }
  return r;
}

}  // namespace pleat
