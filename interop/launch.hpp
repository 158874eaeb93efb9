// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Job files that run a plan with Megatron-LM or with `pleat train`. They are only written; nothing
// is started. Text that comes from outside is quoted or refused.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "interop/exported.hpp"

namespace pleat::interop {

enum class Trainer { megatron, pleat };
enum class ContainerEngine { pyxis, apptainer };                  // under Slurm
enum class JobKind { train_job, pytorch_job, job_set, mpi_job };  // of Kubernetes

// What the user says about the job. What is empty is left out of the file.
struct LaunchSlots {
  std::string name = "pleat";                        // of the job: a plain name
  std::string script = "pretrain_gpt.py";            // of Megatron-LM
  std::vector<std::string> extra;                    // further arguments of the script
  std::string time = "24:00:00";                     // Slurm
  std::string partition, account, qos, reservation;  // Slurm: plain names
  int segment = 0;                                   // Slurm: nodes of one block (NVLink domain)
  std::string image, mounts;                         // container; mounts as "from:to,from:to"
  ContainerEngine engine = ContainerEngine::pyxis;   // Slurm
  std::string hostfile;                              // mpirun
  std::string k8s_namespace, queue;                  // Kubernetes: plain names
  std::string claim;  // Kubernetes: a volume claim, mounted at /workspace
  JobKind kind = JobKind::train_job;
  int grace_seconds = 300;  // before the job ends, to save a last checkpoint
  // A trial of a few steps: no checkpoints, no evaluation, under Slurm not queued again and, if
  // smaller than a node, beside others.
  bool trial = false;
};

struct Launch {
  const Exported& exported;  // for Megatron-LM, or pleat_arguments()
  Trainer trainer = Trainer::megatron;
  bool on_gpus = true;  // false: ranks of Pleat that compute on CPUs
  std::string title;
  int gpus = 1, gpus_per_node = 8;
  int nvlink_domain = 8;  // ranks of the innermost network tier
  int expert_parallel = 1;
  bool hybridep = false;
  bool moe = false;   // of the model
  bool binds = true;  // ranks to the cores next to their GPU
  LaunchSlots slots;
  [[nodiscard]] int nodes() const { return gpus / gpus_per_node; }
  [[nodiscard]] int ranks_per_node() const { return gpus < gpus_per_node ? gpus : gpus_per_node; }
};

// Throws ConfigError (bad_request), which names the option, if a name is not plain, a text has a
// line break, or the GPUs do not fill whole nodes.
void check_launch(const Launch&);

// The arguments of `pleat train`: the plan file, and what ranks on GPUs need.
[[nodiscard]] Exported pleat_arguments(const std::string& plan_file, bool on_gpus,
                                       const std::string& version);

[[nodiscard]] std::string slurm_text(const Launch&);
[[nodiscard]] std::string mpirun_text(const Launch&);
[[nodiscard]] std::string local_text(const Launch&);  // this host: one process, or torchrun
[[nodiscard]] std::string kubernetes_text(const Launch&);

// Used by the texts above. The environment variables of the job, by name.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> job_environment(const Launch&);
// The arguments of the script: those of the export, those for a clean stop, those of the user.
[[nodiscard]] std::vector<std::string> script_arguments(const Launch&);
// The same as a shell array, "MEGATRON_ARGS=( … )" or "PLEAT_ARGS=( … )", with comments.
[[nodiscard]] std::string arguments_text(const Launch&);

}  // namespace pleat::interop
