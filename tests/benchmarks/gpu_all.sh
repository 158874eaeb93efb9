#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Pleat authors
# SPDX-License-Identifier: Apache-2.0
# Everything that needs a GPU, in one command: builds for it, runs the conformance suite, training on the
# GPU against the CPU, the suite under compute-sanitizer, the kernel benchmarks, a calibration, training of
# three models cut to what fits, the same models in PyTorch, predicted against measured, and a table of goals
# against what came out (gpu_summary.py). Raw output goes to $OUT (default build-gpu/out). A step that fails
# does not keep the next ones from running; what failed is said at the end.
#
#   tests/benchmarks/gpu_all.sh [steps]   of: build conformance executor sanitizer benchmarks calibration
#                                         training curve pytorch compare summary; all without
#   PLEAT_GPU_BUILD                       the build folder (build-gpu)
#   PLEAT_CUDA_ARCHS                      90a unless set
#   PLEAT_TORCH_PYTHON                    a Python with PyTorch for this GPU (python3)
set -uo pipefail

root="$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
root="$(readlink -f "$root")"
build="${PLEAT_GPU_BUILD:-$root/build-gpu}"
out="${OUT:-$build/out}"
steps=("$@")
((${#steps[@]})) || steps=(build conformance executor sanitizer benchmarks calibration training curve pytorch compare summary)
mkdir -p "$out"
PATH="$PATH:/usr/local/cuda/bin"
failed=()

timed() {  # name, seconds at most, command: its output in $out/name.txt
  local name="$1" limit="$2" begin status=0
  shift 2
  begin="$(date +%s)"
  if [[ $(type -t "$1") == function ]]; then
    "$@" >"$out/$name.txt" 2>&1 || status=$?
  else
    timeout -k 15 "$limit" "$@" >"$out/$name.txt" 2>&1 || status=$?
  fi
  printf '%-28s %s after %s s\n' "$name" "$([[ $status == 0 ]] && echo "done" || echo "FAILED ($status)")" \
    "$(($(date +%s) - begin))"
  printf '%s\t%s\t%s\n' "$name" "$status" "$(($(date +%s) - begin))" >>"$out/status.tsv"
  ((status == 0)) || failed+=("$name")
  return 0
}

do_build() {
  timed configure 120 cmake -S "$root" --preset cuda -B "$build" \
    -DPLEAT_CUDA_ARCHS="${PLEAT_CUDA_ARCHS:-90a}" -DPLEAT_MPI=OFF -DPLEAT_CUTLASS_JOBS=8
  timed build 580 cmake --build "$build" --target \
    kernels_cuda_conformance kernels_cuda_elementwise backend_gpu_test pleat_gpu_benchmarks pleat
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
    timed "sanitizer-$tool" 560 compute-sanitizer --tool "$tool" --error-exitcode 9 \
      "$build/tests/kernels/cuda/kernels_cuda_conformance" --gtest_brief=1 \
      "--gtest_filter=-*Gemm*:*Products*:*DropTokensAgainst*:*Attention*:*NewtonSchulz*"
  done
}

do_benchmarks() {
  timed gpu 20 nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu,power.draw \
    --format=csv
  timed benchmarks 900 "$build/tests/benchmarks/pleat_gpu_benchmarks" "" "${PLEAT_GPU_RUNS:-30}"
}

# The machine as a cluster file's name, and how many layers fit beside 18 bytes a parameter.
gpu_name() { nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1; }
cluster_name() {
  case "$(gpu_name)" in
    *H200*) echo h200-sxm ;;
    *B200*) echo b200 ;;
    *A100*) echo a100-sxm ;;
    *) echo h100-sxm ;;
  esac
}
cluster="$(cluster_name)"
large="$([[ $cluster == h100-sxm || $cluster == a100-sxm ]] && echo no || echo yes)"
models=(mixtral qwen3 deepseek)

# Shapes of the shipped models with fewer layers, and fewer experts where one layer's are too many.
cut_models() {
  python3 - "$root/configs/models" "$out" "$large" <<'PYTHON'
import json, sys
source, to, large = sys.argv[1:]
cuts = {
    "mixtral": ("mixtral-8x7b", dict(num_hidden_layers=4 if large == "yes" else 2)),
    "qwen3": ("qwen3-30b-a3b", dict(num_hidden_layers=8 if large == "yes" else 4)),
    "deepseek": ("deepseek-v3", dict(num_hidden_layers=3 if large == "yes" else 2, first_k_dense_replace=1,
                                     n_routed_experts=32 if large == "yes" else 16, num_nextn_predict_layers=0,
                                     rope_scaling=None, quantization_config=None)),
    "curve": ("qwen3-30b-a3b", dict(num_hidden_layers=2, num_experts=16, vocab_size=32768)),
}
for name, (model, cut) in cuts.items():
    with open(f"{source}/{model}.json", encoding="utf-8") as file:
        config = json.load(file)
    config.update(cut)
    config = {key: value for key, value in config.items() if value is not None}
    with open(f"{to}/{name}.json", "w", encoding="utf-8") as file:
        json.dump(config, file, indent=1)
PYTHON
  cat "$root"/docs/*.md "$root"/README.md >"$out/train-text.txt"
}

# Of several GPUs, collectives in symmetric windows beside those without.
do_calibration() {
  local windows=()
  (($(nvidia-smi -L 2>/dev/null | wc -l) > 1)) && windows=(--symmetric-windows)
  timed calibration 900 "$build/cli/pleat" calibrate --device cuda --cluster "$cluster" \
    --out "$out/$cluster-pleat.json" ${windows[@]+"${windows[@]}"}
}

# Profile options for what follows, where there is a profile.
profile_options() {
  [[ -f $out/$cluster-pleat.json ]] && echo --profile "$out/$cluster-pleat.json" --accept-mismatch
}

# name, model, precision, steps, more options: logs of steps, a trace of the last, and predicted against
# measured, with what the driver says of the GPU's memory.
train() {
  local name="$1" model="$2" precision="$3" count="$4"
  shift 4
  rm -f "$out/train-$name.steps.jsonl"
  # shellcheck disable=SC2046
  timed "train-$name" 560 "$build/cli/pleat" train --device cuda --model "$out/$model.json" --cluster "$cluster" \
    --gpus 1 --runtime pleat --seq-len "${SEQ:-4096}" --global-batch 8 --micro-batch 1 --precision "$precision" \
    --data "$out/train-text.txt" --steps "$count" --log-json "$out/train-$name.steps.jsonl" \
    --trace "$out/train-$name.trace.json" --json $(profile_options) "$@"
}

do_training() {
  local model
  timed cut-models 20 cut_models
  for model in "${models[@]}"; do
    train "$model-bf16" "$model" bf16 14
    train "$model-graphs" "$model" bf16 14 --cuda-graph partial
    train "$model-fp8" "$model" fp8 14
  done
}

# 200 steps of bf16 follow fp32's losses within 1%.
do_curve() {
  timed cut-models 20 cut_models
  SEQ=1024 train curve-fp32 curve fp32 200
  SEQ=1024 train curve-bf16 curve bf16 200
  timed curve 20 python3 - "$out/train-curve-fp32.steps.jsonl" "$out/train-curve-bf16.steps.jsonl" <<'PYTHON'
import json, sys
losses = []
for name in sys.argv[1:]:
    with open(name, encoding="utf-8") as file:
        losses.append([json.loads(line)["loss"] for line in file])
wide, narrow = losses
assert len(wide) == len(narrow) == 200, (len(wide), len(narrow))
worst = max(abs(n / w - 1) for w, n in zip(wide, narrow))
print(json.dumps({"what": "bf16 over fp32 losses", "steps": 200, "worst": worst, "last": [wide[-1], narrow[-1]]}))
sys.exit(worst > 0.01)
PYTHON
}

do_pytorch() {
  local model
  timed pytorch-attention 300 "${PLEAT_TORCH_PYTHON:-python3}" "$root/tests/benchmarks/torch_attention.py"
  timed cut-models 20 cut_models
  for model in "${models[@]}"; do
    timed "pytorch-$model" 560 "${PLEAT_TORCH_PYTHON:-python3}" "$root/tests/benchmarks/torch_reference.py" \
      --model "$out/$model.json" --seq 4096 --microbatch 1 --accumulation 8
  done
}

# Predicted steps and operations against the traces of training.
do_compare() {
  local model
  for model in "${models[@]}"; do
    # shellcheck disable=SC2046
    timed "predict-$model" 120 "$build/cli/pleat" predict --model "$out/$model.json" --cluster "$cluster" --gpus 1 \
      --runtime pleat --seq-len 4096 --global-batch 8 --micro-batch 1 --precision bf16 \
      --trace "$out/predict-$model.trace.json" $(profile_options)
    timed "compare-$model" 60 "$build/cli/pleat" compare "$out/train-$model-bf16.trace.json" \
      "$out/predict-$model.trace.json" --rows 60
  done
}

do_summary() {
  python3 "$root/tests/benchmarks/gpu_summary.py" "$out" --markdown "$out/summary.md"
}

for step in "${steps[@]}"; do
  case "$step" in
    build | conformance | executor | sanitizer | benchmarks | calibration | training | curve | pytorch | compare | summary)
      "do_$step"
      ;;
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
