#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
# Everything of the CUDA kernels that needs a GPU, in one command: builds for it, runs the conformance
# suite, training on the GPU, the suite under compute-sanitizer, and the kernel benchmarks. Raw output
# goes to $OUT (default build-gpu/out). A step that fails does not keep the next ones from running.
#
#   tests/benchmarks/gpu_all.sh [steps]   of: build conformance executor sanitizer benchmarks; all without
#   PLEAT_GPU_BUILD                       the build folder (build-gpu)
#   PLEAT_CUDA_ARCHS                      90a unless set
set -uo pipefail

root="$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
root="$(readlink -f "$root")"
build="${PLEAT_GPU_BUILD:-$root/build-gpu}"
out="${OUT:-$build/out}"
steps=("$@")
((${#steps[@]})) || steps=(build conformance executor sanitizer benchmarks)
mkdir -p "$out"
PATH="$PATH:/usr/local/cuda/bin"
failed=()

timed() {  # name, seconds at most, command: its output in $out/name.txt
  local name="$1" limit="$2" begin status=0
  shift 2
  begin="$(date +%s)"
  timeout "$limit" "$@" >"$out/$name.txt" 2>&1 || status=$?
  printf '%-28s %s after %s s\n' "$name" "$([[ $status == 0 ]] && echo "done" || echo "FAILED ($status)")" \
    "$(($(date +%s) - begin))"
  ((status == 0)) || failed+=("$name")
  return 0
}

do_build() {
  timed configure 120 cmake -S "$root" --preset cuda -B "$build" \
    -DPLEAT_CUDA_ARCHS="${PLEAT_CUDA_ARCHS:-90a}" -DPLEAT_MPI=OFF
  timed build 580 cmake --build "$build" --target \
    kernels_cuda_conformance kernels_cuda_elementwise backend_gpu_test pleat_gpu_benchmarks
}

do_conformance() {
  export PLEAT_REQUIRE_GPU=1
  timed conformance 300 "$build/tests/kernels/cuda/kernels_cuda_conformance" --gtest_brief=1
  timed elementwise 120 "$build/tests/kernels/cuda/kernels_cuda_elementwise" --gtest_brief=1
}

# Training on the GPU against the CPU, several ranks on it.
do_executor() {
  export PLEAT_REQUIRE_GPU=1
  timed executor 560 "$build/tests/kernels/cuda/backend_gpu_test" --gtest_brief=1
}

# Library kernels have their own reads beyond what they use, so only ours are watched for races.
do_sanitizer() {
  local tool
  export PLEAT_REQUIRE_GPU=1
  for tool in memcheck racecheck; do
    timed "sanitizer-$tool" 280 compute-sanitizer --tool "$tool" --error-exitcode 9 \
      "$build/tests/kernels/cuda/kernels_cuda_conformance" --gtest_brief=1 \
      "--gtest_filter=-*Gemm*:*Products*:*DropTokensAgainst*"
  done
}

do_benchmarks() {
  timed gpu 20 nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu,power.draw \
    --format=csv
  timed benchmarks 560 "$build/tests/benchmarks/pleat_gpu_benchmarks" "" "${PLEAT_GPU_RUNS:-30}"
}

for step in "${steps[@]}"; do
  case "$step" in
    build | conformance | executor | sanitizer | benchmarks) "do_$step" ;;
    *)
      echo "unknown step: $step" >&2
      exit 2
      ;;
  esac
done
if ((${#failed[@]})); then
  echo "failed: ${failed[*]} (raw output in $out)"
  exit 1
fi
echo "all done; raw output in $out"
