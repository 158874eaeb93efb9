// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Models small enough to execute on a CPU in milliseconds, and plans for them.
#pragma once

#include "core/plan/plan.hpp"
#include "core/spec/model.hpp"
#include "core/spec/workload.hpp"

namespace pleat::test {

// Four layers, the first dense: 8 experts top-2 with a shared expert, GQA 4/2 heads.
inline ModelSpec small_moe() {
  ModelSpec m;
  m.name = "small-moe";
  m.layers = 4;
  m.hidden = 32;
  m.vocab = 64;
  m.ffn = 48;
  m.attention.heads = 4;
  m.attention.kv_groups = 2;
  m.attention.head_dim = 8;
  MoeSpec moe;
  moe.experts = 8;
  moe.top_k = 2;
  moe.ffn = 24;
  moe.shared_ffn = 16;
  m.moe = moe;
  m.moe_layer = {false, true, true, true};
  return m;
}

inline ModelSpec small_mla() {
  ModelSpec m = small_moe();
  m.name = "small-mla";
  m.attention = {};
  m.attention.kind = AttentionKind::mla;
  m.attention.heads = 4;
  m.attention.kv_groups = 4;
  m.attention.q_lora_rank = 12;
  m.attention.kv_lora_rank = 10;
  m.attention.qk_nope_head_dim = 6;
  m.attention.qk_rope_head_dim = 4;
  m.attention.v_head_dim = 8;
  m.moe->score = RouterScore::sigmoid;
  m.moe->groups = 4;
  m.moe->top_groups = 2;
  m.moe->expert_bias = true;
  m.moe->scaling_factor = 2.5;
  return m;
}

inline WorkloadSpec small_workload() { return {.seq_len = 16, .global_batch = 8}; }

inline Plan fp32_plan(int dp = 1, int ep = 1, int pp = 1) {
  Plan p;
  p.precision = Precision::fp32;
  p.attention.dp = dp;
  p.attention.pp = pp;
  p.expert.ep = ep;
  p.expert.edp = dp / ep;
  p.sharding = dp > 1 ? Sharding::zero1 : Sharding::none;
  return p;
}

// Attention ranks tp x dp (x pp), experts over ep x edp of them.
inline Plan tp_plan(int tp, int dp = 1, int ep = 1, int pp = 1) {
  Plan p = fp32_plan(dp, 1, pp);
  p.attention.tp = tp;
  p.expert.ep = ep;
  p.expert.edp = tp * dp / ep;
  p.sharding = dp > 1 ? Sharding::zero1 : Sharding::none;
  return p;
}

// Attention ranks tp x dp x pp, experts over etp x ep x edp of a stage's.
inline Plan folded_plan(AttentionMapping attention, int etp, int ep) {
  Plan p = fp32_plan(attention.dp, 1, attention.pp);
  p.attention = attention;
  p.expert = {etp, ep, attention.tp * attention.cp * attention.dp / (etp * ep)};
  return p;
}

}  // namespace pleat::test
