#!/bin/bash
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
# Runs a command within a Slurm cluster of this host alone. Usage: one_node_slurm.sh FOLDER COMMAND...
# Exits with 77 where Slurm is not installed or cannot be started.
set -u
folder="$1"
shift
for tool in munged mungekey slurmctld slurmd srun sinfo; do
  PATH="$PATH:/usr/sbin" command -v "$tool" >/dev/null || exit 77
done
[[ $EUID -eq 0 ]] || exit 77
PATH="$PATH:/usr/sbin"
mkdir -p "$folder/state" "$folder/spool"
host="$(hostname -s)"
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
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES
CONF
stop() {
  local name
  for name in slurmd slurmctld munge; do
    [[ -e "$folder/$name.pid" ]] && kill "$(cat "$folder/$name.pid")" 2>/dev/null
  done
}
trap stop EXIT
export SLURM_CONF="$folder/slurm.conf"
slurmctld -i -f "$SLURM_CONF" >/dev/null 2>&1 || exit 77
slurmd -f "$SLURM_CONF" >/dev/null 2>&1 || exit 77
for ((i = 0; i < 100; ++i)); do
  [[ "$(sinfo -h -o %T 2>/dev/null)" == idle ]] && break
  sleep 0.1
done
((i < 100)) || exit 77
"$@"
