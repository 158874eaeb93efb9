// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Operations of one layer on streams: when each starts and what all of them take.
#include "simulator/streams.hpp"

#include <gtest/gtest.h>

#include "simulator/contention.hpp"
#include "tests/simulator/fixtures.hpp"

namespace pleat {
namespace {

using test::part_of;

StreamOp op(double seconds, CostClass cls, Stream stream, std::vector<int> after = {}) {
  return {.duration = Seconds(seconds), .cls = cls, .stream = stream, .after = std::move(after)};
}

TEST(Streams, CommunicationHidesBehindCompute) {
  const std::vector<StreamOp> ops = {
      op(2, CostClass::gemm, Stream::compute),
      op(3, CostClass::ep_comm, Stream::comm, {0}),       // 2..5
      op(2, CostClass::gemm, Stream::compute),            // 2..4
      op(1, CostClass::attention, Stream::compute, {1}),  // 5..6
      op(2, CostClass::tp_comm, Stream::comm, {0})};      // 5..7
  const StreamTimeline line = run_streams(ops);
  EXPECT_EQ(line.start, (std::vector<Seconds>{Seconds(0), Seconds(2), Seconds(2), Seconds(5),
                                              Seconds(5)}));
  EXPECT_DOUBLE_EQ(line.end.base(), 7);
  EXPECT_DOUBLE_EQ(part_of(line.parts, CostClass::gemm).base(), 4);
  EXPECT_DOUBLE_EQ(part_of(line.parts, CostClass::attention).base(), 1);
  EXPECT_DOUBLE_EQ(part_of(line.parts, CostClass::ep_comm).base(), 1);  // exposed 4..5
  EXPECT_DOUBLE_EQ(part_of(line.parts, CostClass::tp_comm).base(), 1);  // exposed 6..7
}

// While both run, compute has 3/4 of the SMs and the exchange takes half as long again: of 6 s
// beside each other compute does 4.5 s of work, the exchange all of its 4.
TEST(Streams, ConcurrentOpsSlowEachOtherDown) {
  std::vector<StreamOp> ops = {op(5, CostClass::gemm, Stream::compute),
                               op(4, CostClass::ep_comm, Stream::comm)};
  ops[1].sm_share = 0.25;
  ops[1].slowdown = 1.5;
  const StreamTimeline line = run_streams(ops);
  EXPECT_DOUBLE_EQ(line.finish[1].base(), 6);
  EXPECT_DOUBLE_EQ(line.end.base(), 6.5);
  EXPECT_DOUBLE_EQ(part_of(line.parts, CostClass::gemm).base(), 5);
  EXPECT_DOUBLE_EQ(part_of(line.parts, CostClass::ep_comm).base(), 1.5);
}

// A gather in pieces: the GEMM starts after a quarter of it; an op after both waits for both.
TEST(Streams, GatherInPiecesLeadsItsConsumer) {
  std::vector<StreamOp> ops = {op(4, CostClass::tp_comm, Stream::comm),
                               op(5, CostClass::gemm, Stream::compute, {0}),
                               op(1, CostClass::attention, Stream::compute, {1})};
  ops[1].with = 0;
  ops[1].lead = 0.25;
  const StreamTimeline line = run_streams(ops);
  EXPECT_DOUBLE_EQ(line.start[1].base(), 1);
  EXPECT_DOUBLE_EQ(line.end.base(), 7);
  ops[1].duration = Seconds(2);  // bound by the gather: the GEMM ends with it
  const StreamTimeline bound = run_streams(ops);
  EXPECT_DOUBLE_EQ(bound.finish[1].base(), 4);
  EXPECT_DOUBLE_EQ(bound.end.base(), 5);
  EXPECT_DOUBLE_EQ(part_of(bound.parts, CostClass::tp_comm).base(), 2);
}

// A reduction in pieces beside its GEMM: its last quarter comes after the GEMM.
TEST(Streams, ReductionInPiecesTrailsItsProducer) {
  std::vector<StreamOp> ops = {op(5, CostClass::gemm, Stream::compute),
                               op(4, CostClass::tp_comm, Stream::comm, {0})};
  ops[1].with = 0;
  ops[1].tail = 0.25;
  EXPECT_DOUBLE_EQ(run_streams(ops).end.base(), 6);
  ops[0].duration = Seconds(1);  // bound by the reduction
  EXPECT_DOUBLE_EQ(run_streams(ops).end.base(), 4);
}

TEST(Streams, EmptyTakesNoTime) {
  EXPECT_DOUBLE_EQ(run_streams({}).end.base(), 0);
}

// An exchange beside compute takes the SMs that it holds; the plan says their number only for
// exchanges with a kernel of their own.
TEST(Contention, ExchangesByNcclHoldItsSms) {
  ClusterSpec cluster = test::round_cluster();
  cluster.gpu.sms = 128;
  Profile profile = test::ideal_profile();
  profile.comm_slowdown = profile.comm_slowdown_of_compute = 1;
  const auto share = [&](Dispatcher dispatcher, int sms) {
    ClusterView view = test::uniform_view(cluster, {.size = 8});
    view.dispatcher = dispatcher;
    view.dispatcher_sms = sms;
    Op op;
    op.kind = OpKind::all_to_all;
    op.group = Group::ep;
    StreamOp exchange;
    exchange.stream = Stream::comm;
    set_contention(exchange, op, view, profile);
    return exchange.sm_share * cluster.gpu.sms;
  };
  for (const Dispatcher d :
       {Dispatcher::allgather, Dispatcher::alltoall, Dispatcher::hierarchical}) {
    EXPECT_DOUBLE_EQ(share(d, 0), profile.nccl_sms) << name_of(d);
    EXPECT_DOUBLE_EQ(share(d, 24), profile.nccl_sms) << name_of(d);
  }
  EXPECT_DOUBLE_EQ(share(Dispatcher::deepep, 0), profile.deepep_sms);
  EXPECT_DOUBLE_EQ(share(Dispatcher::hybridep, 32), 32);
  EXPECT_DOUBLE_EQ(share(Dispatcher::hybridep, 24), 32);  // of which nobody measured a rate
}

}  // namespace
}  // namespace pleat
