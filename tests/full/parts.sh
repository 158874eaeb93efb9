# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# `./pleat.sh test --full`: its parts, which of them a run takes, how each is run, and the record of what passed.
# pleat.sh reads this file, whose functions use its own.
# shellcheck disable=SC2034,SC2154

# In the order in which they run. A folder under a sanitizer is a part of its own.
full_parts=(
  asan/core asan/simulator asan/planner asan/kernels asan/backend asan/calibration
  tsan/simulator tsan/planner tsan/backend
  fuzzers reference frameworks notebooks cuda tests
)
full_record="full-tests.tsv"  # in the build folder; a line for each part that was run: date, commit, part, outcome, minutes

# The commit that is tested; -dirty where files differ from it.
tested_commit() { git -C "$root" describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null || echo unknown; }

# The parts that a list names, one a line and in order: asan,tests -> asan/core … asan/calibration tests.
# fuzzers and tests may be divided: tests/2of4 is the second of four.
named_parts() {  # list
  local name part found names=()
  IFS=, read -r -a names <<<"$1"
  if ! ((${#names[@]})); then
    say "--only: names no part; parts: asan, tsan, ${full_parts[*]}"
    return 2
  fi
  for name in "${names[@]}"; do
    found=0
    for part in "${full_parts[@]}"; do
      if [[ "$part" == "$name" || "${part%/*}" == "$name" ]]; then found=1; fi
    done
    if [[ "$name" =~ ^(fuzzers|tests)/([1-9][0-9]{0,2})of([1-9][0-9]{0,2})$ ]] &&
      ((BASH_REMATCH[2] <= BASH_REMATCH[3])); then
      found=1
    fi
    if ! ((found)); then
      say "--only: no part \"$name\"; parts: asan, tsan, ${full_parts[*]}; a part of fuzzers or of tests: tests/2of4"
      return 2
    fi
  done
  for part in "${full_parts[@]}"; do
    for name in "${names[@]}"; do
      if [[ "$part" == "$name" || "${part%/*}" == "$name" ]]; then
        echo "$part"
        break
      elif [[ "$name" == "$part"/*of* ]]; then
        echo "$name"
      fi
    done
  done
}

record_part() {  # part, outcome, minutes
  printf '%s\t%s\t%s\t%s\t%s\n' "$(date -u '+%F %H:%M')" "$(tested_commit)" "$1" "$2" "$3" >>"$build/$full_record"
}

# The last outcome of every part at this commit, or else when it last passed. A part that was run divided has
# passed when each of its divisions has.
part_outcomes() {
  local file="$build/$full_record"
  [[ -e "$file" ]] || file=/dev/null
  awk -F '\t' -v commit="$(tested_commit)" -v parts="${full_parts[*]}" '
    { outcome[$2, $3] = $4; when[$2, $3] = $1; minutes[$2, $3] = $5 }
    $4 == "passed" { passed_at[$3] = $2; passed_when[$3] = $1 }
    $2 == commit && match($3, /\/[0-9]+of[0-9]+$/) {
      split(substr($3, RSTART + 1), n, "of")
      divided[substr($3, 1, RSTART - 1)] = n[2]
    }
    function line(part, said) { printf "%-16s %s\n", part, said }
    function passed(part) { return (commit, part) in outcome && outcome[commit, part] == "passed" }
    function at_commit(part) {
      line(part, outcome[commit, part] ", " when[commit, part] ", " minutes[commit, part] " min")
    }
    END {
      count = split(parts, all, " ")
      for (i = 1; i <= count; ++i) {
        part = all[i]
        if ((commit, part) in outcome) { at_commit(part); continue }
        if (part in divided) {
          whole = 1
          for (k = 1; k <= divided[part]; ++k) whole = whole && passed(part "/" k "of" divided[part])
          line(part, whole ? "passed, divided" : "not whole:")
          for (k = 1; k <= divided[part]; ++k) {
            piece = part "/" k "of" divided[part]
            if ((commit, piece) in outcome) at_commit(piece); else line(piece, "not run")
          }
          continue
        }
        line(part, "not run" (part in passed_at ? "; passed at " passed_at[part] ", " passed_when[part] : ""))
      }
    }' "$file"
}

# Of some parts those that have not passed at this commit.
missing_parts() {  # part…
  local part state
  state="$(part_outcomes)"
  for part in "$@"; do
    grep -qE "^${part} +passed" <<<"$state" || echo "$part"
  done
}

print_full_record() {
  say "full tests of $(tested_commit) ($build/$full_record):"
  part_outcomes >&2
}

# Every n-th of the lines of stdin: those of division k.
division() {  # part, which may end in /KofN
  if [[ "$1" =~ /([0-9]+)of([0-9]+)$ ]]; then
    awk -v k="${BASH_REMATCH[1]}" -v n="${BASH_REMATCH[2]}" 'NR % n == k % n'
  else
    cat
  fi
}

# The tests of a folder under a sanitizer. ThreadSanitizer needs addresses where it expects them.
run_sanitized() {  # preset, folder
  local name="$1" dir="$root/build-$1" folder="$2"
  say "sanitizer: $name, tests/$folder"
  configure "$dir" "$name"
  setarch -R cmake --build "$dir" --target "tests/$folder/all" >&2 &&
    setarch -R ctest --test-dir "$dir/tests/$folder" --output-on-failure --no-tests=error -j2 -LE '^slow$' </dev/null
}

# docs/FUZZING.md
run_fuzzers() {  # part, seconds of each
  local names=()
  say "fuzzers: $2 s each (--fuzz-seconds N: another time)"
  configure "$root/build-fuzz" fuzz
  cmake --build "$root/build-fuzz" --target fuzz_targets >&2 || return 1
  mapfile -t names < <(cd "$root/build-fuzz/tests/fuzz" && printf '%s\n' fuzz_*.seeds | sed 's/^fuzz_//; s/\.seeds$//' | division "$1")
  "$root/tests/fuzz/run_all.sh" --build "$root/build-fuzz" --seconds "$2" "${names[@]}" >&2
}

# The CUDA kernels and their tests for all architectures; what needs no GPU is run.
run_cuda() {
  local dir="$root/build-cuda"
  say "CUDA: sm_80, sm_90a and sm_100a"
  install_cuda_headers
  configure "$dir" cuda "-DPLEAT_CUDA_ARCHS=80;90a;100a"
  cmake --build "$dir" --target kernels/cuda/all tests/kernels/cuda/all pleat_gpu_benchmarks >&2 &&
    run_ctest "$dir/tests/kernels/cuda"
}

# PyTorch and transformers in an environment of their own. The wheel of PyTorch wants CUDA's libraries
# beside it even where there is no GPU.
install_reference() {
  local folder="$build/reference" stamp="$build/reference/.installed"
  [[ ! -e "$stamp" ]] || return 0
  install_packages python3-venv
  say "installing PyTorch and transformers in $folder"
  python3 -m venv "$folder" >>"$log" 2>&1 &&
    "$folder/bin/python" -m pip --disable-pip-version-check install -q \
      torch transformers safetensors numpy >>"$log" 2>&1 </dev/null &&
    "$folder/bin/python" -c 'import safetensors.torch, torch, transformers' >>"$log" 2>&1 &&
    touch "$stamp"
}

# The frameworks that exports are for, in an environment of their own, whose parsers read them. Without what they need on
# GPUs alone; DeepSpeed is source, which a build of its own would look for torch in.
frameworks=(torch numpy megatron-core==0.16.1 torchtitan==0.3.0 hydra-core==1.3.2)
frameworks_need=(
  packaging setuptools wheel tyro einops spmd_types==0.2.3 torchdata torch_checkpointing "datasets<4.8.0" tokenizers
  tensorboard pillow hjson msgpack ninja psutil py-cpuinfo pydantic tqdm
)
install_frameworks() {
  local folder="$build/frameworks" wanted="${frameworks[*]} ${frameworks_need[*]}"
  local stamp="$folder/.installed" pip
  [[ ! -e "$stamp" || "$(<"$stamp")" != "$wanted" ]] || return 0
  install_packages python3-venv
  say "installing megatron-core, torchtitan and DeepSpeed in $folder"
  pip=("$folder/bin/python" -m pip --disable-pip-version-check install -q)
  {
    python3 -m venv --clear "$folder" &&
      "${pip[@]}" "${frameworks[@]:0:2}" "${frameworks[4]}" "${frameworks_need[@]}" &&
      "${pip[@]}" --no-deps "${frameworks[@]:2:2}" torchvision fla-core flash-linear-attention &&
      "${pip[@]}" --no-deps --no-build-isolation deepspeed==0.19.8
  } >>"$log" 2>&1 </dev/null || return 1
  "$folder/bin/python" -c 'import deepspeed, megatron.core, torchtitan.config.manager' >>"$log" 2>&1 || return 1
  printf '%s' "$wanted" >"$stamp"
}

# What executes the notebooks of docs/notebooks, in an environment of its own.
notebook_packages=(nbclient==0.10.2 nbformat==5.11.1 ipykernel==7.4.0 matplotlib==3.11.2 pandas==3.1.1 numpy)
install_notebooks() {
  local folder="$build/notebooks" wanted="${notebook_packages[*]}"
  [[ ! -e "$folder/.installed" || "$(<"$folder/.installed")" != "$wanted" ]] || return 0
  install_packages python3-venv
  say "installing what notebooks need in $folder"
  {
    python3 -m venv --clear "$folder" &&
      "$folder/bin/python" -m pip --disable-pip-version-check install -q "${notebook_packages[@]}"
  } >>"$log" 2>&1 </dev/null || return 1
  printf '%s' "$wanted" >"$folder/.installed"
}

run_part() {  # part
  local stride=() python
  case "$1" in
    asan/* | tsan/*) run_sanitized "${1%/*}" "${1#*/}" ;;
    fuzzers*) run_fuzzers "$1" "$fuzz_seconds" ;;
    reference)
      install_reference || { say "PyTorch and transformers could not be installed ($log says why)"; return 1; }
      PLEAT_REFERENCE_PYTHON="$build/reference/bin/python" run_ctest "$build" -L '^reference$'
      ;;
    frameworks)
      install_frameworks || { say "the frameworks could not be installed ($log says why)"; return 1; }
      PLEAT_FRAMEWORKS_PYTHON="$build/frameworks/bin/python" run_ctest "$build" -L '^frameworks$'
      ;;
    notebooks)
      install_notebooks || { say "what runs notebooks could not be installed ($log says why)"; return 1; }
      PLEAT_NOTEBOOKS_PYTHON="$build/notebooks/bin/python" run_ctest "$build" -L '^notebooks$'
      ;;
    cuda) run_cuda ;;
    tests*)
      python="$build/reference/bin/python"  # its torchrun is one of the launchers
      if [[ -e "$build/reference/.installed" ]]; then export PLEAT_REFERENCE_PYTHON="$python"; fi
      if [[ "$1" =~ /([0-9]+)of([0-9]+)$ ]]; then stride=(-I "${BASH_REMATCH[1]},,${BASH_REMATCH[2]}"); fi
      run_ctest "$build" -LE '^(reference|frameworks|notebooks)$' "${stride[@]}" "${ctest_flags[@]}"
      ;;
  esac
}

# What `test` is asked, before anything is installed or built: full, parts, fuzz_seconds, ctest_flags.
read_test_options() {
  local only="" only_missing=0 list=0 named
  full=0 fuzz_seconds=600 ctest_flags=() parts=("${full_parts[@]}")
  while (($#)); do
    case "$1" in
      --full) full=1 ;;
      --fuzz-seconds)
        [[ "${2:-}" =~ ^[1-9][0-9]*$ ]] || { say "--fuzz-seconds: needs a whole number of seconds, 1 or more"; exit 2; }
        fuzz_seconds="$2"
        shift
        ;;
      --only)
        (($# > 1)) || { say "--only: needs a list of parts, as in --only asan,fuzzers"; exit 2; }
        named="$(named_parts "$2")" || exit 2
        only="$2"
        mapfile -t parts <<<"$named"
        shift
        ;;
      --missing) only_missing=1 ;;
      --list) list=1 ;;
      *) ctest_flags+=("$1") ;;
    esac
    shift
  done
  if ! ((full)) && [[ -n "$only" || $only_missing == 1 || $list == 1 ]]; then
    say "--only, --missing and --list are of the full tests: ./pleat.sh test --full …"
    exit 2
  fi
  if ((list)); then
    print_full_record
    exit 0
  fi
  if ((only_missing)); then mapfile -t parts < <(missing_parts "${parts[@]}"); fi
}

run_full_tests() {
  local part status begin minutes failed=() on_build=0
  for part in "${parts[@]}"; do
    case "$part" in reference | frameworks | notebooks | tests*) on_build=1 ;; esac
  done
  install_packages "${full_test_packages[@]}"
  mkdir -p "$build"
  if ((on_build)); then ensure_built all; fi
  for part in "${parts[@]}"; do
    if [[ "$part" == cuda ]] && ! has_nvcc; then
      say "cuda: left out, there is no nvcc"
      record_part cuda "left out" 0
      continue
    fi
    begin="$SECONDS" status=0
    (run_part "$part") || status=$?
    minutes="$(((SECONDS - begin + 59) / 60))"
    say "$part: $minutes min"
    if ((status)); then
      failed+=("$part")
      record_part "$part" failed "$minutes"
    else
      record_part "$part" passed "$minutes"
    fi
  done
  print_full_record
  if ((${#failed[@]})); then
    say "failed: ${failed[*]}"
    exit 1
  fi
  exit 0
}
