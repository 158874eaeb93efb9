// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A machine with round numbers and small hand-made programs, so that expected values can be worked
// out on paper.
#pragma once

#include "simulator/estimate.hpp"

namespace pleat::test {

// 1 TFLOP/s, 1 TB/s, 100 GB. Tiers: 4 ranks at 100 GB/s, then any number at 10 GB/s.
inline ClusterSpec round_cluster() {
  ClusterSpec c;
  c.name = "round";
  c.gpu.name = "round-gpu";
  c.gpu.peak_fp32 = FlopsPerSecond(1e12);
  c.gpu.peak_bf16 = FlopsPerSecond(1e12);
  c.gpu.memory = Bytes(100e9);
  c.gpu.memory_bandwidth = BytesPerSecond(1e12);
  c.gpus_per_node = 4;
  c.tiers = {{"inner", 4, BytesPerSecond(100e9), Seconds(0)},
             {"outer", 0, BytesPerSecond(10e9), Seconds(0)}};
  return c;
}

// Everything at peak, nothing fixed; sources "fitted".
inline Profile ideal_profile() {
  Profile p;
  p.name = "ideal";
  p.cluster = "round";
  for (EfficiencyCurve& c : p.kernels) c.source = SourceClass::fitted;
  std::array<CollectiveCurve, kCollectives> row{};
  for (CollectiveCurve& c : row) c.source = SourceClass::fitted;
  p.collectives = {row, row};
  p.comm_slowdown = 1.0;
  p.relative_band = 0.1;
  return p;
}

// A view where every group has the given place.
inline ClusterView uniform_view(const ClusterSpec& cluster, GroupPlace place, int ranks = 1) {
  ClusterView view;
  view.cluster = &cluster;
  view.groups.fill(place);
  view.ranks = ranks;
  return view;
}

// Builds a layer op by op. Tensors are fp32 vectors.
struct LayerMaker {
  LayerProgram layer;
  TensorId tensor(std::int64_t elements, TensorClass cls = TensorClass::activation) {
    layer.tensors.push_back({"t" + std::to_string(layer.tensors.size()), cls, DType::fp32,
                             {{elements}}});
    return TensorId{static_cast<int>(layer.tensors.size()) - 1};
  }
  // A gemm of `ms` milliseconds on round_cluster with ideal_profile (operands are tiny).
  Op& gemm(Pass pass, const std::string& name, double ms, std::vector<TensorId> in,
           std::vector<TensorId> out) {
    Op op;
    op.kind = OpKind::gemm;
    op.name = name;
    op.in = std::move(in);
    op.out = std::move(out);
    op.attr.m = {static_cast<std::int64_t>(ms * 1e9 / 2)};
    return add(pass, op);
  }
  Op& add(Pass pass, const Op& op) {
    auto& ops = pass == Pass::forward ? layer.forward : layer.backward;
    ops.push_back(op);
    return ops.back();
  }
};

inline Seconds part_of(const CostVector& parts, CostClass cls) {
  return parts[static_cast<std::size_t>(cls)];
}
inline double total_of(const CostVector& parts) {
  double total = 0;
  for (Seconds s : parts) total += s.base();
  return total;
}

// A small MoE model with a dense first layer, MLA-free.
inline ModelSpec small_model() {
  ModelSpec m;
  m.name = "small";
  m.layers = 4;
  m.hidden = 64;
  m.vocab = 256;
  m.ffn = 128;
  m.attention = {.kind = AttentionKind::gqa, .heads = 4, .kv_groups = 2, .head_dim = 16};
  m.moe = MoeSpec{.experts = 8, .top_k = 2, .ffn = 32, .shared_ffn = 32};
  m.moe_layer = {false, true, true, true};
  return m;
}

inline Plan make_plan(AttentionMapping a, ExpertMapping e, int vpp = 1) {
  Plan plan;
  plan.attention = a;
  plan.expert = e;
  plan.vpp = vpp;
  return plan;
}

}  // namespace pleat::test
