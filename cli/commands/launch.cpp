// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat launch
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "application/exchange/exported_plan.hpp"
#include "application/launch/follow_job.hpp"
#include "application/launch/plan_launch.hpp"
#include "application/launch/slurm_job.hpp"
#include "cli/commands/commands.hpp"
#include "cli/config/option_defaults.hpp"
#include "cli/option_checks.hpp"
#include "cli/option_choices.hpp"
#include "cli/options/shared_options.hpp"
#include "console/output.hpp"
#include "console/write_file.hpp"
#include "core/diagnostics.hpp"
#include "core/spec/catalog.hpp"
#include "interop/launch.hpp"

namespace pleat::cli {
namespace {

const std::vector<std::string> kLaunchers{"slurm", "kubernetes", "mpirun"};
const std::vector<std::string> kEngines{"pyxis", "apptainer"};
const std::vector<std::string> kKinds{"trainjob", "pytorchjob", "jobset", "mpijob"};

struct LaunchOptions {
  std::string launcher, plan_file, cluster, trainer, kind = "trainjob", engine = "pyxis";
  int gpus_per_node = 0;
  bool run = false;
  double interval = 10;
  interop::LaunchSlots slots;
  OutputOptions output;
};

void run_launch(LaunchOptions o) {
  check_output(o.output);
  if (o.run && !o.output.dry_run) require_slurm();  // before anything is written
  const PlanDocument document = load_plan_document(o.plan_file);
  const ClusterSpec cluster = load_cluster(o.cluster.empty() ? document.cluster : o.cluster);
  const bool pleat = o.trainer.empty() ? document.runtime == Runtime::pleat : o.trainer == "pleat";
  const auto trainer = pleat ? interop::Trainer::pleat : interop::Trainer::megatron;
  const interop::Exported exported =
      launch_arguments(document, o.plan_file, trainer, cluster, PLEAT_VERSION);
  const auto kind = std::find(kKinds.begin(), kKinds.end(), o.kind);
  o.slots.kind = static_cast<interop::JobKind>(kind - kKinds.begin());
  o.slots.engine = o.engine == "apptainer" ? interop::ContainerEngine::apptainer
                                           : interop::ContainerEngine::pyxis;
  const interop::Launch launch =
      launch_of(document, exported, trainer, cluster, o.gpus_per_node, o.slots);
  check_launch(launch);
  const std::string text = o.launcher == "slurm"    ? slurm_text(launch)
                           : o.launcher == "mpirun" ? mpirun_text(launch)
                                                    : kubernetes_text(launch);
  for (const interop::Remark& r : exported.missing)
    note("no counterpart: " + r.field + " = " + r.value + ": " + r.text);
  if (o.run && o.output.file.empty()) o.output.file = o.slots.name + ".sh";
  if (o.output.file.empty())
    print(text);
  else
    write_output(o.output, o.output.file, text);
  if (!o.run) return;
  if (o.output.dry_run) {
    note("would submit it with sbatch, and follow the job");
    return;
  }
  check_job_file(o.output.file);
  const std::string job = submit_to_slurm(o.output.file);
  note("submitted as job " + job);
  follow_slurm_job(job, o.plan_file, o.interval);
}

// What only another launcher reads would be lost without a word.
void refuse_ineffective_search_options(const CLI::App& command, const std::string& launcher) {
  static const std::vector<std::pair<std::string, std::string>> kGroups{
      {"Slurm", "slurm"}, {"Kubernetes", "kubernetes"}, {"mpirun", "mpirun"}};
  Diagnostics problems;
  for (const CLI::Option* option : command.get_options()) {
    if (!is_typed(*option)) continue;
    const auto group = std::ranges::find(kGroups, option->get_group(),
                                         &std::pair<std::string, std::string>::first);
    std::string reader = group == kGroups.end() ? launcher : group->second;
    if (option->get_name() == "--image" && launcher == "mpirun") reader = "slurm or kubernetes";
    if (reader == launcher) continue;
    problems.error(ExitCode::bad_request, "", option->get_name(),
                   "has no effect with --to " + launcher, "--to " + reader);
  }
  problems.throw_if_errors();
}

void add_slots(CLI::App& command, interop::LaunchSlots& s) {
  command.add_option("--job-name", s.name, "Name of the job")->capture_default_str();
  command.add_option("--script", s.script, "Megatron-LM's training script")->capture_default_str();
  command.add_option("--arg", s.extra, "A further argument of the script; may be repeated")
      ->expected(1)
      ->take_all();
  command.add_option("--image", s.image, "Container image (required for kubernetes)");
  command.add_option("--grace", s.grace_seconds, "Seconds for a checkpoint before the end")
      ->capture_default_str()
      ->check(in_range(30, 86'400));
  const auto slurm = [&](const char* name, auto& value, const char* what) {
    return command.add_option(name, value, what)->group("Slurm");
  };
  slurm("--time", s.time, "Time limit")->capture_default_str();
  slurm("--partition", s.partition, "Partition");
  slurm("--account", s.account, "Account");
  slurm("--qos", s.qos, "Quality of service");
  slurm("--reservation", s.reservation, "Reservation");
  slurm("--segment", s.segment, "Nodes that must share a block (NVLink domain; Slurm 23.11)")
      ->check(in_range(1, 1024));
  slurm("--mounts", s.mounts, "Mounts of the container beside the job's folder: FROM:TO,FROM:TO");
  command.add_option("--hostfile", s.hostfile, "Hosts of mpirun")->group("mpirun");
  const auto k8s = [&](const char* name, auto& value, const char* what) {
    return command.add_option(name, value, what)->group("Kubernetes");
  };
  k8s("--namespace", s.k8s_namespace, "Namespace");
  k8s("--queue", s.queue, "Kueue's queue");
  k8s("--claim", s.claim, "Volume claim for /workspace");
}

}  // namespace

void add_launch_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "launch", "A job file that runs a plan with Megatron-LM or Pleat; with --run, the job");
  const auto o = std::make_shared<LaunchOptions>();
  command->add_option("--to", o->launcher, "slurm, kubernetes or mpirun")
      ->required()
      ->check(one_of(kLaunchers));
  command->add_option("PLAN", o->plan_file, "A plan file")->required();
  command->add_option("-c,--cluster", o->cluster, "Cluster (default: the plan's)")
      ->check(offers_configs(ConfigKind::cluster));
  command
      ->add_option("--gpus-per-node", o->gpus_per_node, "GPUs of a node (default: the cluster's)")
      ->check(in_range(1, 1024));
  command->add_option("--kind", o->kind, "For kubernetes: trainjob, pytorchjob, jobset or mpijob")
      ->capture_default_str()
      ->check(one_of(kKinds))
      ->group("Kubernetes");
  command
      ->add_option("--trainer", o->trainer,
                   "megatron or pleat, with `pleat train` (default: the plan's runtime)")
      ->check(one_of({"megatron", "pleat"}));
  command->add_option("--container", o->engine, "What runs the image: pyxis (enroot) or apptainer")
      ->capture_default_str()
      ->check(one_of(kEngines))
      ->group("Slurm");
  command
      ->add_flag("--run", o->run,
                 "Submit the file (default: NAME.sh) and follow the job beside its prediction")
      ->group("Slurm");
  command->add_option("--interval", o->interval, "With --run: seconds between looks at the job")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 3600.0))
      ->group("Slurm");
  add_slots(*command, o->slots);
  add_output_options(*command, o->output, "the job file");
  command->footer(
      "Examples:\n"
      "  pleat launch --to slurm plan.json --partition gpu --account nlp -o job.sh\n"
      "  pleat launch --to kubernetes plan.json --image registry/megatron:26.08 --kind jobset\n"
      "  DATA=text CHECKPOINTS=ckpt STEPS=1000 LR=3e-4 pleat launch --to slurm plan.json --run\n"
      "  DATA=text CHECKPOINTS=ckpt STEPS=1000 LR=3e-4 sbatch job.sh\n"
      "Scripts for Slurm and mpirun begin with the variables that only you know: data, tokenizer,\n"
      "checkpoints, steps, learning rate. What else the trainer takes goes behind `sbatch job.sh`\n"
      "or into --arg. In Kubernetes all of them are --arg.");
  command->callback([&action, o, command] {
    action = [o, command] {
      refuse_ineffective_search_options(*command, o->launcher);
      run_launch(*o);
    };
  });
}

}  // namespace pleat::cli
