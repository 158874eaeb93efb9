#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
# Runs the fuzzers of a build folder, one a core, and prints how often each ran its target.
# tests/fuzz/run_all.sh [--seconds N] [--runs N] [--build DIR] [NAME…]
# What they find is in DIR/fuzz/findings: exit status 1 if there is anything.
set -euo pipefail
root="$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
root="$(readlink -f "$root")"
seconds=600 runs=-1 build="$root/build-fuzz" names=()
while (($#)); do
  case "$1" in
    --seconds) seconds="$2"; shift 2 ;;
    --runs) runs="$2"; shift 2 ;;
    --build) build="$(readlink -f "$2")"; shift 2 ;;
    -*) echo "unknown option $1: --seconds N, --runs N or --build DIR" >&2; exit 2 ;;
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
mkdir -p "$work/findings" "$work/logs"

# A corpus of its own grows beside the tree's seeds. Memory and time are bounded: a hang is a finding.
run_one() {
  local name="$1" seeds=()
  mapfile -t seeds <"$programs/fuzz_$name.seeds"
  mkdir -p "$work/corpus/$name"
  (cd "$root" && "$programs/fuzz_$name" -max_total_time="$seconds" -runs="$runs" -timeout=20 \
    -rss_limit_mb=3072 -max_len=65536 -print_final_stats=1 -verbosity=1 \
    -artifact_prefix="$work/findings/$name-" "$work/corpus/$name" "${seeds[@]}") >"$work/logs/$name" 2>&1
}
export -f run_one
export programs work root seconds runs
status=0
printf '%s\0' "${names[@]}" | xargs -0 -n1 -P"$(nproc)" bash -c 'run_one "$1"' run_one || status=1
printf '%-20s %12s %10s %9s %s\n' target executions 'per second' peak_MB outcome
for name in "${names[@]}"; do
  value() { sed -n "s/^stat::$1: *//p" "$work/logs/$name" | tail -1; }
  outcome="$(grep -m1 -E '^==.*ERROR: |runtime error:|^terminate called' "$work/logs/$name" || true)"
  printf '%-20s %12s %10s %9s %s\n' "$name" "$(value number_of_executed_units)" \
    "$(value average_exec_per_sec)" "$(value peak_rss_mb)" "${outcome:-none found}"
done
exit "$status"
