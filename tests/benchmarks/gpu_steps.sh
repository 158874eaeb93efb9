# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
# How gpu_all.sh runs a command: within the deadline, left out where it has succeeded before, its status kept; and how
# results travel, as one archive. Sourced, with $out and $here set.
# shellcheck shell=bash disable=SC2154

# xz, and on machines without it Python's module of it.
to_xz() {  # preset, MiB of the dictionary, more options of xz
  local preset="$1" dictionary="$2"
  shift 2
  if command -v xz >/dev/null; then
    xz "--lzma2=preset=$preset,dict=${dictionary}MiB" "$@"
  else
    python3 "$here/xz.py" compress "$preset" "$dictionary"
  fi
}

from_xz() {  # archive
  if command -v xz >/dev/null; then xz -dc -- "$1"; else python3 "$here/xz.py" expand "$1"; fi
}

failed=()
unfinished=()
delivered=0  # when results were put together last, in seconds of this script
resume=()
if [[ -n ${PLEAT_GPU_FROM:-} ]]; then
  PLEAT_RESUME=1
  from_xz "$PLEAT_GPU_FROM" | tar -C "$out" -xf - || { echo "stopped: $PLEAT_GPU_FROM is no archive of results" >&2; exit 1; }
fi
[[ ${PLEAT_RESUME:-} != 1 ]] || resume=(--resume)

stop() {
  echo "stopped: $*" >&2
  exit 1
}

# What status.tsv says last. Of building nothing is left out: it knows by itself what has changed.
succeeded_before() {  # name
  [[ ${PLEAT_RESUME:-} == 1 && -e $out/status.tsv && ! $1 =~ ^(configure|build|cut-models)$ ]] &&
    [[ $(awk -F '\t' -v name="$1" '$1 == name {status = $2} END {print status}' "$out/status.tsv") == 0 ]]
}

# Seconds until the deadline, less what the archive takes.
time_left() {
  local spare="$((${PLEAT_GPU_DEADLINE:-0} / 20))"
  if [[ -z ${PLEAT_GPU_DEADLINE:-} ]]; then echo 1000000; else echo "$((PLEAT_GPU_DEADLINE - SECONDS - spare))"; fi
}

limit_of() {  # seconds
  local left
  left="$(time_left)"
  echo "$((left < $1 ? left : $1))"
}

timed() {  # name, seconds at most, command: its output in $out/name.txt
  local name="$1" limit begin status=0 word='done'
  if succeeded_before "$name"; then
    printf '%-28s done before\n' "$name"
    return 0
  fi
  limit="$(limit_of "$2")"
  if ((limit < 1)); then
    printf '%-28s not begun: the deadline is near\n' "$name"
    unfinished+=("$name")
    return 75
  fi
  shift 2
  begin="$SECONDS"
  timeout -k 5 "$limit" "$@" >"$out/$name.txt" 2>&1 </dev/null || status=$?
  case "$status" in
    0) ;;
    75) word="NOT FINISHED (goes on from the results)" ;;
    124 | 137) word="CUT OFF at $limit s" ;;
    *) word="FAILED ($status)" ;;
  esac
  printf '%-28s %s after %s s\n' "$name" "$word" "$((SECONDS - begin))"
  printf '%s\t%s\t%s\n' "$name" "$status" "$((SECONDS - begin))" >>"$out/status.tsv"
  case "$status" in
    0) ;;
    75 | 124 | 137) unfinished+=("$name") ;;
    *) failed+=("$name") ;;
  esac
  # A step may be many commands of minutes: whoever kills this loses half a minute, not the step.
  ((SECONDS - delivered < 30)) || deliver
  return "$status"
}

# All results in one archive in $OUT, which is whole at any moment; without what is made again or too large.
# Traces go first where it would be larger than what is brought back.
deliver() {
  local limit="$((${PLEAT_GPU_MIB:-15} * 1048576))" leave
  [[ -n ${OUT:-} ]] || return 0
  mkdir -p "$OUT"
  do_summary >/dev/null 2>&1
  cp "$out/summary.md" "$OUT/summary.md.new" 2>/dev/null && mv "$OUT/summary.md.new" "$OUT/summary.md"
  for leave in '' '*.trace.json' '*.json'; do
    tar -C "$out" --exclude='*-tokens.bin' --exclude='*-tokens.idx' --exclude=train-text.txt ${leave:+--exclude="$leave"} -cf - . |
      to_xz 1 1 -T0 >"$OUT/results.tar.xz.new"
    (($(stat -c %s "$OUT/results.tar.xz.new") > limit)) || break
    echo "results are larger than ${PLEAT_GPU_MIB:-15} MiB: they go without ${leave:-traces}" >&2
  done
  mv "$OUT/results.tar.xz.new" "$OUT/results.tar.xz"
  delivered="$SECONDS"
}
