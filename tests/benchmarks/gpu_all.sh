#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
# Everything that needs a GPU, in one command, what matters most first: builds, looks which libraries' kernels run,
# then the tests, kernel benchmarks, training of two models cut to what fits, the same in PyTorch, a short calibration,
# predicted against measured, and a table of goals against what came out (gpu_summary.py). What takes long and says less
# comes last (more). Without a build, or where a library's kernels do not run, everything stops; any other step that fails
# does not keep the next ones from running; what failed is said at the end (exit 1), and so is what did not fit (exit 75).
#
#   tests/benchmarks/gpu_all.sh [steps]   all but the last two without: build facts conformance benchmarks training
#                                         pytorch calibration compare memcheck executor more summary; pack tilings
#
# On a machine that is lent for minutes: after every step all results are put into one archive in $OUT, of at most
# PLEAT_GPU_MIB, and the same command goes on from a carried one:
#   OUT=…                      where the archive (results.tar.xz) and the table (summary.md) go; without it results stay
#                              in the work folder alone
#   PLEAT_GPU_DEADLINE         seconds for all of it: every command is cut to what is left, and what did not fit is said
#   PLEAT_GPU_FROM             an archive of results to go on from: leaves out what has succeeded, down to single tests,
#                              benchmark sections and training runs (so does PLEAT_RESUME=1 in the same work folder)
#   PLEAT_GPU_WORK             the work folder (build-gpu/out)
#   PLEAT_GPU_MIB              15
#   PLEAT_GPU_MODELS           of training, pytorch and compare: "mixtral qwen3"; more has "deepseek"
#   PLEAT_GPU_KINDS            of training: "order bf16 batch32 graphs whole fp8 fp8_delayed", one kind of all models after the other
#   PLEAT_GPU_SECTIONS         of the benchmarks: "grouped dense attention memory tokens"; more has the others
#   PLEAT_GPU_RUNS             of each benchmark (10; of more's 30)
#   PLEAT_GPU_STEPS            of each training (10)
#   PLEAT_GPU_BUILD            the build folder (build-gpu)
#   PLEAT_CUDA_ARCHS           for example 90a; the GPU's own unless set
#   PLEAT_CMAKE_FLAGS          more flags for cmake
#   PLEAT_PREBUILT             what the step pack has written elsewhere, or a folder with its content: nothing is
#                              fetched or built. Made by one command: PLEAT_CUDA_ARCHS=90a gpu_all.sh build pack
#   PLEAT_GPU_TILINGS=1        build and pack have the step tilings' program, too: which tiles grouped products are
#                              fastest with (21 of CUTLASS's instances, ten minutes of building)
#   PLEAT_PACK                 where pack puts the programs and the libraries they need (build-gpu/pack.tar.xz)
#   CUTLASS_INCLUDE, CUDNN_FRONTEND_INCLUDE   headers, where ./pleat.sh setup cannot fetch them
#   PLEAT_ALLOW_FALLBACK=1     goes on without them: our own kernels are measured in the libraries' place
#   PLEAT_TORCH_PYTHON         a Python with PyTorch for this GPU (python3)
set -uo pipefail

root="$(readlink -f "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../..")"
here="$root/tests/benchmarks"
build="${PLEAT_GPU_BUILD:-$root/build-gpu}"
out="${PLEAT_GPU_WORK:-$build/out}"
torch_python="${PLEAT_TORCH_PYTHON:-python3}"
read -ra models <<<"${PLEAT_GPU_MODELS:-mixtral qwen3}"
read -ra kinds <<<"${PLEAT_GPU_KINDS:-order bf16 batch32 graphs whole fp8 fp8_delayed}"
read -ra sections <<<"${PLEAT_GPU_SECTIONS:-grouped dense attention memory tokens}"
runs="${PLEAT_GPU_RUNS:-10}"
train_steps="${PLEAT_GPU_STEPS:-10}"
programs=(kernels_cuda_conformance kernels_cuda_elementwise kernels_cuda_planted_faults backend_gpu_test
  pleat_gpu_benchmarks pleat)
[[ ${PLEAT_GPU_TILINGS:-} != 1 ]] || programs+=(pleat_gpu_tilings)
steps=("$@")
((${#steps[@]})) || steps=(build facts conformance benchmarks training pytorch calibration compare memcheck executor
  more summary)
mkdir -p "$out"
PATH="$PATH:/usr/local/cuda/bin"
# shellcheck source=tests/benchmarks/gpu_steps.sh
source "$here/gpu_steps.sh"

gpu_fact() { nvidia-smi "--query-gpu=$1" --format=csv,noheader,nounits 2>/dev/null | head -1; }

# The folder of a file below Python's NVIDIA packages, as a pattern: lib/libcudnn.so.9.
wheel_folder() {
  "$torch_python" - "$1" <<'PYTHON' 2>/dev/null
import glob, os, sys
found = [f for folder in sys.path for f in sorted(glob.glob(os.path.join(folder, "nvidia", "*", sys.argv[1])))]
print(os.path.dirname(found[0]) if found else "")
PYTHON
}

# cuDNN and cuBLASLt are loaded by name: where the loader does not know them, from CUDA's own folder or the
# wheels that PyTorch came with.
find_libraries() {
  local name folder
  for name in libcudnn.so.9 'libcublasLt.so.*'; do
    # shellcheck disable=SC2086
    if ldconfig -p 2>/dev/null | grep -q "${name//\*/}"; then continue; fi
    folder="$(compgen -G "/usr/local/cuda/lib64/$name" | head -1)"
    folder="${folder:+/usr/local/cuda/lib64}"
    [[ -n $folder ]] || folder="$(wheel_folder "lib/$name")"
    if [[ -n $folder ]]; then
      export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder"
    else
      echo "no $name on this machine: kernels of our own are measured in its place" >&2
    fi
  done
}

program() {  # name: its path
  case "${PLEAT_PREBUILT:+prebuilt} $1" in
    prebuilt*) echo "$PLEAT_PREBUILT/bin/$1" ;;
    *" pleat") echo "$build/cli/pleat" ;;
    *" pleat_gpu_benchmarks" | *" pleat_gpu_tilings") echo "$build/tests/benchmarks/$1" ;;
    *) echo "$build/tests/kernels/cuda/$1" ;;
  esac
}

need() {  # names of programs
  local name
  for name in "$@"; do
    [[ -x $(program "$name") ]] || stop "there is no $(program "$name"): the step build comes first"
  done
}

architectures() {
  local capability
  capability="$(gpu_fact compute_cap | tr -d '. ')"
  if [[ -n ${PLEAT_CUDA_ARCHS:-} ]]; then
    echo "$PLEAT_CUDA_ARCHS"
  elif [[ ! $capability =~ ^[0-9]+$ ]]; then
    echo 90a
  elif ((capability >= 90)); then
    echo "${capability}a"
  else
    echo "$capability"
  fi
}

# CUTLASS's instances take their compiler up to 5 GB each.
cutlass_jobs() {
  local jobs
  jobs="$(awk '/^MemAvailable/ {print int($2 / 5e6)}' /proc/meminfo)"
  ((jobs <= $(nproc))) || jobs="$(nproc)"
  ((jobs >= 1)) || jobs=1
  echo "$jobs"
}

# What the libraries' kernels need and configuring has not found.
not_found() {  # architectures
  local name names=(PLEAT_CUDNN_FRONTEND_INCLUDE PLEAT_CUDNN_INCLUDE)
  [[ $1 != *90a* ]] || names+=(PLEAT_CUTLASS_INCLUDE)
  for name in "${names[@]}"; do
    grep -Eq "^$name:PATH=/" "$build/CMakeCache.txt" || echo "$name"
  done
}

do_build() {
  local archs missing flags=()
  if [[ -n ${PLEAT_PREBUILT:-} ]]; then
    need "${programs[@]}"
    return
  fi
  archs="$(architectures)"
  read -ra flags <<<"${PLEAT_CMAKE_FLAGS:-}"
  [[ " ${steps[*]} " != *" pack "* ]] || flags+=(-DPLEAT_NATIVE=OFF)
  export CMAKE_INCLUDE_PATH="${CMAKE_INCLUDE_PATH:-$(wheel_folder include/cudnn.h)}"
  if ! timed setup 900 "$root/pleat.sh" setup --headers; then
    echo "./pleat.sh setup has not got everything ($out/setup.txt); going on with what is here" >&2
    unset 'failed[-1]'
  fi
  timed configure 300 cmake -S "$root" --preset cuda -B "$build" "-DPLEAT_CUDA_ARCHS=$archs" -DPLEAT_MPI=OFF \
    "-DPLEAT_CUTLASS_JOBS=$(cutlass_jobs)" "${flags[@]}" || stop "configuring failed: $out/configure.txt"
  missing="$(not_found "$archs" | paste -sd ' ')"
  if [[ -n $missing && ${PLEAT_ALLOW_FALLBACK:-} != 1 ]]; then
    stop "not found: $missing. Slower kernels would be measured in the libraries' place. ./pleat.sh setup" \
      "--headers fetches them all; without a network cudnn.h comes with cuDNN (CMAKE_INCLUDE_PATH), and" \
      "CUTLASS_INCLUDE and CUDNN_FRONTEND_INCLUDE name folders of the others;" \
      "PLEAT_ALLOW_FALLBACK=1 goes on without"
  fi
  timed build 7200 cmake --build "$build" --target "${programs[@]}" pleat_cuda ||
    stop "the build failed or was cut off: $out/build.txt; the step build goes on where it ended"
}

# The programs, and what they are linked with that another machine with a driver and CUDA may not have.
# All have the same kernels in them: a dictionary larger than one program keeps them once.
do_pack() {
  local to="$build/pack" archive="${PLEAT_PACK:-$build/pack.tar.xz}" name library most=$((40 * 1048576))
  need "${programs[@]}"
  grep -q '^PLEAT_NATIVE:BOOL=OFF' "$build/CMakeCache.txt" 2>/dev/null ||
    stop "the programs are of this machine's CPU: gpu_all.sh build pack builds those that are packed"
  [[ $(sed -n 's/^PLEAT_CUDA_ARCHS:STRING=//p' "$build/CMakeCache.txt") != *[';,']* ]] ||
    stop "programs of several GPUs are too large to carry: PLEAT_CUDA_ARCHS=90a"
  rm -rf "$to"
  mkdir -p "$to/bin" "$to/lib"
  for name in "${programs[@]}"; do
    strip --strip-debug -o "$to/bin/$name" "$(program "$name")" || stop "strip failed"
    ldd "$(program "$name")" | awk '$3 ~ /^\// {print $3}' |
      grep -Ev '/(libcublas[^/]*|libc|libm|libdl|librt|libpthread|libgcc_s|libstdc\+\+|ld-linux[^/]*)\.so' |
      while read -r library; do cp -uL "$library" "$to/lib/"; done
  done
  # Where pleat looks for the CUDA kernels beside its bin folder.
  mkdir -p "$to/lib/pleat"
  strip --strip-debug -o "$to/lib/pleat/libpleat_cuda.so" "$build/kernels/cuda/libpleat_cuda.so" || stop "strip failed"
  tar -C "$to" -cf - bin lib | to_xz 6 256 >"$archive" || stop "packing failed"
  rm -rf "$to"
  du -h "$archive"
  (($(stat -c %s "$archive") <= most)) || stop "$archive is larger than $((most / 1048576)) MiB"
}

unpack_prebuilt() {
  local to="$build/prebuilt"
  if [[ ! -e $to/.unpacked || $PLEAT_PREBUILT -nt $to/.unpacked ]]; then
    rm -rf "$to"
    mkdir -p "$to"
    from_xz "$PLEAT_PREBUILT" | tar -C "$to" -xf - || stop "$PLEAT_PREBUILT is no archive of the step pack"
    touch "$to/.unpacked"
  fi
  PLEAT_PREBUILT="$to"
}

run_tests() {  # name, seconds at most, program, more options of gpu_tests.py
  local name="$1" limit which="$3" seconds
  limit="$(limit_of "$2")"
  seconds="$((limit > 30 ? limit - 10 : limit))"  # so that it says what it has done before it is cut off
  shift 3
  need "$which"
  PLEAT_REQUIRE_GPU=1 timed "$name" "$limit" python3 "$here/gpu_tests.py" "$(program "$which")" \
    --record "$out/$name.tests.jsonl" --seconds "$seconds" "${resume[@]}" "$@"
}

# Which libraries are here, and that cuDNN and CUTLASS are what runs: figures of our own kernels in their place
# would be taken for theirs.
do_facts() {
  timed gpu 20 nvidia-smi --format=csv \
    --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu,power.draw
  local status=0
  run_tests facts 120 kernels_cuda_conformance --filter '*CudaImplementation.*' || status=$?
  if [[ ! $status =~ ^(0|75|124|137)$ && ${PLEAT_ALLOW_FALLBACK:-} != 1 ]]; then  # not for want of time
    deliver
    stop "the libraries' kernels do not run here: $out/facts.txt (PLEAT_ALLOW_FALLBACK=1 goes on)"
  fi
}

do_conformance() {
  run_tests conformance 150 kernels_cuda_conformance --jobs 12 --timeout 60
  run_tests elementwise 60 kernels_cuda_elementwise --jobs 8 --alone LargeIndex --timeout 60
}

# Training on the GPU against the CPU, several ranks on it. The driver's count of memory wants no neighbours.
do_executor() { run_tests executor 1800 backend_gpu_test --jobs 4 --alone Memory; }

do_sanitizer() {  # tool, more of its options
  local tool="$1" name
  shift
  need kernels_cuda_planted_faults
  # A tool that does not find what is planted for it watches nothing.
  # shellcheck disable=SC2016
  timed "sanitizer-$tool-control" 120 bash -c 'tool="$1" program="$2"; shift 2
    compute-sanitizer --tool "$tool" --error-exitcode 9 "$@" "$program" "$tool"; [[ $? == 9 ]]' \
    control "$tool" "$(program kernels_cuda_planted_faults)" "$@"
  for name in conformance elementwise; do
    run_tests "sanitizer-$tool-$name" 3600 "kernels_cuda_$name" --jobs 4 --alone LargeIndex --timeout 900 \
      --wrap "compute-sanitizer --tool $tool --error-exitcode 9 $*"
  done
}
# Grouped products and permutations, where an index that is wrong reads another expert's rows.
do_memcheck() {
  run_tests memcheck 300 kernels_cuda_conformance --jobs 8 --filter '*Grouped*:*Permut*' --timeout 200 \
    --wrap "compute-sanitizer --tool memcheck --error-exitcode 9"
}
# Libraries order their shared memory by means that the tool does not follow, so only kernels with our
# namespace in their names are watched, but not CUTLASS's, which have it in their template arguments.
do_sanitizers() {
  do_sanitizer memcheck
  do_sanitizer racecheck --kernel-name kns=pleat --kernel-name-exclude kns=cutlass
}

do_benchmarks() {
  local section
  need pleat_gpu_benchmarks
  for section in "${sections[@]}"; do
    timed "benchmarks-$section" 300 "$(program pleat_gpu_benchmarks)" "$section" "" "$runs"
  done
}

do_tilings() {
  need pleat_gpu_tilings
  timed tilings 300 "$(program pleat_gpu_tilings)" "$runs"
}

# The machine as a cluster file's name.
cluster_name() {
  case "$(gpu_fact name)" in
    *H200*) echo h200-sxm ;;
    *B200*) echo b200 ;;
    *A100*) echo a100-sxm ;;
    *) echo h100-sxm ;;
  esac
}

cut_models() {
  local memory
  memory="$(gpu_fact memory.total | tr -dc 0-9)"
  timed cut-models 60 python3 "$here/gpu_models.py" "$root/configs/models" "$out" \
    --memory "$((${memory:-80000} * 1048576 / 1000000000))" --steps "$train_steps"
  cat "$root"/docs/*.md "$root"/README.md >"$out/train-text.txt"
}

column() { awk -F '\t' -v name="$1" -v column="$2" '$1 == name {print $column}' "$out/models.tsv"; }
micro_batch() { column "$1" 2; }

# name, seconds at most, more options. Of several GPUs, collectives in symmetric windows beside those without.
calibrate() {
  local name="$1" limit="$2"
  shift 2
  need pleat
  (($(nvidia-smi -L 2>/dev/null | wc -l) > 1)) && set -- "$@" --symmetric-windows
  timed "$name" "$limit" "$(program pleat)" calibrate --device cuda --cluster "$cluster" \
    --out "$out/$cluster-pleat.json" "$@"
}

# Points that are spread over the plan, as far as the time goes: a profile that is fitted to some of them is one, too.
do_calibration() {
  local limit
  limit="$(limit_of 150)"
  calibrate calibration "$limit" --point-seconds 0.1 --within "$((limit > 20 ? limit - 15 : 5))"
}

# Profile options for what follows, where there is a profile.
profile_options() {
  [[ -f $out/$cluster-pleat.json ]] && echo --profile "$out/$cluster-pleat.json" --accept-mismatch
}

# name, model, precision, steps, sequence length, microbatch, data, more options (the last --global-batch counts):
# logs of steps, a trace of the last, and predicted against measured, with what the driver says of the GPU's memory.
train() {
  local name="$1" model="$2" precision="$3" count="$4" seq="$5" micro="$6" data="$7" batch=(--global-batch 8)
  shift 7
  if [[ ${1:-} == --global-batch ]]; then
    batch=("$1" "$2")
    shift 2
  fi
  succeeded_before "train-$name" || rm -f "$out/train-$name.steps.jsonl"
  # shellcheck disable=SC2046
  timed "train-$name" 240 "$(program pleat)" train --device cuda --model "$out/$model.json" --cluster "$cluster" \
    --gpus 1 --runtime pleat --seq-len "$seq" "${batch[@]}" --micro-batch "$micro" --precision "$precision" \
    --data "$data" --steps "$count" --log-json "$out/train-$name.steps.jsonl" \
    --trace "$out/train-$name.trace.json" --json $(profile_options) "$@"
}

# One kind of all models, then the next: order has attention's gradients in any order, as PyTorch has them.
do_training() {
  local model kind
  need pleat
  cut_models
  for kind in "${kinds[@]}"; do
    for model in "${models[@]}"; do
      set -- "$model-$kind" "$model" bf16 "$train_steps" 4096 "$(micro_batch "$model")" "$out/$model-tokens"
      case "$kind" in
        order) train "$@" --any-order-attention ;;
        bf16) train "$@" ;;
        batch32) train "$@" --global-batch 32 --any-order-attention ;;
        graphs) train "$@" --cuda-graph partial ;;
        whole) train "$@" --cuda-graph full_iteration ;;
        fp8 | fp8_delayed) train "${@:1:2}" "$kind" "${@:4}" ;;
        *) stop "unknown kind of training: $kind" ;;
      esac
    done
  done
}

# 200 steps of bf16 follow fp32's losses within 1%, on text.
do_curve() {
  need pleat
  cut_models
  train curve-fp32 curve fp32 200 1024 1 "$out/train-text.txt"
  train curve-bf16 curve bf16 200 1024 1 "$out/train-text.txt"
  timed curve 20 python3 "$here/gpu_curve.py" "$out/train-curve-fp32.steps.jsonl" \
    "$out/train-curve-bf16.steps.jsonl"
}

# name, model, how often the 8 sequences of a step, more options.
pytorch() {
  local name="$1" model="$2" times="$3"
  shift 3
  timed "pytorch-$name" 240 "$torch_python" "$here/torch_reference.py" --model "$out/$model.json" --seq 4096 \
    --microbatch "$(micro_batch "$model")" --accumulation "$(($(column "$model" 3) * times))" \
    --steps "$((train_steps > 4 ? train_steps - 4 : 1))" --tokens "$out/$model-tokens.bin" "$@"
}

# The same models and microbatches: as PyTorch is fastest, with the same bits every time, and with 32 sequences a step.
pytorch_models() {
  local model
  cut_models
  for model in "${models[@]}"; do pytorch "$model" "$model" 1; done
  for model in "${models[@]}"; do pytorch "$model-deterministic" "$model" 1 --deterministic; done
  for model in "${models[@]}"; do pytorch "$model-batch32" "$model" 4; done
}

do_pytorch() {
  pytorch_models
  timed pytorch-attention 200 "$torch_python" "$here/torch_attention.py"
}

# Predicted steps and operations against the traces of training.
do_compare() {
  local model
  need pleat
  cut_models
  for model in "${models[@]}"; do
    # shellcheck disable=SC2046
    timed "predict-$model" 120 "$(program pleat)" predict --model "$out/$model.json" --cluster "$cluster" --gpus 1 \
      --runtime pleat --seq-len 4096 --global-batch 8 --micro-batch "$(micro_batch "$model")" --precision bf16 \
      --force --trace "$out/predict-$model.trace.json" --json $(profile_options)
    timed "compare-$model" 60 "$(program pleat)" compare "$out/train-$model-bf16.trace.json" \
      "$out/predict-$model.trace.json" --rows 60
  done
}

# What takes long and says less: other shapes and sections, tools that watch all kernels, losses on text.
do_more() {
  local models=(deepseek) runs="${PLEAT_GPU_RUNS:-30}" seen=" ${sections[*]} " section
  local sections=()
  need pleat_gpu_benchmarks
  for section in $("$(program pleat_gpu_benchmarks)" --list); do
    [[ $seen == *" $section "* ]] || sections+=("$section")
  done
  do_training
  pytorch_models
  do_compare
  do_benchmarks
  calibrate calibration-all 900
  do_sanitizers
  do_curve
}

do_summary() { python3 "$here/gpu_summary.py" "$out" --markdown "$out/summary.md"; }

for step in "${steps[@]}"; do
  [[ $(type -t "do_$step") == function && $step != sanitizer ]] || {
    echo "unknown step: $step" >&2
    exit 2
  }
  [[ $step =~ ^(build|pack|summary)$ || -n $(gpu_fact name) ]] || stop "nvidia-smi finds no GPU for the step $step"
done
cluster="$(cluster_name)"
find_libraries
if [[ -n ${PLEAT_PREBUILT:-} ]]; then
  [[ -d $PLEAT_PREBUILT ]] || unpack_prebuilt
  export PLEAT_CONFIG_DIR="$root/configs"
  export LD_LIBRARY_PATH="$PLEAT_PREBUILT/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
fi
# What is there is delivered whatever ends this.
trap 'deliver; exit 143' TERM INT
for step in "${steps[@]}"; do
  if [[ ! $step =~ ^(build|pack|summary)$ ]] && (($(time_left) < 1)); then
    printf '%-28s not begun: the deadline is near\n' "$step"
    unfinished+=("$step")
    continue
  fi
  "do_$step"
  deliver
done
if ((${#failed[@]})); then echo "failed: ${failed[*]} (raw output in $out)"; fi
if ((${#unfinished[@]})); then
  echo "not finished: ${unfinished[*]}; goes on with PLEAT_GPU_FROM=results.tar.xz"
fi
if ((${#failed[@]})); then exit 1; fi
if ((${#unfinished[@]})); then exit 75; fi
echo "all done; raw output in $out"
