// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The steps of a ring of keys and values, and the layout of what is sharded layer by layer.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/program/passes/layer_passes.hpp"
#include "core/program/program.hpp"
#include "tests/core/program/well_formed.hpp"
#include "tests/support/small_models.hpp"

namespace pleat {
namespace {

Plan ring_plan(CpComm comm, int cp, int inner = 0) {
  Plan p = test::fp32_plan();
  p.attention.cp = cp;
  p.expert.edp = cp;
  p.cp_comm = comm;
  p.cp_a2a = inner;
  return p;
}

LayerProgram dense_layer(const ModelSpec& model, const Plan& plan) {
  const Program p = compile(model, test::small_workload(), plan, Runtime::pleat);
  for (const LayerProgram& layer : p.stages[0].layers) {
    if (layer.kind == LayerKind::dense) return layer;
  }
  return {};
}

std::ptrdiff_t count_of(const std::vector<Op>& ops, OpKind kind) {
  return std::ranges::count(ops, kind, &Op::kind);
}

// Pieces of keys and values alive at once.
int most_pieces(const LayerProgram& layer, Pass pass, const std::string& prefix) {
  int now = 0, most = 0;
  for (int i = 0; i < static_cast<int>(layer.ops(pass).size()); ++i) {
    const auto matches = [&](const std::optional<Point>& at, const Lifetime& life) {
      return at == Point{pass, i} && layer.tensor(life.tensor).name.starts_with(prefix);
    };
    for (const Lifetime& life : layer.lives) now += matches(life.begin, life) ? 1 : 0;
    most = std::max(most, now);
    for (const Lifetime& life : layer.lives) now -= matches(life.end, life) ? 1 : 0;
  }
  return most;
}

TEST(Ring, PassesPiecesAroundAndGradientsHome) {
  for (const ModelSpec& model : {test::small_moe(), test::small_mla()}) {
    const LayerProgram layer = dense_layer(model, ring_plan(CpComm::p2p, 4));
    EXPECT_EQ(test::problems_of(layer), std::vector<std::string>{});
    EXPECT_EQ(count_of(layer.forward, OpKind::gather_keys), 0);
    EXPECT_EQ(count_of(layer.backward, OpKind::reduce_key_gradients), 0);
    EXPECT_EQ(count_of(layer.forward, OpKind::ring_shift), 3);
    EXPECT_EQ(count_of(layer.backward, OpKind::ring_shift), 3 + 4);
    std::vector<std::int64_t> steps;
    for (const Op& op : layer.forward) {
      if (op.attr.pieces == 4) steps.push_back(op.attr.piece);
    }
    EXPECT_EQ(steps, (std::vector<std::int64_t>{0, 1, 2, 3}));
    EXPECT_EQ(most_pieces(layer, Pass::forward, "kv."), 2);
    EXPECT_EQ(most_pieces(layer, Pass::backward, "kv.ring.again"), 2);
    EXPECT_EQ(most_pieces(layer, Pass::backward, "d.kv.ring"), 2);
  }
}

TEST(Ring, OnlyWhereThePlanHasOne) {
  for (const Plan& plan : {ring_plan(CpComm::all_gather, 4), ring_plan(CpComm::all_to_all, 4)}) {
    const LayerProgram layer = dense_layer(test::small_moe(), plan);
    EXPECT_EQ(count_of(layer.forward, OpKind::ring_shift), 0);
  }
  const LayerProgram mixed =
      dense_layer(test::small_moe(), ring_plan(CpComm::a2a_p2p, 4, 2));
  EXPECT_EQ(count_of(mixed.forward, OpKind::ring_shift), 1);
  EXPECT_EQ(count_of(mixed.forward, OpKind::split_heads), 1);
}

TEST(Units, AreWholeShardsOfOneLayerEach) {
  Plan plan = test::fp32_plan(3);
  plan.sharding = Sharding::zero3;
  const Program p = compile(test::small_moe(), {.seq_len = 16, .global_batch = 3}, plan,
                            Runtime::pleat);
  const BucketState& dense = p.stages[0].buckets[0];
  ASSERT_EQ(dense.units.size(), 6u);  // embedding, four layers, head
  std::int64_t end = 0;
  for (const BucketUnit& u : dense.units) {
    EXPECT_EQ(u.begin, end);
    EXPECT_EQ(u.elements % 3, 0);
    end = u.begin + u.elements;
  }
  EXPECT_EQ(end, dense.elements);
  EXPECT_EQ(dense.shard_elements * 3, end);
  EXPECT_EQ(dense.units[0].elements, 2049);  // 64 x 32 and one of padding
  for (const LayerInstance& i : p.stages[0].chunks[0].instances) {
    const LayerProgram& layer = p.stages[0].program(i);
    ASSERT_FALSE(layer.sharded.empty());
    EXPECT_EQ(layer.tensor(*layer.sharded[0].forward).elements({}) % 3, 0);
    EXPECT_EQ(layer.tensor(*layer.sharded[0].forward).dtype, DType::fp32);
  }
}

}  // namespace
}  // namespace pleat
