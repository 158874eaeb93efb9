// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Keys of DeepSpeed 0.19.8 (runtime/config.py, constants.py, zero/config.py). The model, the
// sequence length and what is recomputed are the program's, not the file's.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "interop/keyed_import.hpp"

namespace pleat::interop {
namespace {

using D = const KeyReader&;

struct DeepSpeedBatch {
  std::int64_t micro = 1, steps = 1;
};

// Of three numbers two are enough (config.py, _set_batch_related_parameters). `world` counts the
// ranks of tensor parallelism too.
DeepSpeedBatch read_counts(D r, std::int64_t world) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  for (const char* path :
       {"train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"}) {
    const JsonValue* const value = r.find(path);
    if (value != nullptr && *value == JsonValue("auto"))
      r.problem(path, "'auto' is what the trainer of transformers fills in", "a number");
  }
  const auto batch = r.integer("train_batch_size", kMost);
  const auto micro = r.integer("train_micro_batch_size_per_gpu", 1 << 20);
  const auto steps = r.integer("gradient_accumulation_steps", 1 << 28);
  DeepSpeedBatch out;
  if (micro) {
    out.micro = *micro;
    out.steps = steps ? *steps : batch && *micro > 0 ? *batch / *micro / world : 1;
  } else if (batch) {
    out.steps = steps.value_or(1);
    out.micro = out.steps > 0 ? *batch / world / out.steps : 0;
  } else {
    r.problem("train_micro_batch_size_per_gpu", "is not given, nor is train_batch_size");
  }
  if (out.micro < 1 || out.steps < 1) {
    r.problem("train_batch_size", fmt::format("leaves less than a sequence for {} GPUs", world));
    return {};
  }
  if (batch && *batch != out.micro * out.steps * world)
    r.problem("train_batch_size",
              fmt::format("is {}, but {} a GPU x {} steps x {} GPUs are {}", *batch, out.micro,
                          out.steps, world, out.micro * out.steps * world));
  return out;
}

DType wire_type(D r, const char* path, DType otherwise, ImportedRun& out) {
  if (r.text(path) == "fp16") out.assumed.push_back(fmt::format("{} as bf16, also 2 bytes", path));
  return r.choice(path, otherwise,
                  {{"fp32", DType::fp32}, {"fp16", DType::bf16}, {"bf16", DType::bf16}});
}

void read_zero(D r, ImportedRun& out) {
  Plan& p = out.document.plan;
  const std::int64_t stage = r.integer("zero_optimization.stage", 3).value_or(0);
  p.sharding = static_cast<Sharding>(stage);
  p.overlap.grad_reduce = r.is_on("zero_optimization.overlap_comm", stage == 3);
  // Below stage 3 weights are gathered after the step, beside nothing.
  p.overlap.param_gather = stage == 0 || stage == 3;
  const auto bucket = r.integer("zero_optimization.reduce_bucket_size");
  const auto gathered = r.integer("zero_optimization.allgather_bucket_size");
  p.ddp_bucket_size = static_cast<int>(std::min<std::int64_t>(bucket.value_or(0), 2'000'000'000));
  if (gathered && *gathered != bucket.value_or(500'000'000))
    out.ignored.push_back(fmt::format("zero_optimization.allgather_bucket_size {}", *gathered));
  const std::string device = r.text("zero_optimization.offload_optimizer.device").value_or("");
  const bool older = r.is_on("zero_optimization.cpu_offload");
  if (device == "nvme")
    r.problem("zero_optimization.offload_optimizer.device",
              "cannot be predicted: states on disks are no plan's", "cpu or none");
  const double share = r.number("zero_optimization.offload_optimizer.ratio").value_or(1);
  if (device == "cpu" || older) p.optimizer.cpu_offload = share;
}

void read_optimizer_of(D r, ImportedRun& out) {
  Plan& p = out.document.plan;
  std::string kind = r.text("optimizer.type").value_or("AdamW");
  std::transform(kind.begin(), kind.end(), kind.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (kind.starts_with("onebit") || kind.starts_with("zeroone"))
    r.problem("optimizer.type", "cannot be predicted: its gradients are compressed on the wire");
  else if (kind == "muon" && p.sharding <= Sharding::zero1)
    p.optimizer.kind = OptimizerKind::muon;
  else if (kind == "sgd")
    p.optimizer.kind = OptimizerKind::sgd;
  else if (kind == "lamb" || kind == "fusedlamb")
    p.optimizer.kind = OptimizerKind::lamb;
  else if (kind.find("adam") == std::string::npos)
    out.ignored.push_back("optimizer.type " + kind + ", priced as AdamW");
}

void read_types(D r, ImportedRun& out) {
  Plan& p = out.document.plan;
  const bool bf16 = r.is_on("bf16.enabled") || r.is_on("bfloat16.enabled");
  const bool fp16 = r.is_on("fp16.enabled");
  const bool cast = r.is_on("torch_autocast.enabled");
  if (bf16 && fp16) r.problem("fp16.enabled", "excludes bf16");
  const std::string type = r.text("torch_autocast.dtype").value_or("bfloat16");
  p.precision = bf16                                           ? Precision::bf16
                : fp16                                         ? Precision::fp16
                : cast && type.find("16") != std::string::npos ? Precision::bf16
                                                               : Precision::fp32;
  if (cast && !bf16 && !fp16)
    out.assumed.push_back("torch_autocast priced as bf16, without its fp32 weights' transfers");
  const DType weights = bf16 || fp16 ? DType::bf16 : DType::fp32;
  const DType sums = wire_type(r, "data_types.grad_accum_dtype", weights, out);
  const DType wire = wire_type(r, "communication_data_type", weights, out);
  p.optimizer.main_grads = sums;
  if (wire != sums) p.optimizer.grad_reduce = wire;
}

}  // namespace

ImportedRun import_deepspeed(const KeyReader& r, const ImportChoices& choices) {
  ImportedRun out;
  PlanDocument& d = out.document;
  Plan& p = d.plan;
  if (!choices.model)
    r.problem("model", "is the program's, the file does not name it", "--model NAME or FILE");
  if (choices.gpus == 0) r.problem("gpus", "are the launcher's", "--gpus N");
  r.problems().throw_if_errors();
  d.model = *choices.model;
  d.model_name = d.model.name;
  d.gpus = choices.gpus;
  d.workload.seq_len = choices.seq_len > 0 ? choices.seq_len : 4096;
  if (choices.seq_len == 0)
    out.assumed.push_back("sequences of 4096 tokens, which are the program's: --seq-len");
  const auto inner = r.integer("tensor_parallel.tp.tp_size", 1 << 20);
  const auto tp = r.integer("tensor_parallel.autotp_size", 1 << 20);  // 0: none
  p.attention.tp = static_cast<int>(std::max({std::int64_t{1}, tp.value_or(1), inner.value_or(1)}));
  if (choices.gpus % p.attention.tp != 0)
    r.problem("tensor_parallel.autotp_size", fmt::format("does not divide {} GPUs", choices.gpus));
  p.attention.dp = std::max(1, choices.gpus / p.attention.tp);
  const bool spreads = r.is_on("expert_parallel.enabled");
  const int ep = r.degree("expert_parallel.autoep_size");
  const int etp = r.degree("expert_parallel.expert_tensor_parallel_size");
  if (spreads && d.model.moe) {
    p.expert.ep = ep;
    p.expert.etp = etp;
  }
  // A plan has none of the one without the other.
  p.sequence_parallel = p.attention.tp > 1 && p.expert.ep > 1;
  if (p.sequence_parallel)
    out.assumed.push_back("sequence parallelism beside tensor and expert parallelism");
  p.expert.edp = std::max(1, choices.gpus / (p.expert.ep * p.expert.etp));
  const DeepSpeedBatch batch = read_counts(r, choices.gpus);
  p.micro_batch = static_cast<int>(batch.micro);
  d.workload.global_batch = batch.micro * batch.steps * p.attention.dp;
  read_types(r, out);
  read_zero(r, out);
  read_optimizer_of(r, out);
  if (d.model.moe) out.assumed.push_back("routing forced; the run's own was not");
  out.assumed.push_back("nothing recomputed: the model's code decides it");
  return out;
}

}  // namespace pleat::interop
