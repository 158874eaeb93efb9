#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
# Runs the fuzzers of a build folder, one a core, and prints how often each ran its target, how often in a
# second of processor time (other programs may share the cores), and how long a core takes for 10,000,000.
# tests/fuzz/run_all.sh [--seconds N] [--runs N] [--jobs N] [--build DIR] [--fresh] [NAME…]
# --fresh: from the tree's seeds alone, without the corpus of earlier runs.
# What they find is in DIR/fuzz/findings: exit status 1 if there is anything. A fuzzer that is sent SIGINT ends and
# says what it ran.
set -euo pipefail
root="$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
root="$(readlink -f "$root")"
seconds=600 runs=-1 jobs="$(nproc)" build="$root/build-fuzz" fresh=0 names=()
while (($#)); do
  case "$1" in
    --seconds) seconds="$2"; shift 2 ;;
    --runs) runs="$2"; shift 2 ;;
    --jobs) jobs="$2"; shift 2 ;;
    --build) build="$(readlink -f "$2")"; shift 2 ;;
    --fresh) fresh=1; shift ;;
    -*) echo "unknown option $1: --seconds N, --runs N, --jobs N, --build DIR or --fresh" >&2; exit 2 ;;
    *) names+=("$1"); shift ;;
  esac
done
programs="$build/tests/fuzz" work="$build/fuzz"
if ! ((${#names[@]})); then
  for program in "$programs"/fuzz_*.seeds; do
    name="$(basename "$program" .seeds)"
    names+=("${name#fuzz_}")
  done
fi
for name in "${names[@]}"; do
  [[ -x "$programs/fuzz_$name" ]] || { echo "no fuzzer $name in $programs" >&2; exit 2; }
done
mkdir -p "$work/findings" "$work/logs"

# Of those that this process may run on.
core_number() { python3 -c "import os; cores = sorted(os.sched_getaffinity(0)); print(cores[$1 % len(cores)])"; }
stat_of() { sed -n "s/^stat::$2: *//p" "$work/logs/$1" | tail -1; }

# A corpus of its own grows beside the tree's seeds. Memory and time are bounded: a hang is a finding.
# Inputs are no longer than the longest seed at first, and grow where nothing new is found (libFuzzer leaves that out
# for programs that change inputs themselves). Targets that use sockets hand each input from thread to thread: on one
# core they run four times as often by the clock as on two that others use, too.
run_one() {
  local name="$1" seeds=() pinned=() outcome=0
  [[ "$name" != *_tcp ]] || pinned=(taskset -c "$(core_number "${slot:-0}")")
  mapfile -t seeds <"$programs/fuzz_$name.seeds"
  ((fresh)) && rm -rf "$work/corpus/$name"
  mkdir -p "$work/corpus/$name"
  echo "fuzz $name: starts, at most $seconds s" >&2
  local TIMEFORMAT='stat::processor_seconds: %U %S'
  (cd "$root" && time "${pinned[@]}" "$programs/fuzz_$name" -max_total_time="$seconds" -runs="$runs" -timeout=20 \
    -rss_limit_mb=3072 -max_len=8192 -len_control=100 -print_final_stats=1 -verbosity=1 \
    -artifact_prefix="$work/findings/$name-" "$work/corpus/$name" "${seeds[@]}") \
    >"$work/logs/$name" 2>&1 || outcome=$?
  ((outcome == 72)) && outcome=0  # libFuzzer's own, after SIGINT: what it ran counts
  echo "fuzz $name: $(stat_of "$name" number_of_executed_units) executions," \
    "$( ((outcome)) && echo "FOUND something: $work/logs/$name" || echo "nothing found")" >&2
  return "$outcome"
}
export -f run_one stat_of core_number
export programs work root seconds runs fresh
status=0
printf '%s\0' "${names[@]}" | xargs -0 -n1 -P"$jobs" --process-slot-var=slot bash -c 'run_one "$1"' run_one || status=1
row='%-20s %12s %12s %10s %8s %8s %s\n'
# shellcheck disable=SC2059
printf "$row" target executions 'a CPU second' 'h to 10^7' cov peak_MB outcome
for name in "${names[@]}"; do
  outcome="$(grep -m1 -E '^==.*ERROR: |runtime error:|^terminate called' "$work/logs/$name" || true)"
  coverage="$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$work/logs/$name" | tail -1)"
  executions="$(stat_of "$name" number_of_executed_units)"
  read -r speed hours < <(stat_of "$name" processor_seconds | awk -v n="${executions:-0}" \
    'n > 0 && $1 + $2 > 0 { s = n / ($1 + $2); printf "%.0f %.1f", s, 1e7 / s / 3600 }') || true
  # shellcheck disable=SC2059
  printf "$row" "$name" "${executions:--}" "${speed:--}" "${hours:--}" "$coverage" \
    "$(stat_of "$name" peak_rss_mb)" "${outcome:-none found}"
done
exit "$status"
