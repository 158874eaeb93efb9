// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What context parallelism, shard instances and expert dispatch put on the wire.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/program/program.hpp"
#include "tests/core/program/well_formed.hpp"
#include "tests/support/small_models.hpp"

namespace pleat {
namespace {

using test::problems_of;
using test::small_mla;
using test::small_moe;

constexpr std::int64_t kSeq = 16;

LayerProgram layer_in(const StageProgram& stage, LayerKind kind) {
  for (const LayerProgram& layer : stage.layers) {
    if (layer.kind == kind) return layer;
  }
  ADD_FAILURE() << "no such layer";
  return {};
}
LayerProgram moe_of(const StageProgram& stage) { return layer_in(stage, LayerKind::moe); }

LayerProgram layer_of(const ModelSpec& model, const Plan& plan, LayerKind kind = LayerKind::moe,
                      Runtime runtime = Runtime::megatron) {
  const Program p = compile(model, {.seq_len = kSeq, .global_batch = 8}, plan, runtime);
  const LayerProgram found = layer_in(p.stages[0], kind);
  const std::vector<std::string> problems = problems_of(found);
  EXPECT_TRUE(problems.empty()) << problems.front();
  return found;
}

const Op& op_of(const LayerProgram& layer, const std::string& name) {
  for (const auto* ops : {&layer.forward, &layer.backward}) {
    const auto found = std::ranges::find(*ops, name, &Op::name);
    if (found != ops->end()) return *found;
  }
  ADD_FAILURE() << name;
  static const Op kNone;
  return kNone;
}

std::int64_t elements(const LayerProgram& layer, TensorId id) {
  return layer.tensor(id).elements({.routed = 1});
}

bool has(const LayerProgram& layer, const std::string& name) {
  return std::ranges::count(layer.forward, name, &Op::name) +
             std::ranges::count(layer.backward, name, &Op::name) > 0;
}

Plan context_plan(CpComm comm, int cp, int inner = 0) {
  Plan p;
  p.attention.cp = cp;
  p.expert = {.etp = 1, .ep = cp, .edp = 1};
  p.cp_comm = comm;
  p.cp_a2a = inner;
  return p;
}

// 4 heads and 2 groups of 8 columns; q, k and v go there, o comes back, the same backward.
TEST(ContextParallel, HeadsAgainstSequence) {
  const LayerProgram two = layer_of(small_moe(), context_plan(CpComm::all_to_all, 2));
  const Op& there = op_of(two, "qkv.heads");
  EXPECT_EQ(there.kind, OpKind::all_to_all);
  EXPECT_EQ(there.group, Group::cp);
  EXPECT_EQ(elements(two, there.in.front()), 8 * (4 + 2 + 2) * 8);
  EXPECT_EQ(elements(two, there.out.front()), 16 * (2 + 1 + 1) * 8);
  EXPECT_EQ(elements(two, op_of(two, "attn.tokens").in.front()), 16 * 2 * 8);
  EXPECT_EQ(op_of(two, "attn.tokens.bwd").kind, OpKind::all_to_all);
  EXPECT_EQ(op_of(two, "qkv.heads.bwd").kind, OpKind::all_to_all_back);
  EXPECT_FALSE(has(two, "kv.ag"));
  EXPECT_EQ(op_of(two, "attn").attr.heads, 2);
  // With four ranks each group lies on two of them.
  const LayerProgram four = layer_of(small_moe(), context_plan(CpComm::all_to_all, 4));
  EXPECT_EQ(elements(four, op_of(four, "qkv.heads").out.front()), 16 * (1 + 1 + 1) * 8);
}

// MLA: keys of every head with their rotary part.
TEST(ContextParallel, LatentHeadsAgainstSequence) {
  const LayerProgram layer =
      layer_of(small_mla(), context_plan(CpComm::all_to_all, 2), LayerKind::dense);
  EXPECT_EQ(elements(layer, op_of(layer, "q.heads").out.front()), 16 * 2 * (6 + 4));
  EXPECT_EQ(elements(layer, op_of(layer, "kv.heads").out.front()), 16 * 2 * (6 + 4 + 8));
  EXPECT_EQ(op_of(layer, "kv.heads.bwd.unpack").out.size(),
            2u);  // dkv and the latent's rotary part
}

// Two ranks share the heads, a ring of two such groups passes the keys and values of one group.
TEST(ContextParallel, HierarchicalMix) {
  const LayerProgram layer = layer_of(small_moe(), context_plan(CpComm::a2a_p2p, 4, 2));
  EXPECT_EQ(op_of(layer, "qkv.heads").group, Group::cp_heads);
  const Op& ring = op_of(layer, "kv.ag");
  EXPECT_EQ(ring.group, Group::cp_ring);
  EXPECT_TRUE(ring.in_pieces);
  EXPECT_EQ(elements(layer, ring.out.front()), 16 * (1 + 1) * 8);
  EXPECT_EQ(elements(layer, op_of(layer, "attn").out.front()), 8 * 2 * 8);
}

// Backward two pieces of keys and values and two of their gradients, forward all of them.
TEST(ContextParallel, RingHoldsTwoPiecesBackward) {
  const LayerProgram layer = layer_of(small_moe(), context_plan(CpComm::p2p, 4));
  const std::int64_t piece = 4 * (2 + 2) * 8;
  EXPECT_EQ(elements(layer, op_of(layer, "kv.ag").out.front()), 4 * piece);
  const Op& again = op_of(layer, "kv.ag.again");
  EXPECT_EQ(elements(layer, again.out.front()), 2 * piece);
  EXPECT_EQ(again.attr.n.n, 4 * piece);  // what travels
  EXPECT_EQ(elements(layer, op_of(layer, "kv.rs").in.front()), 2 * piece);
  EXPECT_EQ(op_of(layer, "kv.rs").attr.n.n, 4 * piece);
  const LayerProgram gathered = layer_of(small_moe(), context_plan(CpComm::all_gather, 4));
  EXPECT_EQ(elements(gathered, op_of(gathered, "kv.ag.again").out.front()), 4 * piece);
  EXPECT_FALSE(op_of(gathered, "kv.ag").in_pieces);
}

Plan expert_plan(Dispatcher dispatcher, int etp = 1) {
  Plan p;
  p.attention.dp = 4 * etp;
  p.expert = {.etp = etp, .ep = 4, .edp = 1};
  p.dispatcher = dispatcher;
  return p;
}

TEST(Dispatch, AllGatherSharesTokens) {
  for (const int etp : {1, 2}) {
    const LayerProgram layer = layer_of(small_moe(), expert_plan(Dispatcher::allgather, etp));
    const std::int64_t all = kSeq * 4 * etp;
    const Op& gather = op_of(layer, "dispatch");
    EXPECT_EQ(gather.kind, OpKind::all_gather);
    EXPECT_EQ(gather.group, Group::etp_ep);
    EXPECT_EQ(elements(layer, gather.out.front()), all * 32);
    EXPECT_EQ(op_of(layer, "dispatch.probs").attr.n.n, all * 8);  // the dense probabilities
    EXPECT_EQ(op_of(layer, "combine").kind, OpKind::reduce_scatter);
    EXPECT_EQ(elements(layer, op_of(layer, "combine").in.front()), all * 32);
    EXPECT_EQ(op_of(layer, "dispatch.bwd").kind, OpKind::reduce_scatter);
    EXPECT_EQ(op_of(layer, "combine.bwd").kind, OpKind::all_gather);
    // Rows of the local experts: R, times the ETP ranks that share them.
    EXPECT_EQ(elements(layer, op_of(layer, "experts.fc1").in.front()), etp * 32);
    EXPECT_FALSE(has(layer, "etp.ag"));
  }
}

// Rows of the etp peers are gathered before they are sorted: every peer sorts all of them.
TEST(Dispatch, SplitExpertsGatherThenSort) {
  const LayerProgram layer = layer_of(small_moe(), expert_plan(Dispatcher::alltoall, 2));
  EXPECT_EQ(op_of(layer, "all_counts").group, Group::etp_ep);
  EXPECT_EQ(layer.tensor(op_of(layer, "all_counts").out.front()).shape.front().n, 8);
  const Op& gather = op_of(layer, "etp.ag");
  EXPECT_EQ(gather.in.front(), op_of(layer, "dispatch").out.front());
  EXPECT_EQ(op_of(layer, "sorted").in.front(), gather.out.front());
  EXPECT_EQ(op_of(layer, "etp.rs").in.front(), op_of(layer, "unsorted").out.front());
  // Twice R where the peers' counts are not known, else what they are.
  const Tensor& rows = layer.tensor(gather.out.front());
  EXPECT_EQ(rows.rows({.routed = 5}), 10);
  EXPECT_EQ(rows.rows({.routed = 5, .gathered = 7}), 7);
}

TEST(Dispatch, SplitExpertsOfOneRankHaveFixedRows) {
  Plan plan = expert_plan(Dispatcher::alltoall, 2);
  plan.attention.dp = 2;
  plan.expert.ep = 1;
  const LayerProgram layer = layer_of(small_moe(), plan);
  EXPECT_EQ(layer.tensor(op_of(layer, "etp.ag").out.front()).rows({}), 2 * kSeq * 2);
  EXPECT_EQ(op_of(layer, "etp.ag").in.size(), 1U);  // no counts: the peers have as many
  EXPECT_TRUE(has(layer, "sorted"));
}

LayerProgram limited(const WorkloadSpec& workload) {
  const Program p =
      compile(small_moe(), workload, expert_plan(Dispatcher::alltoall), Runtime::pleat);
  return moe_of(p.stages[0]);
}

// 16 tokens, two copies each, eight experts: 1.3 times the mean of four is 6 rows.
TEST(Capacity, DropsCopiesOfEachRank) {
  const LayerProgram layer =
      limited({.seq_len = kSeq, .global_batch = 8, .capacity_factor = 1.3});
  EXPECT_TRUE(problems_of(layer).empty());
  const Op& drop = op_of(layer, "drop");
  EXPECT_EQ(drop.attr.capacity, 6);
  EXPECT_EQ(op_of(layer, "permute").in[2], drop.out[0]);
  EXPECT_NE(op_of(layer, "topk.bwd").in[3], drop.out[0]);  // what is dropped was chosen still
  EXPECT_FALSE(has(layer, "counts"));
  const Tensor& sent = layer.tensor(op_of(layer, "permute").out.front());
  EXPECT_EQ(sent.rows({}), 32);
  EXPECT_EQ(sent.rows({.kept = 20}), 20);
}

TEST(Capacity, PaddedExpertsHaveFixedRowsAndExchangeNoCounts) {
  const LayerProgram layer = limited(
      {.seq_len = kSeq, .global_batch = 8, .capacity_factor = 1.3, .pad_to_capacity = true});
  EXPECT_TRUE(problems_of(layer).empty());
  for (const char* name : {"permute", "dispatch", "sorted"}) {
    EXPECT_EQ(layer.tensor(op_of(layer, name).out.front()).rows({}), 8 * 6) << name;
  }
  EXPECT_EQ(op_of(layer, "all_counts").kind, OpKind::expert_counts);
  EXPECT_EQ(op_of(layer, "all_counts").group, Group::none);
}

const Op* step_op(const Plan& plan, Runtime runtime, const std::string& name) {
  static Program p;
  p = compile(small_moe(), {.seq_len = kSeq, .global_batch = 8}, plan, runtime);
  const auto& ops = p.stages[0].epilogue;
  const auto found = std::ranges::find(ops, name, &Op::name);
  return found == ops.end() ? nullptr : &*found;
}

// Two key heads over four ranks: pairs of ranks sum their rows' gradients, in every layer.
TEST(TensorParallel, RanksWithTheSameKeyHeadsSumTheirGradients) {
  Plan plan;
  plan.attention.tp = 4;
  plan.expert.edp = 4;
  const Op* op = step_op(plan, Runtime::pleat, "dense.kv_sync");
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->group, Group::tp);
  EXPECT_EQ(op->attr.run, 2);
  EXPECT_EQ(op->attr.n.n, 2 * 8 * 32);  // a key and a value head
  EXPECT_EQ(step_op(plan, Runtime::megatron, "dense.kv_sync"), nullptr);
  plan.attention.tp = 2;
  plan.expert.edp = 2;
  EXPECT_EQ(step_op(plan, Runtime::pleat, "dense.kv_sync"), nullptr);
}

// Without sequence parallelism every rank has all tokens' gradients of a layer norm.
TEST(TensorParallel, GradientsOfReplicatedWeightsAreSummedWhereTheyAreParts) {
  Plan plan;
  plan.attention.tp = 2;
  plan.expert.edp = 2;
  const Op* op = step_op(plan, Runtime::megatron, "dense.tp_sync");
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->attr.n.n, (4 * 2 + 1) * 32 + 3 * 8 * 32);  // norms, routers
  plan.sequence_parallel = false;
  EXPECT_EQ(step_op(plan, Runtime::megatron, "dense.tp_sync"), nullptr);
}

TEST(Dispatch, TileLevelKernelsSortOnTheWay) {
  Plan plan = expert_plan(Dispatcher::alltoall);
  plan.overlap.tile_level = true;
  const LayerProgram exchange = layer_of(small_moe(), plan);
  EXPECT_FALSE(has(exchange, "sorted"));
  EXPECT_FALSE(has(exchange, "unsorted"));
  EXPECT_TRUE(op_of(exchange, "dispatch").in_pieces);
  EXPECT_TRUE(op_of(exchange, "combine.bwd").in_pieces);
  EXPECT_FALSE(op_of(exchange, "dispatch.probs").in_pieces);
  plan.dispatcher = Dispatcher::allgather;
  const LayerProgram gather = layer_of(small_moe(), plan);
  EXPECT_FALSE(has(gather, "permute"));
  EXPECT_EQ(op_of(gather, "dispatch").attr.n.n, kSeq * 4 * 32);  // all tokens travel
  EXPECT_EQ(elements(gather, op_of(gather, "dispatch").out.front()), 32);  // R rows are kept
}

TEST(Dispatch, NarrowRows) {
  Plan plan = expert_plan(Dispatcher::alltoall);
  plan.fp8_dispatch = true;
  const LayerProgram bf16 = layer_of(small_moe(), plan);
  const double narrow = (1 + 4.0 / 128) / 2;
  EXPECT_DOUBLE_EQ(op_of(bf16, "dispatch").attr.wire, narrow);
  EXPECT_DOUBLE_EQ(op_of(bf16, "combine.bwd").attr.wire, narrow);
  EXPECT_DOUBLE_EQ(op_of(bf16, "combine").attr.wire, 1);
  EXPECT_DOUBLE_EQ(op_of(bf16, "dispatch.probs").attr.wire, 1);
  EXPECT_DOUBLE_EQ(op_of(bf16, "dispatch.narrow").attr.passes, 1.5 / 2);  // tokens, before 2 copies
  EXPECT_DOUBLE_EQ(op_of(bf16, "dispatch.wide").attr.passes, 1.5);
  plan.precision = Precision::fp8_block;
  plan.fp8_combine = true;
  const LayerProgram fp8 = layer_of(small_moe(), plan);
  EXPECT_FALSE(has(fp8, "dispatch.narrow"));  // its products convert anyway
  EXPECT_DOUBLE_EQ(op_of(fp8, "combine").attr.wire, narrow);
  EXPECT_TRUE(has(fp8, "combine.narrow"));
  EXPECT_FALSE(has(fp8, "combine.wide"));
}

std::vector<std::string> sync_ops(const StageProgram& stage) {
  std::vector<std::string> found;
  for (const Op& op : stage.epilogue) {
    if (op.module == Module::grad_sync) {
      found.push_back(op.name + " " + name_of(op.kind) + " " + name_of(op.group));
    }
  }
  return found;
}

Program sharded(const Plan& plan) {
  return compile(small_moe(), {.seq_len = kSeq, .global_batch = 8}, plan, Runtime::megatron);
}

TEST(ShardInstances, ReduceInsideAndAcross) {
  Plan plan;
  plan.attention.dp = 8;
  plan.expert = {.etp = 1, .ep = 2, .edp = 4};
  plan.optimizer_instances = 2;
  const Program p = sharded(plan);
  EXPECT_EQ(sync_ops(p.stages[0]),
            (std::vector<std::string>{"dense.grad_sync reduce_scatter dp_shard",
                                      "dense.grad_sync.replicas all_reduce dp_replicas",
                                      "expert.grad_sync reduce_scatter edp_shard",
                                      "expert.grad_sync.replicas all_reduce edp_replicas",
                                      "dense.param_gather all_gather dp_shard",
                                      "expert.param_gather all_gather edp_shard"}));
  EXPECT_EQ(p.stages[0].buckets[0].shards, 4);
  EXPECT_EQ(p.stages[0].buckets[1].shards, 2);
  // What is summed across is the part that one instance leaves on a rank.
  const auto across =
      std::ranges::find(p.stages[0].epilogue, "dense.grad_sync.replicas", &Op::name);
  EXPECT_EQ(across->attr.n.n, (p.stages[0].buckets[0].elements + 3) / 4);
}

TEST(ShardInstances, GroupsOfFullyShardedRanks) {
  Plan plan;
  plan.attention.dp = 8;
  plan.expert = {.etp = 1, .ep = 2, .edp = 4};
  plan.sharding = Sharding::zero3;
  plan.fsdp_group = 4;
  const Program p = sharded(plan);
  EXPECT_EQ(sync_ops(p.stages[0]),
            (std::vector<std::string>{"dense.grad_sync.replicas all_reduce dp_replicas",
                                      "expert.grad_sync.replicas all_reduce edp_replicas"}));
  const LayerProgram moe = moe_of(p.stages[0]);
  EXPECT_EQ(op_of(moe, "dense.gather").group, Group::dp_shard);
  EXPECT_EQ(op_of(moe, "expert.grad_sync").group, Group::edp_shard);
}

TEST(ShardInstances, NarrowGradients) {
  Plan plan;
  plan.attention.dp = 2;
  plan.expert = {.etp = 1, .ep = 2, .edp = 1};
  plan.optimizer.grad_reduce = DType::bf16;
  const Program p = sharded(plan);
  for (const Op& op : p.stages[0].epilogue) {
    if (op.module != Module::grad_sync) continue;
    EXPECT_DOUBLE_EQ(op.attr.wire, op.kind == OpKind::reduce_bucket ? 0.5 : 1.0) << op.name;
  }
}

}  // namespace
}  // namespace pleat
