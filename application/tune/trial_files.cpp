// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/tune/trial_files.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <filesystem>

#include "application/launch/plan_launch.hpp"
#include "application/launch/slurm_job.hpp"
#include "console/write_file.hpp"
#include "core/diagnostics.hpp"
#include "core/environment.hpp"
#include "interop/quoting.hpp"

namespace pleat {
namespace {

namespace fs = std::filesystem;

interop::Trainer trainer_of(const Target& t) {
  return t.runtime == Runtime::pleat ? interop::Trainer::pleat : interop::Trainer::megatron;
}

std::string our_job_file(const TrialsOptions& o, const interop::Launch& launch) {
  switch (o.on) {
    case TuneOn::local:
      return interop::local_text(launch);
    case TuneOn::mpirun:
      return interop::mpirun_text(launch);
    case TuneOn::slurm:
      return interop::slurm_text(launch);
  }
  PLEAT_ASSERT(false);
}

std::string slurm_flags(const interop::LaunchSlots& s) {
  std::string text;
  for (const auto& [flag, value] : {std::pair{"--partition", s.partition},
                                    {"--account", s.account},
                                    {"--qos", s.qos},
                                    {"--reservation", s.reservation}})
    if (!value.empty()) text += fmt::format(" {} {}", flag, value);
  return text;
}

// Jobs find this `pleat` first.
std::string path_with_us() {
  std::error_code ignored;
  const std::string here = fs::read_symlink("/proc/self/exe", ignored).parent_path().string();
  const std::string path = environment_variable("PATH").value_or("/usr/bin:/bin");
  return here.empty() ? path : here + ":" + path;
}

}  // namespace

std::string trial_folder(const TrialsOptions& o, int number) {
  return (fs::absolute(o.out) / fmt::format("trial-{:03}", number)).lexically_normal().string();
}

std::string trial_plan_file(const TrialsOptions& o, int number) {
  return trial_folder(o, number) + "/plan.json";
}

TrialJob trial_job(const TrialsOptions& o, const Target& t, int number) {
  TrialJob job;
  job.folder = trial_folder(o, number);
  // The folder makes the name unlike those of other tunings.
  const auto hash = static_cast<std::uint32_t>(XXH3_64bits(job.folder.data(), job.folder.size()));
  job.name = fmt::format("pleat-tune-{:08x}-{:03}", hash, number);
  job.script = o.script.empty() ? job.folder + "/job.sh" : fs::absolute(o.script).string();
  job.limit_seconds = o.trial_seconds;
  const std::string steps = std::to_string(o.steps), lr = fmt::format("{}", o.lr);
  const auto set = [&](const char* name, std::string value) {
    job.variables.emplace_back(name, std::move(value));
  };
  set("PATH", path_with_us());
  set("MASTER_PORT", std::to_string(29500 + number % 1000));  // of several on one node
  set("MIMALLOC_SHOW_ERRORS", "1");  // `pleat train` without memory then says so before it aborts
  if (!o.script.empty()) {
    set("PLEAT_TRIAL", std::to_string(number));
    set("PLEAT_TRIAL_PLAN", trial_plan_file(o, number));
    set("PLEAT_TRIAL_ARGS", job.folder + "/args.sh");
    set("PLEAT_TRIAL_FOLDER", job.folder);
    set("PLEAT_TRIAL_STEPS", steps);
    set("PLEAT_TRIAL_GPUS", std::to_string(t.gpus));
    return job;
  }
  if (t.runtime == Runtime::pleat) {
    set("DATA", o.data);
    set("STEPS", steps);
    set("LR", lr);
  } else {
    set("TRAIN_ITERS", steps);
    if (!environment_variable("LR")) set("LR", lr);
  }
  return job;
}

void write_trial_files(const TrialsOptions& o, const Target& t, int number,
                       const PlanDocument& document) {
  const TrialJob job = trial_job(o, t, number);
  const std::string plan_file = trial_plan_file(o, number);
  interop::LaunchSlots slots = o.slots;
  slots.name = job.name;
  slots.trial = true;
  const interop::Trainer trainer = trainer_of(t);
  const interop::Exported exported =
      launch_arguments(document, plan_file, trainer, t.cluster, o.version);
  const interop::Launch launch =
      launch_of(document, exported, trainer, t.cluster, o.gpus_per_node, slots);
  check_launch(launch);
  make_folder(job.folder);
  write_file(plan_file, write_plan_document(document));
  if (!o.script.empty()) {
    write_file(job.folder + "/args.sh", interop::arguments_text(launch));
    return;
  }
  write_file(job.script, our_job_file(o, launch));
  check_job_file(job.script, job.variables);
}

std::string winner_command(const TrialsOptions& o, const Target& t, const std::string& plan_file) {
  const std::string file = interop::shell_word(plan_file, "--out");
  if (!o.script.empty()) {
    return fmt::format("{} {}, with the arguments that `pleat {} {}` says",
                       o.on == TuneOn::slurm ? "sbatch" : "bash", o.script,
                       t.runtime == Runtime::pleat ? "train --plan" : "export --to megatron", file);
  }
  switch (o.on) {
    case TuneOn::slurm:
      return "pleat launch --to slurm " + file + slurm_flags(o.slots) + " --run";
    case TuneOn::mpirun:
      return "pleat launch --to mpirun " + file + " -o job.sh && bash job.sh";
    case TuneOn::local:
      return t.runtime == Runtime::pleat
                 ? "pleat train --plan " + file + " --data " + interop::shell_word(o.data, "--data")
                 : "pleat launch --to mpirun " + file + " -o job.sh && bash job.sh";
  }
  PLEAT_ASSERT(false);
}

}  // namespace pleat
