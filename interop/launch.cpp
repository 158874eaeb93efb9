// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What all launchers share, and the launcher of Open MPI.
#include "interop/launch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics.hpp"
#include "interop/job_variables.hpp"
#include "interop/quoting.hpp"

namespace pleat::interop {
namespace {

bool is_duration(const std::string& text) {
  return !text.empty() && text.size() < 32 && text.front() >= '0' && text.front() <= '9' &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || c == ':' || c == '-'; });
}

bool is_clean(const std::string& text) { return one_line(text) == text; }

}  // namespace

void check_launch(const Launch& l) {
  Diagnostics problems;
  const auto problem = [&](const char* flag, std::string message, const char* hint) {
    problems.error(ExitCode::bad_request, flag, "", std::move(message), hint);
  };
  const auto plain = [&](const char* flag, const std::string& value) {
    if (!value.empty() && !is_plain_name(value)) {
      problem(flag, "'" + one_line(value) + "' is not a plain name",
              "letters, digits, dots, dashes and underscores, at most 128");
    }
  };
  const LaunchSlots& s = l.slots;
  if (s.name.empty()) problem("--job-name", "is empty", "a name");
  plain("--job-name", s.name);
  plain("--partition", s.partition);
  plain("--account", s.account);
  plain("--qos", s.qos);
  plain("--reservation", s.reservation);
  const auto kubernetes = [&](const char* flag, const std::string& value, bool dots) {
    if (value.empty() || is_dns_name(value, dots)) return;
    problem(flag, "'" + one_line(value) + "' is not a name that Kubernetes takes",
            dots ? "lower-case letters, digits, dashes and dots between them, at most 253"
                 : "lower-case letters, digits and dashes between them, at most 63");
  };
  kubernetes("--namespace", s.k8s_namespace, false);
  kubernetes("--queue", s.queue, true);
  kubernetes("--claim", s.claim, true);
  // Slurm wants the nodes of a job to be whole segments (sbatch --segment).
  if (const int nodes = std::max(1, l.nodes()); s.segment > 0 && nodes % s.segment != 0) {
    problem("--segment", fmt::format("{} nodes are no multiple of {}", nodes, s.segment),
            "a divisor of the nodes");
  }
  if (!is_duration(s.time))
    problem("--time", "'" + one_line(s.time) + "' is no time limit", "days-hours:minutes:seconds");
  const auto clean = [&](const char* flag, const std::string& value) {
    if (!is_clean(value)) problem(flag, "has a line break or another control character", "");
  };
  clean("--script", s.script);
  clean("--image", s.image);
  clean("--mounts", s.mounts);
  clean("--hostfile", s.hostfile);
  for (const std::string& word : s.extra) clean("--arg", word);
  if (s.script.empty() || s.script.front() == '-')
    problem("--script", "'" + one_line(s.script) + "' is no path of a script", "pretrain_gpt.py");
  if (l.gpus > l.gpus_per_node && l.gpus % l.gpus_per_node != 0) {
    problem("--gpus", fmt::format("{} GPUs do not fill nodes of {}", l.gpus, l.gpus_per_node),
            "--gpus-per-node of the machine");
  }
  problems.throw_if_errors();
}

Exported pleat_arguments(const std::string& plan_file, bool on_gpus, const std::string& version) {
  Exported e;
  e.framework = "Pleat";
  e.version = version;
  e.settings = {{"--plan", {plan_file}}};
  if (on_gpus) {
    e.settings.push_back({"--device", {"cuda"}});
    e.settings.push_back({"--collectives", {"nccl"}});
  }
  return e;
}

std::vector<std::pair<std::string, std::string>> job_environment(const Launch& l) {
  std::vector<std::pair<std::string, std::string>> list = l.exported.environment;
  if (!l.on_gpus) return list;
  // Megatron-Bridge's performance launcher sets this one, too, and AVOID_RECORD_STREAMS below.
  list.emplace_back("NCCL_NVLS_ENABLE", "0");  // its buffers cost memory
  list.emplace_back("NCCL_DEBUG", "WARN");
  if (l.nvlink_domain > l.gpus_per_node) list.emplace_back("NCCL_MNNVL_ENABLE", "1");
  if (l.trainer == Trainer::pleat) return list;
  list.emplace_back("TORCH_NCCL_AVOID_RECORD_STREAMS", "1");
  list.emplace_back("TORCH_NCCL_TRACE_BUFFER_SIZE", "2000");  // a hang leaves a record
  if (l.hybridep && l.nvlink_domain > l.gpus_per_node) {
    list.emplace_back("USE_MNNVL", "1");
    list.emplace_back("NVLINK_DOMAIN_SIZE", std::to_string(l.nvlink_domain));
  }
  if (l.hybridep) {
    list.emplace_back("NUM_OF_HYBRID_EP_RANKS_PER_NVLINK_DOMAIN",
                      std::to_string(std::min(l.expert_parallel, l.nvlink_domain)));
  }
  return list;
}

std::vector<std::string> script_arguments(const Launch& l) {
  std::vector<std::string> words;
  for (const Setting& s : l.exported.settings) {
    if (s.name == "--moe-aux-loss-coeff") continue;  // a variable of the job
    words.push_back(s.name);
    words.insert(words.end(), s.values.begin(), s.values.end());
  }
  if (l.trainer == Trainer::megatron) {
    words.emplace_back("--exit-signal-handler");  // a checkpoint at SIGTERM; Pleat needs no flag
    // What `pleat import megatron-log` reads.
    words.insert(words.end(), {"--log-interval", "1", "--log-throughput"});
    // Probabilities in fp32, as Megatron's recipes.
    if (l.moe) words.insert(words.end(), {"--moe-router-dtype", "fp32"});
    if (l.slots.trial) words.insert(words.end(), {"--eval-iters", "0"});
  }
  words.insert(words.end(), l.slots.extra.begin(), l.slots.extra.end());
  return words;
}

std::string arguments_text(const Launch& l) {
  std::string text = fmt::format("# {}\n# for {} {}\n", one_line(l.title), l.exported.framework,
                                 l.exported.version);
  for (const Remark& r : l.exported.missing) {
    text += "# no counterpart: " + one_line(fmt::format("{} = {}: {}", r.field, r.value, r.text)) +
            "\n";
  }
  for (const auto& [name, value] : job_environment(l))
    text += fmt::format("export {}={}\n", name, shell_word(value, name));
  // SC2016, SC1003: words of the person that look like shell are meant as they are.
  text += fmt::format("# shellcheck disable=SC2016,SC1003\n{}=(",
                      l.trainer == Trainer::pleat ? "PLEAT_ARGS" : "MEGATRON_ARGS");
  for (const std::string& word : script_arguments(l))
    text += (word.starts_with("--") ? "\n  " : " ") + shell_word(word, "--arg");
  return text + "\n)\n";
}

// Open MPI: ranks from its environment.

namespace {

std::string script_head(const Launch& l) {
  return "#!/bin/bash\nset -euo pipefail\n\n" + variables_text(l) + arguments_text(l) +
         use_variables_text(l);
}

// Every node has to have its GPUs before anything starts.
std::string check_gpus(const Launch& l) {
  return fmt::format(
      "\n# Every node has to have its GPUs before anything starts.\n"
      "# shellcheck disable=SC2016\n"
      "mpirun -N 1 -np {0}{2} bash -c 'test \"$(nvidia-smi --list-gpus | wc -l)\" -ge \"$1\"' "
      "check {1}\n",
      std::max(1, l.nodes()), l.ranks_per_node(),
      l.slots.hostfile.empty() ? "" : " --hostfile " + shell_word(l.slots.hostfile, "--hostfile"));
}

// Ranks on CPUs may be more than the cores.
std::string pleat_text(const Launch& l) {
  std::string text = script_head(l);
  text += fmt::format("\nlauncher=(mpirun -N {}{} --bind-to none)\n", l.ranks_per_node(),
                      l.on_gpus ? "" : " --oversubscribe");
  if (!l.slots.hostfile.empty())
    text += "launcher+=(--hostfile " + shell_word(l.slots.hostfile, "--hostfile") + ")\n";
  for (const auto& [name, value] : job_environment(l)) text += "launcher+=(-x " + name + ")\n";
  if (l.on_gpus) text += check_gpus(l);
  return text +
         fmt::format(
             "\n# Further arguments of this file go to `pleat train`: data, steps, learning rate.\n"
             "exec \"${{launcher[@]}}\" -np {} \\\n  pleat train{} \"${{PLEAT_ARGS[@]}}\" "
             "\"$@\"\n",
             l.gpus, l.slots.trial ? "" : " --resume");
}

}  // namespace

std::string local_text(const Launch& l) {
  std::string text = script_head(l);
  if (l.trainer == Trainer::pleat) {
    return text + fmt::format("\nexec pleat train{} \"${{PLEAT_ARGS[@]}}\" \"$@\"\n",
                              l.slots.trial ? "" : " --resume");
  }
  return text + fmt::format(
                    "\nexec torchrun --standalone --nproc-per-node {} \\\n  {} "
                    "\"${{MEGATRON_ARGS[@]}}\" \"$@\"\n",
                    l.gpus, shell_word(l.slots.script, "--script"));
}

std::string mpirun_text(const Launch& l) {
  if (l.trainer == Trainer::pleat) return pleat_text(l);
  const LaunchSlots& s = l.slots;
  std::string text = script_head(l);
  text += fmt::format(
      "\n# The node of rank 0, and a port that is free there.\n"
      "export MASTER_ADDR=\"${{MASTER_ADDR:-$(hostname)}}\" "
      "MASTER_PORT=\"${{MASTER_PORT:-29500}}\"\n"
      "\nlauncher=(mpirun -N {} --bind-to none)\n",
      l.ranks_per_node());
  if (!s.hostfile.empty())
    text += "launcher+=(--hostfile " + shell_word(s.hostfile, "--hostfile") + ")\n";
  text += "for name in MASTER_ADDR MASTER_PORT";
  for (const auto& [name, value] : job_environment(l)) text += " " + name;
  text += "; do\n  launcher+=(-x \"$name\")\ndone\n" + check_gpus(l);
  text += fmt::format(
      "\n# Further arguments of this file go to the script: data, tokenizer, checkpoints.\n"
      "# shellcheck disable=SC2016\n"
      "exec \"${{launcher[@]}}\" -np {} \\\n  bash -c 'export RANK=\"$OMPI_COMM_WORLD_RANK\" "
      "LOCAL_RANK=\"$OMPI_COMM_WORLD_LOCAL_RANK\" WORLD_SIZE=\"$OMPI_COMM_WORLD_SIZE\"; exec "
      "python3 "
      "-u \"$@\"' rank \\\n  {} \"${{MEGATRON_ARGS[@]}}\" \"$@\"\n",
      l.gpus, shell_word(s.script, "--script"));
  return text;
}

}  // namespace pleat::interop
