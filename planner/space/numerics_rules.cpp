// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/space/numerics_rules.hpp"

#include <algorithm>

#include "core/plan/executed_formats.hpp"

namespace pleat {
namespace {

// The row of a field that changes numbers; kPlanFieldCount: the path is of none.
std::size_t numerics_row_of(std::string_view path) {
  std::size_t row = kPlanFieldCount;
  for_each_plan_field([&](auto i) {
    if constexpr (kPlanField<i>.chosen_by == ChosenBy::numerics) {
      if (kPlanField<i>.path == path) row = i;
    }
  });
  return row;
}

bool has_states_below_fp32(const OptimizerPlan& o) {
  return o.main_params != DType::fp32 || o.exp_avg != DType::fp32 || o.exp_avg_sq != DType::fp32;
}

// A format that a runtime has not. Paths and lines are Megatron-LM's and Megatron-Bridge's.
struct Missing {
  const char* path;
  const char* message;
  const char* hint;
  bool (*is)(const ModelSpec&, const Numerics&);
};

const std::vector<Missing>& megatron_missing() {
  static const std::vector<Missing> list{
      {"fp8_dispatch", "Megatron's rows travel in bf16", "fp8_dispatch false",
       [](const ModelSpec& m, const Numerics& n) { return m.moe && n.fp8_dispatch; }},
      {"fp8_combine", "Megatron's rows travel in bf16", "fp8_combine false",
       [](const ModelSpec& m, const Numerics& n) { return m.moe && n.fp8_combine; }},
      {"fp8_attention", "attention is narrow only where products are", "fp8, mxfp8 or nvfp4",
       [](const ModelSpec&, const Numerics& n) {
         return n.fp8_attention && !has_narrow_operands(n.precision);
       }},
      {"fp8_attention", "TransformerEngine's block scaling has no fp8 attention", "precision fp8",
       [](const ModelSpec&, const Numerics& n) {
         return n.fp8_attention && n.precision == Precision::fp8_block;
       }},
      // core/transformer/transformer_config.py:1573
      {"fp8_head", "Megatron's narrow output projection needs mxfp8", "precision mxfp8",
       [](const ModelSpec&, const Numerics& n) {
         return n.fp8_head && n.precision != Precision::mxfp8;
       }},
      {"fp8_head", "an output projection that is the embedding's table stays in bf16",
       "fp8_head false",
       [](const ModelSpec& m, const Numerics& n) { return n.fp8_head && m.tied_embeddings; }},
      // training/arguments.py:3671, core/distributed/distributed_data_parallel.py
      {"optimizer.main_grads", "Megatron's gradients are fp32 or bf16", "fp32 or bf16",
       [](const ModelSpec&, const Numerics& n) { return n.optimizer.main_grads == DType::fp8; }},
      {"optimizer.main_grads", "gradients are summed in fp32 or in the type of the weights", "fp32",
       [](const ModelSpec&, const Numerics& n) {
         const DType type = n.optimizer.main_grads;
         return (type == DType::bf16 &&
                 (n.precision == Precision::fp32 || n.precision == Precision::fp16)) ||
                (type == DType::fp16 && n.precision != Precision::fp16);
       }},
      // training/arguments.py:3053; Megatron-FSDP alone has a type of its own for it
      {"optimizer.grad_reduce", "Megatron's gradients are sent in the type that they are summed in",
       "as main_grads",
       [](const ModelSpec&, const Numerics& n) {
         const OptimizerPlan& o = n.optimizer;
         return o.grad_reduce && *o.grad_reduce != o.main_grads;
       }},
      // training/arguments.py:3673
      {"optimizer.main_params", "Megatron's main parameters are fp32, fp16 or remainders", "fp32",
       [](const ModelSpec&, const Numerics& n) {
         const DType type = n.optimizer.main_params;
         return type != DType::fp32 && type != DType::fp16 && type != DType::remainder16;
       }},
      // training/arguments.py:2913, core/optimizer/optimizer_config.py
      {"optimizer.kind", "Megatron has no lamb", "adamw, sgd or muon",
       [](const ModelSpec&, const Numerics& n) { return n.optimizer.kind == OptimizerKind::lamb; }},
      {"optimizer.kind", "states below fp32 are Adam's", "adamw",
       [](const ModelSpec&, const Numerics& n) {
         return n.optimizer.kind != OptimizerKind::adamw && has_states_below_fp32(n.optimizer);
       }}};
  return list;
}

std::optional<Violation> missing_in_pleat(const ModelSpec& model, const Plan& plan) {
  if (model.moe && (plan.fp8_dispatch || plan.fp8_combine)) {
    return Violation{"", plan.fp8_dispatch ? "fp8_dispatch" : "fp8_combine",
                     "the runtime sends what it computes", "false"};
  }
  const std::vector<FormatRefusal> refused = refused_formats(model, plan);
  if (refused.empty()) return std::nullopt;
  const FormatRefusal& first = refused.front();
  return Violation{"", first.path, first.message, first.hint};
}

// With the optimizer's state sharded and experts on other ranks: rules of formats ask for no more.
std::optional<Violation> broken_rule_of_numerics(const Problem& problem, const Plan& plan) {
  const PlanContext context{problem.model, problem.workload, plan, 1};
  for (const Constraint& rule : constraints()) {
    if (rule.of_mesh || rule.holds(context)) continue;
    Violation violation = rule.explain(context);
    if (numerics_row_of(violation.path) < kPlanFieldCount) return violation;
  }
  return std::nullopt;
}

}  // namespace

bool has_format(const GpuSpec& gpu, Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::fp16:
    case Precision::bf16:
      return true;
    case Precision::fp8:
    case Precision::fp8_delayed:
    case Precision::fp8_block:
      return gpu.peak_fp8.base() > 0;
    case Precision::mxfp8:
    case Precision::nvfp4:
      return gpu.peak_fp4.base() > 0;
  }
  return false;
}

std::optional<Software> software_of(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::fp16:
    case Precision::bf16: return std::nullopt;
    case Precision::fp8: return Software::fp8;
    case Precision::fp8_delayed: return Software::fp8_delayed;
    case Precision::fp8_block: return Software::fp8_block;
    case Precision::mxfp8: return Software::mxfp8;
    case Precision::nvfp4: return Software::nvfp4;
  }
  return std::nullopt;
}

bool has_format(const ClusterSpec& cluster, Precision precision) {
  const std::optional<Software> library = software_of(precision);
  return has_format(cluster.gpu, precision) && !(library && cluster.lacks(*library));
}

std::optional<Violation> refused_numerics(Runtime runtime, const Problem& problem,
                                          const Numerics& numerics, const ToldRows& told) {
  const auto is_told = [&](std::string_view path) {
    return std::ranges::find(told, numerics_row_of(path)) != told.end();
  };
  Plan plan;
  plan.sharding = Sharding::zero1;
  if (problem.model.moe) plan.expert.ep = 2;
  numerics.put_into(plan);
  switch (runtime) {
    case Runtime::megatron:
      for (const Missing& m : megatron_missing()) {
        if (!m.is(problem.model, numerics) || is_told(m.path)) continue;
        return Violation{"", m.path, m.message, m.hint};
      }
      break;
    case Runtime::pleat:
      if (auto missing = missing_in_pleat(problem.model, plan);
          missing && !is_told(missing->path)) {
        return missing;
      }
      break;
  }
  return broken_rule_of_numerics(problem, plan);
}

std::int64_t count_numerics(Runtime runtime, const Problem& problem, const Numerics& plain,
                            const std::vector<NumericsValue>& free, const ToldRows& told) {
  std::vector<Numerics> all{plain};
  for (std::size_t first = 0; first < free.size();) {
    std::size_t end = first;
    std::vector<Numerics> next;
    for (; end < free.size() && free[end].row == free[first].row; ++end) {
      for (Numerics n : all) {
        put(free[end], n);
        next.push_back(n);
      }
    }
    all = std::move(next);
    first = end;
  }
  return std::ranges::count_if(
      all, [&](const Numerics& n) { return !refused_numerics(runtime, problem, n, told); });
}

}  // namespace pleat
