#!/bin/bash
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
# Runs a command within a Slurm cluster of this host alone. Usage: one_node_slurm.sh FOLDER COMMAND...
# Exits with 77 where Slurm is not installed or cannot be started. Leaves no daemon of it behind.
set -u
folder="$1"
shift
for tool in munged mungekey slurmctld slurmd srun sinfo; do
  PATH="$PATH:/usr/sbin" command -v "$tool" >/dev/null || exit 77
done
[[ $EUID -eq 0 ]] || exit 77
PATH="$PATH:/usr/sbin"
mkdir -p "$folder/state" "$folder/spool"
export SLURM_CONF="$folder/slurm.conf"  # its daemons are known by it, slurmstepd too
host="$(hostname -s)"
daemons() {
  local process
  for process in /proc/[0-9]*; do
    case "$(cat "$process/comm" 2>/dev/null)" in
      munged | slurmctld | slurmd | slurmstepd) ;;
      *) continue ;;
    esac
    grep -qzxF "SLURM_CONF=$SLURM_CONF" "$process/environ" 2>/dev/null && echo "${process#/proc/}"
  done
}
stop() {
  local i left=() job
  trap - EXIT INT TERM
  for job in $(jobs -p); do kill "$job"; done
  for job in $(timeout 5 squeue -h -o %A 2>/dev/null); do timeout 5 scancel --full "$job" 2>/dev/null; done
  for ((i = 0; i < 100; ++i)); do
    mapfile -t left < <(daemons)
    ((${#left[@]})) || return 0
    if ((i == 0)); then kill "${left[@]}" 2>/dev/null; fi
    if ((i >= 50)); then kill -9 "${left[@]}" 2>/dev/null; fi
    sleep 0.1
  done
}
trap stop EXIT
trap 'exit 143' INT TERM
port=$((20000 + $$ % 20000))
mungekey --create --keyfile="$folder/munge.key" 2>/dev/null || exit 77
munged --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" --pid-file="$folder/munge.pid" \
  --log-file="$folder/munge.log" --seed-file="$folder/munge.seed" >/dev/null 2>&1 || exit 77
cat >"$folder/slurm.conf" <<CONF
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldPort=$port
SlurmdPort=$((port + 1))
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES
CONF
slurmctld -i -f "$SLURM_CONF" >/dev/null 2>&1 || exit 77
slurmd -f "$SLURM_CONF" >/dev/null 2>&1 || exit 77
for ((i = 0; i < 100; ++i)); do
  [[ "$(sinfo -h -o %T 2>/dev/null)" == idle ]] && break
  sleep 0.1
done
((i < 100)) || exit 77
timeout -k 10 150 "$@" &  # so that a signal to this script is seen at once
wait $!
