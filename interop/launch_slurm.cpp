// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One task a rank, so that signals reach the ranks themselves. Near the end of its time the job
// asks its ranks for a checkpoint and queues again; so does a job that failed after it had worked.
#include <fmt/format.h>

#include "interop/job_variables.hpp"
#include "interop/launch.hpp"
#include "interop/quoting.hpp"

namespace pleat::interop {
namespace {

constexpr const char* kCheck = R"sh(
# Every node has to have its GPUs before anything starts. The shell of each node calls this.
# shellcheck disable=SC2317
node_check() {
  local found
  found="$(nvidia-smi --list-gpus | wc -l)"
  if ((found < PLEAT_GPUS_PER_NODE)); then
    echo "$(hostname): $found GPUs of $PLEAT_GPUS_PER_NODE" >&2
    return 1
  fi
}
export -f node_check
srun --ntasks-per-node=1 --ntasks="$SLURM_JOB_NUM_NODES" --kill-on-bad-exit=1 bash -c node_check
)sh";

constexpr const char* kTrap = R"(
timed_out=0
# shellcheck disable=SC2317 # the trap calls it
on_time() {
  timed_out=1
  scancel --signal=TERM "$SLURM_JOB_ID"
}
trap on_time USR1
)";

constexpr const char* kEnd = R"(
step=$!
status=0
wait "$step" || status=$?
while kill -0 "$step" 2>/dev/null; do # the trap ends a wait early
  status=0
  wait "$step" || status=$?
done
if ((timed_out)); then
  scontrol requeue "$SLURM_JOB_ID"
elif ((status != 0 && SECONDS >= 600)); then # one that fails at once would fail again
  failures="$SLURM_JOB_NAME-$SLURM_JOB_ID.failures"
  echo "$(date) exit code $status after $SECONDS s" >>"$failures"
  if (($(wc -l <"$failures") <= RESTARTS)); then scontrol requeue "$SLURM_JOB_ID"; fi
fi
exit "$status"
)";

constexpr const char* kRestarts = R"sh(
# Times that a job which fails after ten minutes starts again by itself.
: "${RESTARTS:=3}"

)sh";

constexpr const char* kBind = R"sh(
# 1: each rank runs on the cores and in the memory next to its GPU, where the node says which these
# are and numactl is there. Without, a step of GB200 takes a tenth longer (arXiv:2603.07685).
: "${{BIND:={}}}"
export BIND
)sh";

// The values are expanded by the shell of each rank, not by this one.
constexpr const char* kNearGpu =
    R"sh(near=(); bus="$(nvidia-smi -i "$SLURM_LOCALID" --query-gpu=pci.bus_id )sh"
    R"sh(--format=csv,noheader 2>/dev/null)"; bus="${bus,,}"; )sh"
    R"sh(node="$(cat "/sys/bus/pci/devices/${bus#0000}/numa_node" 2>/dev/null)"; )sh"
    R"sh(if [[ "$BIND" == 1 && "${node:--1}" -ge 0 ]] && command -v numactl >/dev/null; )sh"
    R"sh(then near=(numactl "--cpunodebind=$node" "--membind=$node"); fi; )sh";
constexpr const char* kMegatronRank =
    R"(export RANK="$SLURM_PROCID" LOCAL_RANK="$SLURM_LOCALID" WORLD_SIZE="$SLURM_NTASKS"; )";

// For `pleat train`: srun hands it to the ranks in their environment.
constexpr const char* kSecret = R"sh(
# Who may join: a new secret for every start of this job.
PLEAT_JOB_SECRET="$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')"
export PLEAT_JOB_SECRET
)sh";

std::string directives(const Launch& l) {
  const LaunchSlots& s = l.slots;
  std::string text;
  const auto line = [&](const std::string& option) { text += "#SBATCH --" + option + "\n"; };
  const auto named = [&](const char* option, const std::string& value) {
    if (!value.empty()) line(fmt::format("{}={}", option, value));
  };
  named("job-name", s.name);
  named("partition", s.partition);
  named("account", s.account);
  named("qos", s.qos);
  named("reservation", s.reservation);
  line(fmt::format("nodes={}", std::max(1, l.nodes())));
  line(fmt::format("ntasks-per-node={}", l.ranks_per_node()));
  if (l.on_gpus) line(fmt::format("gpus-per-node={}", l.ranks_per_node()));
  if (s.segment > 0) line(fmt::format("segment={}", s.segment));
  if (!s.trial || l.gpus >= l.gpus_per_node) line("exclusive");
  named("time", s.time);
  if (s.trial) {
    line("no-requeue");
  } else {
    line(fmt::format("signal=B:USR1@{}", s.grace_seconds));
    line("requeue");
  }
  line("open-mode=append");
  line("output=%x-%j.out");
  return text;
}

// Where the command runs: in a container that sees the folder of the job and works in it.
std::string in_container(const LaunchSlots& s) {
  if (s.image.empty()) return "";
  const std::string image = shell_word(s.image, "--image");
  const std::string mounts = s.mounts.empty() ? "" : shell_word("," + s.mounts, "--mounts");
  if (s.engine == ContainerEngine::apptainer) {
    return fmt::format(" \\\n  apptainer exec --nv --bind \"$PWD\"{} --pwd \"$PWD\" {}", mounts,
                       image);
  }
  return fmt::format(
      " \\\n  --mpi=pmix --container-image={} --container-mounts=\"$PWD:$PWD\"{} "
      "--container-workdir=\"$PWD\"",
      image, mounts);
}

}  // namespace

std::string slurm_text(const Launch& l) {
  const LaunchSlots& s = l.slots;
  std::string text = "#!/bin/bash\n" + directives(l) + "set -euo pipefail\n\n" + variables_text(l) +
                     (s.trial ? "" : std::string(kRestarts).substr(1)) + arguments_text(l) +
                     use_variables_text(l);
  const bool pleat = l.trainer == Trainer::pleat;
  if (l.on_gpus) text += fmt::format("\nexport PLEAT_GPUS_PER_NODE={}\n", l.ranks_per_node());
  text +=
      "MASTER_ADDR=\"$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\"\n"
      "export MASTER_ADDR MASTER_PORT=";
  text += s.trial ? "\"${MASTER_PORT:-29500}\"\n" : "29500\n";  // of several on one node
  if (l.on_gpus) text += kCheck + fmt::format(kBind, l.binds ? 1 : 0);
  if (pleat) text += kSecret;
  if (!s.trial) text += kTrap;
  // In the background, so that the shell sees signals while it runs.
  const std::string end = s.trial ? "\n" : " &\n" + std::string(kEnd).substr(1);
  // Pleat's ranks end together by themselves, and say why; 75 after SIGTERM is no reason to kill.
  const std::string srun =
      fmt::format("srun --kill-on-bad-exit={} --label --cpu-bind=none", pleat ? 0 : 1) +
      in_container(s);
  if (pleat) {
    // The ranks learn from srun who they are.
    text += "\n# Further arguments of sbatch go to `pleat train`.\n";
    if (l.on_gpus) text += "# shellcheck disable=SC2016\n";
    text += srun +
            (l.on_gpus
                 ? fmt::format(" \\\n  bash -c '{}exec \"${{near[@]}}\" \"$@\"' rank", kNearGpu)
                 : std::string()) +
            " \\\n  pleat train" + (s.trial ? "" : " --resume") + " \"${PLEAT_ARGS[@]}\" \"$@\"";
    return text + end;
  }
  text +=
      "\n# Further arguments of sbatch go to the script.\n"
      "# shellcheck disable=SC2016\n" +
      srun +
      fmt::format(" \\\n  bash -c '{}{}exec \"${{near[@]}}\" python3 -u \"$@\"' rank \\\n  ",
                  kMegatronRank, kNearGpu) +
      shell_word(s.script, "--script") +
      " \"${MEGATRON_ARGS[@]}\" \"$@\"";
  return text + end;
}

}  // namespace pleat::interop
