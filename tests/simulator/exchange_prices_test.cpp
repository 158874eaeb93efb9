// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Collectives and exchanges of experts in the price of an op, against values worked out by hand.
#include <gtest/gtest.h>

#include "simulator/cost/op_work.hpp"
#include "tests/simulator/fixtures.hpp"

namespace pleat {
namespace {

using test::ideal_profile;
using test::round_cluster;
using test::uniform_view;

const std::vector<Tensor> kWholePart = {{"part", TensorClass::activation, DType::fp32, {{1000}}},
                                        {"whole", TensorClass::activation, DType::fp32, {{4000}}}};

TEST(CollectivePrice, MeasuredWithinADomain) {
  const ClusterSpec cluster = round_cluster();
  Profile p = ideal_profile();
  CollectiveTable table;
  table.series[0] = {{.ranks = 2, .bytes = {8000, 16000}, .seconds = {1e-3, 2e-3}}};
  p.collective_times.pointer = std::make_shared<const CollectiveTable>(table);
  p.collectives[0][0].latency_per_rank = Seconds(1e-5);
  Op op;
  op.kind = OpKind::all_gather;
  op.group = Group::tp;
  op.in = {TensorId{0}};
  op.out = {TensorId{1}};
  const auto price = [&](GroupPlace place) {
    return price_op(op, kWholePart, {}, uniform_view(cluster, place), p);
  };
  const OpCost two = price({.size = 2, .tier = 0, .inside = 2});
  EXPECT_DOUBLE_EQ(two.time.base(), 2e-3);
  EXPECT_EQ(two.source, SourceClass::measured);
  // 4 ranks: 3/4 of the tensor on the wire instead of 1/2, and two more steps.
  const OpCost four = price({.size = 4, .tier = 0, .inside = 4});
  EXPECT_DOUBLE_EQ(four.time.base(), 2e-3 * 1.5 + 2e-5);
  EXPECT_EQ(four.source, SourceClass::fitted);
  // Across domains the law counts.
  const OpCost far = price({.size = 2, .tier = 1, .inside = 1});
  EXPECT_DOUBLE_EQ(far.time.base(), 1e-5 * 0 + 16000.0 / 2 / 10e9);
}

TEST(CollectivePrice, SlowStart) {
  const ClusterSpec cluster = round_cluster();
  Profile p = ideal_profile();
  p.collectives[0][1].slow_start = Bytes(64000);  // four times the tensor: sqrt 4 more
  Op op;
  op.kind = OpKind::reduce_scatter;
  op.group = Group::tp;
  op.in = {TensorId{1}};
  op.out = {TensorId{0}};
  const auto view = uniform_view(cluster, {.size = 4, .tier = 0, .inside = 4});
  EXPECT_DOUBLE_EQ(price_op(op, kWholePart, {}, view, p).time.base(), 12000 / 100e9 * 3);
}

TEST(CollectivePrice, LargeJobsReduceOverATree) {
  const ClusterSpec cluster = round_cluster();
  Profile p = ideal_profile();
  for (auto& tier : p.collectives) tier[2].latency_per_rank = Seconds(1e-5);
  Op op;
  op.kind = OpKind::all_reduce;
  op.group = Group::dp;
  op.in = op.out = {TensorId{1}};
  const auto view = uniform_view(cluster, {.size = 1024, .tier = 1, .inside = 4});
  const double transfer = 2 * 16000.0 * 1023 / 1024 / 40e9;
  EXPECT_NEAR(price_op(op, kWholePart, {}, view, p).time.base(),
              2 * (3e-5 + 8 * 1e-5) + transfer / 0.92, 1e-12);
}

Op dispatch_op(OpKind kind) {
  Op op;
  op.kind = kind;
  op.group = Group::ep;
  op.in = {TensorId{1}};
  op.out = {TensorId{1}};
  op.attr.experts = 64;
  op.attr.top_k = 8;
  return op;
}

TEST(DispatchPrice, LogicalBytesAtTheMeasuredRate) {
  const ClusterSpec cluster = round_cluster();
  Profile p = ideal_profile();
  const auto rate = [](int tier, int ranks, int sms, double gather, double combine) {
    return DispatchRate{.kernel = DispatchKernel::hybridep,
                        .tier = tier,
                        .ranks = ranks,
                        .sms = sms,
                        .dispatch = BytesPerSecond(gather),
                        .combine = BytesPerSecond(combine)};
  };
  p.dispatch = {rate(0, 2, 32, 1e9, 2e9), rate(0, 8, 32, 3e9, 4e9), rate(0, 2, 16, 5e8, 5e8),
                rate(1, 8, 32, 1e8, 1e8)};
  auto view = uniform_view(cluster, {.size = 2, .tier = 0, .inside = 2});
  view.dispatcher = Dispatcher::hybridep;
  const auto time = [&](OpKind kind) {
    return price_op(dispatch_op(kind), kWholePart, {}, view, p).time.base();
  };
  const double fixed = 20e-6;
  const auto payload = [](int units) { return 16000 * distinct_units(units, 64, 8) / 8; };
  EXPECT_DOUBLE_EQ(time(OpKind::all_to_all), fixed + payload(2) / 1e9);
  EXPECT_DOUBLE_EQ(time(OpKind::all_to_all_back), fixed + payload(2) / 2e9);
  view.dispatcher_sms = 20;  // 16 is nearest
  EXPECT_DOUBLE_EQ(time(OpKind::all_to_all), fixed + payload(2) / 5e8);
  view.dispatcher_sms = 0;
  view.groups.fill({.size = 4, .tier = 0, .inside = 4});  // half way between 2 and 8
  EXPECT_DOUBLE_EQ(time(OpKind::all_to_all), fixed + payload(4) / 2e9);
  view.groups.fill({.size = 8, .tier = 1, .inside = 4});  // two nodes
  EXPECT_DOUBLE_EQ(time(OpKind::all_to_all), fixed + payload(2) / 1e8);
  view.dispatcher = Dispatcher::deepep;  // no rate of that kernel: the links
  EXPECT_LT(time(OpKind::all_to_all), 5e-6);
}

TEST(AllToAll, SmallMessagesAreSlow) {
  const ClusterSpec cluster = round_cluster();
  Profile p = ideal_profile();
  p.collectives[1][3].small_message = Bytes(6000);
  const auto view = uniform_view(cluster, {.size = 8, .tier = 1, .inside = 4});
  const double plain = 16000.0 * 4 / 8 / 10e9;  // 2000 bytes a peer: a quarter of the rate
  EXPECT_DOUBLE_EQ(price_op(dispatch_op(OpKind::all_to_all), kWholePart, {}, view, p).time.base(),
                   4 * plain);
}

}  // namespace
}  // namespace pleat
