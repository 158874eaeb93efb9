// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Open MPI: ranks from its environment.
#include <fmt/format.h>

#include "interop/launch.hpp"
#include "interop/quoting.hpp"

namespace pleat::interop {

namespace {

// Ranks are processes of CPUs, and may be more than the cores.
std::string pleat_text(const Launch& l) {
  std::string text = "#!/bin/bash\nset -euo pipefail\n\n" + arguments_text(l);
  text +=
      fmt::format("\nlauncher=(mpirun -N {} --oversubscribe --bind-to none)\n", l.ranks_per_node());
  if (!l.slots.hostfile.empty())
    text += "launcher+=(--hostfile " + shell_word(l.slots.hostfile, "--hostfile") + ")\n";
  return text +
         fmt::format(
             "\n# Further arguments of this file go to `pleat train`: data, steps, learning rate.\n"
             "exec \"${{launcher[@]}}\" -np {} \\\n  pleat train \"${{PLEAT_ARGS[@]}}\" \"$@\"\n",
             l.gpus);
}

}  // namespace

std::string mpirun_text(const Launch& l) {
  if (l.trainer == Trainer::pleat) return pleat_text(l);
  const LaunchSlots& s = l.slots;
  std::string text = "#!/bin/bash\nset -euo pipefail\n\n" + arguments_text(l);
  text += fmt::format(
      "# The node of rank 0, and a port that is free there.\n"
      "export MASTER_ADDR=\"${{MASTER_ADDR:-$(hostname)}}\" "
      "MASTER_PORT=\"${{MASTER_PORT:-29500}}\"\n"
      "\nlauncher=(mpirun -N {} --bind-to none)\n",
      l.ranks_per_node());
  if (!s.hostfile.empty())
    text += "launcher+=(--hostfile " + shell_word(s.hostfile, "--hostfile") + ")\n";
  text += "for name in MASTER_ADDR MASTER_PORT";
  for (const auto& [name, value] : job_environment(l)) text += " " + name;
  text += fmt::format(
      "; do\n  launcher+=(-x \"$name\")\ndone\n\n"
      "# Every node has to have its GPUs before anything starts.\n"
      "# shellcheck disable=SC2016\n"
      "mpirun -N 1 -np {0}{2} bash -c 'test \"$(nvidia-smi --list-gpus | wc -l)\" -ge \"$1\"' "
      "check "
      "{1}\n",
      std::max(1, l.nodes()), l.ranks_per_node(),
      s.hostfile.empty() ? "" : " --hostfile " + shell_word(s.hostfile, "--hostfile"));
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
