// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Prices of single operations against values worked out by hand.
#include <gtest/gtest.h>

#include "simulator/cost/op_work.hpp"
#include "tests/simulator/fixtures.hpp"
#include "tests/simulator/op_cases.hpp"

namespace pleat {
namespace {

using test::gemm_case;
using test::ideal_profile;
using test::OpCase;
using test::round_cluster;
using test::uniform_view;

TEST(PriceOp, GemmIsBoundByArithmetic) {
  const ClusterSpec cluster = round_cluster();
  const OpCase c = gemm_case();
  const OpCost cost =
      price_op(c.op, c.tensors, {}, uniform_view(cluster, {}), ideal_profile());
  EXPECT_DOUBLE_EQ(cost.flops.base(), 2.0 * 1000 * 2000 * 3000);
  EXPECT_DOUBLE_EQ(cost.bytes.base(), 2.0 * (1000 * 2000 + 3000 * 2000 + 1000 * 3000));
  EXPECT_DOUBLE_EQ(cost.time.base(), 12e9 / 1e12);
  EXPECT_EQ(cost.cls, CostClass::gemm);
  EXPECT_EQ(cost.source, SourceClass::fitted);
}

TEST(PriceOp, EfficiencyCurve) {
  EfficiencyCurve curve{.max_efficiency = 0.5,
                        .half_work = Flops(1e9),
                        .memory_efficiency = 0.25,
                        .fixed = Seconds(1e-6)};
  const FlopsPerSecond peak(1e12);
  const BytesPerSecond bandwidth(1e12);
  // At half_work the efficiency is half of the maximum: 1e9 / (1e12 * 0.25) = 4 ms.
  EXPECT_DOUBLE_EQ(kernel_time(curve, Flops(1e9), Bytes(0), peak, bandwidth).base(), 4e-3 + 1e-6);
  EXPECT_DOUBLE_EQ(kernel_time(curve, Flops(0), Bytes(1e9), peak, bandwidth).base(), 4e-3 + 1e-6);
  EXPECT_DOUBLE_EQ(kernel_time(curve, Flops(1e9), Bytes(2e9), peak, bandwidth).base(),
                   8e-3 + 1e-6);
}

TEST(PriceOp, AccumulationReadsTheResult) {
  OpCase c = gemm_case();
  const double plain = operand_bytes(c.op, c.tensors, {}).base();
  c.op.attr.accumulate = true;
  EXPECT_DOUBLE_EQ(operand_bytes(c.op, c.tensors, {}).base(), plain + 2.0 * 1000 * 3000);
}

TEST(PriceOp, SustainedClockSlowsArithmeticOnly) {
  const ClusterSpec cluster = round_cluster();
  const OpCase c = gemm_case();
  Profile profile = ideal_profile();
  profile.sustained_clock.gemm_bf16 = 0.5;
  EXPECT_DOUBLE_EQ(price_op(c.op, c.tensors, {}, uniform_view(cluster, {}), profile).time.base(),
                   24e-3);
}

TEST(PriceOp, StepsPassOverMemoryByTheSweepCurve) {
  const ClusterSpec cluster = round_cluster();
  Profile profile = ideal_profile();
  profile.kernels[static_cast<std::size_t>(KernelClass::sweep)].memory_efficiency = 0.5;
  OpCase c;
  c.op.kind = OpKind::zero;
  c.op.out = {c.add({{1000}}, DType::fp32)};
  const auto time = [&] {
    return price_op(c.op, c.tensors, {}, uniform_view(cluster, {}), profile).time.base();
  };
  EXPECT_DOUBLE_EQ(time(), 4e-9);
  c.op.phase = Phase::step;
  EXPECT_DOUBLE_EQ(time(), 8e-9);
}

TEST(PriceOp, GroupedGemmBindsRoutedTokens) {
  const ClusterSpec cluster = round_cluster();
  OpCase c;
  const Dim routed{1, Symbol::routed};
  c.op.kind = OpKind::grouped_gemm;
  c.op.in = {c.add({routed, {64}}), c.add({{4}, {128}, {64}}), c.add({{4}}, DType::i32)};
  c.op.out = {c.add({routed, {128}})};
  c.op.attr.m = routed;
  c.op.attr.n = {128};
  c.op.attr.k = {64};
  c.op.attr.math = DType::bf16;
  const auto view = uniform_view(cluster, {});
  const OpCost cost = price_op(c.op, c.tensors, {.routed = 500}, view, ideal_profile());
  EXPECT_DOUBLE_EQ(cost.flops.base(), 2.0 * 500 * 128 * 64);
  EXPECT_DOUBLE_EQ(cost.bytes.base(), 2.0 * (500 * 64 + 4 * 128 * 64 + 500 * 128) + 4 * 4);
  const OpCost none = price_op(c.op, c.tensors, {.routed = 0}, view, ideal_profile());
  EXPECT_DOUBLE_EQ(none.flops.base(), 0);
  EXPECT_DOUBLE_EQ(none.time.base(), (2.0 * 4 * 128 * 64 + 16) / 1e12);  // the weights
}

TEST(PriceOp, AttentionFlops) {
  OpCase c;  // b 2, s 256, 8 heads, d 64
  c.op.kind = OpKind::attention;
  c.op.in = {c.add({{512}, {8 * 64 * 3}})};
  c.op.out = {c.add({{512}, {8 * 64}}), c.add({{512}, {8}}, DType::fp32)};
  c.op.attr.batch = 2;
  c.op.attr.seq = 256;
  c.op.attr.head_dim = 64;
  c.op.attr.v_dim = 64;
  const double core = 2.0 * 2 * 256 * 256 * 8;
  EXPECT_DOUBLE_EQ(attention_work(c.op, c.tensors, {}).flops.base(), core * (64 + 64) / 2);
  OpCase b = c;
  b.op.kind = OpKind::attention_bwd;
  b.op.in = {c.op.out[0], c.op.in[0], c.op.out[0], c.op.out[1]};
  b.op.out = {b.add({{512}, {8 * 64 * 3}})};
  EXPECT_DOUBLE_EQ(attention_work(b.op, b.tensors, {}).flops.base(), core * (3 * 64 + 2 * 64) / 2);
}

// Only matrix products say which arithmetic they use; attention runs in the type of its operands.
TEST(PriceOp, AttentionUsesTheArithmeticOfItsOperands) {
  ClusterSpec cluster = round_cluster();
  cluster.gpu.peak_fp32 = FlopsPerSecond(1e9);
  OpCase c;  // b 1, s 1000, 1 head, d 100
  c.op.kind = OpKind::attention;
  c.op.in = {c.add({{1000}, {300}})};
  c.op.out = {c.add({{1000}, {100}})};
  c.op.attr.seq = 1000;
  c.op.attr.head_dim = 100;
  const auto view = uniform_view(cluster, {});
  const double flops = 2.0 * 1000 * 1000 * (100 + 100) / 2;
  EXPECT_DOUBLE_EQ(price_op(c.op, c.tensors, {}, view, ideal_profile()).time.base(), flops / 1e12);
  c.tensors[0].dtype = DType::fp32;
  EXPECT_DOUBLE_EQ(price_op(c.op, c.tensors, {}, view, ideal_profile()).time.base(), flops / 1e9);
}

TEST(PriceOp, MlaAttentionFlops) {
  OpCase c;  // b 1, s 128, 4 heads, dqk 96+32, dv 48
  c.op.kind = OpKind::mla_attention;
  c.op.in = {c.add({{128}, {4 * 128}}), c.add({{128}, {4 * (96 + 48)}}), c.add({{128}, {64}})};
  c.op.out = {c.add({{128}, {4 * 48}}), c.add({{128}, {4}}, DType::fp32)};
  c.op.attr.batch = 1;
  c.op.attr.seq = 128;
  c.op.attr.nope_dim = 96;
  c.op.attr.rope_dim = 32;
  c.op.attr.v_dim = 48;
  EXPECT_DOUBLE_EQ(attention_work(c.op, c.tensors, {}).flops.base(),
                   2.0 * 128 * 128 * 4 * (128 + 48) / 2);
}

TEST(PriceOp, EmbeddingReadsOneRowPerToken) {
  OpCase c;
  c.op.kind = OpKind::embedding;
  c.op.in = {c.add({{100}}, DType::i32), c.add({{50000}, {64}})};
  c.op.out = {c.add({{100}, {64}})};
  EXPECT_DOUBLE_EQ(memory_bound_work(c.op, c.tensors, {}).bytes.base(),
                   100 * 4 + 2.0 * 100 * 64 + 2.0 * 100 * 64);
}

TEST(PriceOp, RopeTouchesTheRotaryColumns) {
  OpCase c;  // 2 q heads, 1 group, d 16: 3 of 4 heads rotate
  c.op.kind = OpKind::rope;
  c.op.in = c.op.out = {c.add({{10}, {64}})};
  c.op.attr.heads = 2;
  c.op.attr.kv_groups = 1;
  c.op.attr.rope_dim = 16;
  EXPECT_DOUBLE_EQ(memory_bound_work(c.op, c.tensors, {}).bytes.base(), 2.0 * 10 * 48 * 2);
}

Op collective(OpKind kind, Group group, std::vector<TensorId> in, std::vector<TensorId> out) {
  Op op;
  op.kind = kind;
  op.group = group;
  op.in = std::move(in);
  op.out = std::move(out);
  return op;
}

TEST(PriceOp, RingCollectivesInOneTier) {
  const ClusterSpec cluster = round_cluster();
  const auto view = uniform_view(cluster, {.size = 4, .tier = 0, .inside = 4});
  Profile profile = ideal_profile();
  for (auto& tier : profile.collectives) {
    for (auto& curve : tier) curve.latency = Seconds(1e-6), curve.latency_per_rank = Seconds(1e-7);
  }
  const std::vector<Tensor> tensors = {
      {"part", TensorClass::activation, DType::fp32, {{1000}}},
      {"whole", TensorClass::activation, DType::fp32, {{4000}}}};
  const TensorId part{0}, whole{1};
  const double latency = 1e-6 + 3e-7, wire = 16000.0 * 3 / 4;
  const OpCost gather = price_op(collective(OpKind::all_gather, Group::tp, {part}, {whole}),
                                 tensors, {}, view, profile);
  EXPECT_DOUBLE_EQ(gather.bytes.base(), wire);
  EXPECT_DOUBLE_EQ(gather.time.base(), latency + wire / 100e9);
  EXPECT_EQ(gather.cls, CostClass::tp_comm);
  const OpCost scatter = price_op(collective(OpKind::reduce_scatter, Group::dp, {whole}, {part}),
                                  tensors, {}, view, profile);
  EXPECT_DOUBLE_EQ(scatter.time.base(), latency + wire / 100e9);
  EXPECT_EQ(scatter.cls, CostClass::dp_comm);
  const OpCost reduce = price_op(collective(OpKind::all_reduce, Group::edp, {whole}, {whole}),
                                 tensors, {}, view, profile);
  EXPECT_DOUBLE_EQ(reduce.time.base(), latency + 2 * wire / 100e9);
  Op head = collective(OpKind::all_reduce, Group::tp, {whole}, {whole});
  head.attr.n = {400};  // only the first 400 elements
  EXPECT_DOUBLE_EQ(price_op(head, tensors, {}, view, profile).bytes.base(), 2 * 1600.0 * 3 / 4);
}

TEST(PriceOp, GroupOfOneIsFree) {
  const ClusterSpec cluster = round_cluster();
  const std::vector<Tensor> tensors = {{"x", TensorClass::activation, DType::fp32, {{1000}}}};
  const Op op = collective(OpKind::all_reduce, Group::dp, {TensorId{0}}, {TensorId{0}});
  EXPECT_DOUBLE_EQ(
      price_op(op, tensors, {}, uniform_view(cluster, {}), ideal_profile()).time.base(), 0);
}

// 8 ranks in two domains of 4: half of the rows leave the domain, 3 in 8 stay with a neighbour.
TEST(PriceOp, AllToAllSplitsOverTheTiers) {
  const ClusterSpec cluster = round_cluster();
  const auto view = uniform_view(cluster, {.size = 8, .tier = 1, .inside = 4});
  const std::vector<Tensor> tensors = {
      {"sent", TensorClass::activation, DType::fp32, {{8000}}},
      {"received", TensorClass::activation, DType::fp32, {{1, Symbol::routed}, {8}}},
      {"counts", TensorClass::activation, DType::i32, {{8}}}};
  const Op op =
      collective(OpKind::all_to_all, Group::ep, {TensorId{0}, TensorId{2}}, {TensorId{1}});
  const OpCost even = price_op(op, tensors, {.routed = 1000}, view, ideal_profile());
  EXPECT_DOUBLE_EQ(even.bytes.base(), 32000.0 * 7 / 8);
  EXPECT_DOUBLE_EQ(even.time.base(), 32000.0 * 4 / 8 / 10e9);  // the outer links decide
  const OpCost skewed = price_op(op, tensors, {.routed = 2000}, view, ideal_profile());
  EXPECT_DOUBLE_EQ(skewed.time.base(), 2 * even.time.base());
}

// Every token once to each of the other node, then 3 of 4 of all copies within it.
TEST(PriceOp, HierarchicalExchangeGathersBetweenNodes) {
  const ClusterSpec cluster = round_cluster();
  auto view = uniform_view(cluster, {.size = 8, .tier = 1, .inside = 4});
  view.dispatcher = Dispatcher::hierarchical;
  const std::vector<Tensor> tensors = {
      {"sent", TensorClass::activation, DType::fp32, {{8000}}},
      {"received", TensorClass::activation, DType::fp32, {{8000}}}};
  Op op = collective(OpKind::all_to_all, Group::ep, {TensorId{0}}, {TensorId{1}});
  op.attr.experts = 64;
  op.attr.top_k = 8;
  const OpCost cost = price_op(op, tensors, {}, view, ideal_profile());
  const double inner = 32000.0 * 3 / 4, outer = 32000.0 / 8;
  EXPECT_DOUBLE_EQ(cost.bytes.base(), inner + outer);
  EXPECT_DOUBLE_EQ(cost.time.base(), inner / 100e9 + outer / 10e9);
}

TEST(PriceOp, NarrowRowsMoveFewerBytes) {
  const ClusterSpec cluster = round_cluster();
  const auto view = uniform_view(cluster, {.size = 4, .tier = 0, .inside = 4});
  const std::vector<Tensor> tensors = {
      {"sent", TensorClass::activation, DType::bf16, {{8000}}},
      {"received", TensorClass::activation, DType::bf16, {{8000}}}};
  Op op = collective(OpKind::all_to_all, Group::ep, {TensorId{0}}, {TensorId{1}});
  op.attr.wire = 0.5;
  EXPECT_DOUBLE_EQ(price_op(op, tensors, {}, view, ideal_profile()).bytes.base(), 8000.0 * 3 / 4);
  Op reduce = collective(OpKind::reduce_scatter, Group::dp_cp, {TensorId{0}}, {TensorId{0}});
  reduce.attr.wire = 0.5;
  EXPECT_DOUBLE_EQ(price_op(reduce, tensors, {}, view, ideal_profile()).bytes.base(),
                   8000.0 * 3 / 4);
}

// Three steps of a quarter each; over two domains every step waits for the link between them, where
// a gather uses all of them.
TEST(PriceOp, KeyValueRingStepsOverItsSlowestLink) {
  const ClusterSpec cluster = round_cluster();
  Profile profile = ideal_profile();
  for (auto& tier : profile.collectives) {
    tier[static_cast<std::size_t>(Collective::send_recv)].latency = Seconds(1e-6);
  }
  const std::vector<Tensor> tensors = {
      {"own", TensorClass::activation, DType::fp32, {{1000}}},
      {"all", TensorClass::activation, DType::fp32, {{4000}}}};
  Op op = collective(OpKind::all_gather, Group::cp, {TensorId{0}}, {TensorId{1}});
  op.in_pieces = true;
  const auto time = [&](GroupPlace place) {
    return price_op(op, tensors, {}, uniform_view(cluster, place), profile).time.base();
  };
  EXPECT_DOUBLE_EQ(time({.size = 4, .tier = 0, .inside = 4}), 3 * (1e-6 + 4000 / 100e9));
  EXPECT_DOUBLE_EQ(time({.size = 4, .tier = 1, .inside = 2}), 3 * (1e-6 + 4000 / 10e9));
}

TEST(PriceOp, GatherOverTwoTiersUsesEveryOuterLink) {
  const ClusterSpec cluster = round_cluster();
  const std::vector<Tensor> tensors = {
      {"part", TensorClass::activation, DType::fp32, {{1000}}},
      {"whole", TensorClass::activation, DType::fp32, {{8000}}}};
  const Op op = collective(OpKind::all_gather, Group::dp, {TensorId{0}}, {TensorId{1}});
  const double wire = 32000.0 * 7 / 8;
  auto time = [&](int inside) {
    const auto view = uniform_view(cluster, {.size = 8, .tier = 1, .inside = inside});
    return price_op(op, tensors, {}, view, ideal_profile()).time.base();
  };
  EXPECT_DOUBLE_EQ(time(1), wire / 10e9);
  EXPECT_DOUBLE_EQ(time(4), wire / 40e9);  // four links out of each domain
}

// 2 of 4 experts on 2 units: both picks on one unit in 2 of 6 cases. The last two: published
// values.
TEST(PriceOp, DistinctUnits) {
  EXPECT_DOUBLE_EQ(distinct_units(1, 128, 8), 1.0);
  EXPECT_DOUBLE_EQ(distinct_units(2, 4, 2), (2 * 1 + 4 * 2) / 6.0);
  EXPECT_DOUBLE_EQ(distinct_units(4, 4, 4), 4.0);
  EXPECT_NEAR(distinct_units(32, 256, 8), 7.27, 0.005);
  EXPECT_NEAR(distinct_units(64, 128, 8), 7.78, 0.005);
}

TEST(PriceOp, DeduplicatingDispatchersSendLess) {
  const ClusterSpec cluster = round_cluster();
  auto view = uniform_view(cluster, {.size = 4, .tier = 0, .inside = 4});
  const std::vector<Tensor> tensors = {
      {"sent", TensorClass::activation, DType::fp32, {{8000}}},
      {"received", TensorClass::activation, DType::fp32, {{8000}}}};
  Op op = collective(OpKind::all_to_all, Group::ep, {TensorId{0}}, {TensorId{1}});
  op.attr.experts = 64;
  op.attr.top_k = 8;
  const double all = price_op(op, tensors, {}, view, ideal_profile()).bytes.base();
  view.dispatcher = Dispatcher::hybridep;
  const double once = price_op(op, tensors, {}, view, ideal_profile()).bytes.base();
  EXPECT_DOUBLE_EQ(all, 32000.0 * 3 / 4);
  EXPECT_DOUBLE_EQ(once, all * distinct_units(4, 64, 8) / 8);
}

TEST(ViewCluster, FoldedGroups) {
  const ClusterSpec cluster = round_cluster();  // domains of 4
  Plan plan;
  plan.attention = {.tp = 2, .cp = 1, .dp = 4, .pp = 2};
  plan.expert = {.etp = 1, .ep = 4, .edp = 2};
  const ClusterView view = view_cluster(cluster, plan);
  auto at = [&](Group g) { return view.groups[static_cast<std::size_t>(g)]; };
  EXPECT_EQ(view.ranks, 16);
  EXPECT_EQ(at(Group::tp).size, 2);
  EXPECT_EQ(at(Group::tp).tier, 0u);
  EXPECT_EQ(at(Group::ep).tier, 0u);   // ranks 0-3
  EXPECT_EQ(at(Group::dp).tier, 1u);   // ranks 0, 2, 4, 6
  EXPECT_EQ(at(Group::dp).inside, 2);
  EXPECT_EQ(at(Group::edp).tier, 1u);  // ranks 0, 4
  EXPECT_EQ(at(Group::edp).inside, 1);
  EXPECT_EQ(at(Group::pp_next).tier, 1u);
  EXPECT_EQ(at(Group::pp_next).inside, 1);
}

// 64 of the 72 ranks of a domain are used when 256 ranks run, so that groups of 32 fit.
TEST(ViewCluster, DomainsAreFilledAlike) {
  ClusterSpec cluster = round_cluster();
  cluster.tiers[0].size = 72;
  Plan plan;
  plan.attention = {.tp = 1, .cp = 1, .dp = 256, .pp = 1};
  plan.expert = {.etp = 1, .ep = 32, .edp = 8};
  const ClusterView view = view_cluster(cluster, plan);
  auto at = [&](Group g) { return view.groups[static_cast<std::size_t>(g)]; };
  EXPECT_EQ(at(Group::ep).tier, 0u);
  EXPECT_EQ(at(Group::dp).tier, 1u);
  EXPECT_EQ(at(Group::dp).inside, 64);
  EXPECT_EQ(at(Group::edp).tier, 1u);
  EXPECT_EQ(at(Group::edp).inside, 2);
}

TEST(PriceOp, KindsOfAFamilyAreOfOneClass) {
  for (std::size_t i = 0; i < kOpKinds; ++i) {
    Op op;
    op.kind = static_cast<OpKind>(i);
    op.group = Group::dp;
    const CostClass own = class_of(op);
    op.kind = family_of(op.kind);
    EXPECT_EQ(own, class_of(op)) << name_of(op.kind);
  }
}

}  // namespace
}  // namespace pleat
