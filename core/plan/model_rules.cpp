// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rules of the model's sizes: what can be split over how many ranks. The vocabulary has none, it is
// padded. Fewer key-value groups than TP is allowed where TP is a multiple of them (docs/MODEL.md).
#include <fmt/format.h>

#include <algorithm>

#include "core/plan/constraint_rules.hpp"

namespace pleat::rules {
namespace {

bool experts_hold(const PlanContext& c) {
  return !degrees_positive(c) || !c.model.moe || c.model.moe->experts % c.plan.expert.ep == 0;
}

Violation explain_experts(const PlanContext& c) {
  const int ep = c.plan.expert.ep;
  const std::int64_t experts = c.model.moe->experts;
  return {"", "expert.ep", fmt::format("{} experts cannot be split over EP {}", experts, ep),
          fmt::format("divisors up to {}: {}", ep, divisors_up_to(experts, ep))};
}

bool dense_mapping_holds(const PlanContext& c) {
  return !degrees_positive(c) || c.model.moe || (c.plan.expert.ep == 1 && c.plan.expert.etp == 1);
}

Violation explain_dense_mapping(const PlanContext& c) {
  return {"", "expert",
          fmt::format("{} has no experts, but ETP is {} and EP {}", c.model.name, c.plan.expert.etp,
                      c.plan.expert.ep),
          "a dense model needs ETP 1 and EP 1"};
}

bool heads_split(const AttentionSpec& a, std::int64_t tp) {
  if (a.heads % tp != 0) return false;
  if (a.kind == AttentionKind::mla) return true;  // heads share one latent, there are no groups
  return a.kv_groups < 1 || a.kv_groups % tp == 0 || tp % a.kv_groups == 0;
}

bool heads_hold(const PlanContext& c) {
  return !degrees_positive(c) || heads_split(c.model.attention, c.plan.attention.tp);
}

Violation explain_heads(const PlanContext& c) {
  const AttentionSpec& a = c.model.attention;
  std::string allowed;
  for (std::int64_t tp = 1; tp <= std::min<std::int64_t>(a.heads, 4096); ++tp) {
    if (heads_split(a, tp)) allowed += fmt::format(" {}", tp);
  }
  const std::string groups =
      a.kind == AttentionKind::mla ? "" : fmt::format(" with {} kv groups", a.kv_groups);
  return {
      "", "attention.tp",
      fmt::format("{} heads{} cannot be split over TP {}", a.heads, groups, c.plan.attention.tp),
      "allowed TP:" + allowed};
}

// --- recurrences: heads over TP and, between their projections, over CP, whole ones
bool has_mixer(const ModelSpec& m, Mixer mixer) {
  return std::ranges::find(m.layer_traits, mixer, &LayerTraits::mixer) != m.layer_traits.end();
}

// Mamba-2's groups may be copied to several ranks of the context, not of TP (Megatron-LM
// core/ssm/mamba_mixer.py, mamba_context_parallel.py; GDN: transformer_config.py:1502).
bool mixer_heads_split(const ModelSpec& m, std::int64_t tp, std::int64_t cp) {
  const RecurrenceSpec& r = *m.recurrence;
  // All ranks have the state's input and output, which come from all columns.
  if (has_mixer(m, Mixer::mamba1)) return r.value_heads % (tp * cp) == 0;
  if (r.value_heads % (tp * cp) != 0 || r.key_heads % tp != 0) return false;
  const std::int64_t groups = r.key_heads / tp;
  return groups % cp == 0 || (has_mixer(m, Mixer::mamba2) && cp % groups == 0);
}

bool mixer_heads_hold(const PlanContext& c) {
  return !degrees_positive(c) || !c.model.recurrence ||
         mixer_heads_split(c.model, c.plan.attention.tp, c.plan.attention.cp);
}

Violation explain_mixer_heads(const PlanContext& c) {
  const RecurrenceSpec& r = *c.model.recurrence;
  const auto [tp, cp] = std::pair{c.plan.attention.tp, c.plan.attention.cp};
  std::string allowed;
  for (std::int64_t i = 1; i <= r.value_heads; ++i) {
    if (mixer_heads_split(c.model, tp, i)) allowed += fmt::format(" {}", i);
  }
  return {"", mixer_heads_split(c.model, tp, 1) ? "attention.cp" : "attention.tp",
          fmt::format("a recurrence of {} heads in {} groups cannot be split over TP {} x CP {}",
                      r.value_heads, r.key_heads, tp, cp),
          allowed.empty() ? "a smaller TP" : fmt::format("with TP {} allowed CP:{}", tp, allowed)};
}

// "18432 FFN columns cannot be split over TP 5"
Violation indivisible(const char* path, std::int64_t size, const char* what, const char* degree,
                      int value) {
  return {"", path, fmt::format("{} {} cannot be split over {} {}", size, what, degree, value),
          fmt::format("divisors up to {}: {}", value, divisors_up_to(size, value))};
}

// The product before a prediction block is cut by its output (Megatron-LM
// core/transformer/multi_token_prediction.py, eh_proj).
bool prediction_width_holds(const PlanContext& c) {
  return !degrees_positive(c) || c.model.mtp_layers == 0 ||
         c.model.hidden % c.plan.attention.tp == 0;
}

Violation explain_prediction_width(const PlanContext& c) {
  return indivisible("attention.tp", c.model.hidden, "columns of a prediction block's input", "TP",
                     c.plan.attention.tp);
}

bool has_dense_layer(const ModelSpec& m) {
  return !m.moe || std::find(m.moe_layer.begin(), m.moe_layer.end(), false) != m.moe_layer.end();
}

bool ffn_holds(const PlanContext& c) {
  return !degrees_positive(c) || c.model.ffn % c.plan.attention.tp == 0 ||
         !has_dense_layer(c.model);
}

Violation explain_ffn(const PlanContext& c) {
  return indivisible("attention.tp", c.model.ffn, "FFN columns", "TP", c.plan.attention.tp);
}

bool shared_ffn_holds(const PlanContext& c) {
  return !degrees_positive(c) || !c.model.moe ||
         c.model.moe->shared_ffn % c.plan.attention.tp == 0;
}

Violation explain_shared_ffn(const PlanContext& c) {
  return indivisible("attention.tp", c.model.moe->shared_ffn, "shared-expert FFN columns", "TP",
                     c.plan.attention.tp);
}

bool expert_ffn_holds(const PlanContext& c) {
  return !degrees_positive(c) || !c.model.moe || c.model.moe->ffn % c.plan.expert.etp == 0;
}

Violation explain_expert_ffn(const PlanContext& c) {
  return indivisible("expert.etp", c.model.moe->ffn, "expert FFN columns", "ETP",
                     c.plan.expert.etp);
}

bool context_holds(const PlanContext& c) {
  const int cp = c.plan.attention.cp;
  return !degrees_positive(c) || cp == 1 || c.workload.seq_len % (std::int64_t{2} * cp) == 0;
}

Violation explain_context(const PlanContext& c) {
  const std::int64_t step = std::int64_t{2} * c.plan.attention.cp;
  return {
      "", "workload.seq_len",
      fmt::format("sequence length {} must be a multiple of 2*CP = {}", c.workload.seq_len, step),
      "nearest " + nearest_multiples(c.workload.seq_len, step)};
}

std::int64_t sequence_shards(const PlanContext& c) {
  return product(c.plan.attention.tp, c.plan.attention.cp);
}

bool sequence_holds(const PlanContext& c) {
  return !degrees_positive(c) || c.plan.attention.tp == 1 || !c.plan.sequence_parallel ||
         c.workload.seq_len % sequence_shards(c) == 0;
}

Violation explain_sequence(const PlanContext& c) {
  const std::int64_t step = sequence_shards(c);
  return {
      "", "workload.seq_len",
      fmt::format("sequence length {} must be a multiple of TP*CP = {} under sequence parallelism",
                  c.workload.seq_len, step),
      "nearest " + nearest_multiples(c.workload.seq_len, step)};
}

}  // namespace

void append_model_rules(std::vector<Constraint>& list) {
  list.push_back({"experts-divisible", experts_hold, explain_experts});
  list.push_back({"dense-mapping", dense_mapping_holds, explain_dense_mapping});
  list.push_back({"heads-divisible", heads_hold, explain_heads});
  list.push_back({"mixer-heads", mixer_heads_hold, explain_mixer_heads});
  list.push_back({"ffn-divisible", ffn_holds, explain_ffn});
  list.push_back({"shared-ffn-divisible", shared_ffn_holds, explain_shared_ffn});
  list.push_back({"expert-ffn-divisible", expert_ffn_holds, explain_expert_ffn});
  list.push_back(
      {"prediction-width-divisible", prediction_width_holds, explain_prediction_width});
  list.push_back({"context-divisible", context_holds, explain_context});
  list.push_back({"sequence-divisible", sequence_holds, explain_sequence});
}

}  // namespace pleat::rules
