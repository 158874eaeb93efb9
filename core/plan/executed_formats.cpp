// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/executed_formats.hpp"

#include <fmt/format.h>

namespace pleat {
namespace {

bool is_moment(DType t) {
  return t == DType::fp32 || t == DType::bf16 || t == DType::fp16 || t == DType::fp8;
}

void add_precision(const Plan& p, std::vector<FormatRefusal>& all) {
  switch (p.precision) {
    case Precision::fp16:  // its smallest number is 6e-8: gradients need a scale, and there is none
      all.push_back({"precision",
                     "this backend has no fp16, whose gradients vanish without loss scaling",
                     "use --precision bf16"});
      return;
    case Precision::fp32:
    case Precision::bf16:
    case Precision::fp8:
    case Precision::fp8_delayed:
    case Precision::fp8_block:
    case Precision::mxfp8:
    case Precision::nvfp4:
      return;
  }
}

}  // namespace

std::vector<FormatRefusal> refused_formats(const ModelSpec& m, const Plan& p) {
  std::vector<FormatRefusal> all;
  const auto require = [&](bool holds, const char* path, const std::string& message,
                           const char* hint) {
    if (!holds) all.push_back({path, message, hint});
  };
  add_precision(p, all);
  // Megatron-LM's narrow output projection takes no weight of another layer either.
  const bool narrow = p.precision != Precision::fp32 && p.precision != Precision::fp16 &&
                      p.precision != Precision::bf16;
  require(!narrow || !p.fp8_head || !m.tied_embeddings, "fp8_head",
          "this backend reads a table that is the output projection too in bf16",
          "set fp8_head to false");
  const OptimizerPlan& o = p.optimizer;
  if (o.main_grads != DType::fp32 && o.main_grads != DType::bf16) {
    all.push_back({"optimizer.main_grads",
                   fmt::format("this backend keeps gradients in fp32 or bf16 (got {})",
                               name_of(o.main_grads)),
                   "set optimizer.main_grads to fp32 or bf16"});
  }
  const bool halves = o.main_params == DType::remainder16;
  require(o.main_params == DType::fp32 || halves, "optimizer.main_params",
          "this backend keeps main parameters in fp32, or what bf16 weights lack of it",
          "set main_params to fp32 or remainder16");
  require(!halves || o.cpu_offload == 0, "optimizer.main_params",
          "the CPU's step reads no weights on the device, which remainders complete",
          "set main_params to fp32, or use state_offload");
  require(is_moment(o.exp_avg) && is_moment(o.exp_avg_sq), "optimizer.exp_avg",
          "this backend has moments in fp32, bf16, fp16 and fp8",
          "set exp_avg and exp_avg_sq to one of them");
  const bool adam = o.kind == OptimizerKind::adamw;
  require(adam || (o.exp_avg == DType::fp32 && o.exp_avg_sq == DType::fp32), "optimizer.exp_avg",
          "moments below fp32 are AdamW's here",
          "use --optimizer adamw, or set exp_avg and exp_avg_sq to fp32");
  return all;
}

}  // namespace pleat
