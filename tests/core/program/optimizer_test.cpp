// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What each optimizer keeps and does, and where: kinds, types, shares in host memory.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/program/program.hpp"
#include "core/program/step_state.hpp"
#include "tests/support/small_models.hpp"

namespace pleat {
namespace {

using test::small_moe;
using test::small_workload;

Plan bf16_plan(OptimizerKind kind = OptimizerKind::adamw) {
  Plan p = test::fp32_plan(4, 2);
  p.precision = Precision::bf16;
  p.optimizer.kind = kind;
  return p;
}

StageProgram stage_of(const Plan& plan) {
  return compile(small_moe(), small_workload(), plan, Runtime::megatron).stages[0];
}

// Elements of the state tensor of that name; -1 where there is none.
std::int64_t elements_of(const StageProgram& stage, const std::string& name) {
  const auto found = std::ranges::find(stage.state, name, &Tensor::name);
  return found == stage.state.end() ? -1 : found->elements({});
}

std::vector<std::string> names(const StageProgram& stage, OpKind kind) {
  std::vector<std::string> found;
  for (const Op& op : stage.epilogue) {
    if (family_of(op.kind) == kind) found.push_back(op.name);
  }
  return found;
}

TEST(Optimizer, AdamKeepsTwoMomentsSgdOne) {
  const StageProgram adam = stage_of(bf16_plan()), sgd = stage_of(bf16_plan(OptimizerKind::sgd));
  const std::int64_t shard = adam.buckets[0].shard_elements;
  EXPECT_EQ(elements_of(adam, "dense.exp_avg_sq"), shard);
  EXPECT_EQ(elements_of(sgd, "dense.exp_avg_sq"), -1);
  EXPECT_EQ(elements_of(sgd, "dense.exp_avg"), shard);
  EXPECT_EQ(elements_of(sgd, "dense.main_params"), shard);
  EXPECT_EQ(names(sgd, OpKind::adamw), std::vector<std::string>{});
  EXPECT_EQ(names(sgd, OpKind::momentum), (std::vector<std::string>{"dense.sgd", "expert.sgd"}));
}

TEST(Optimizer, LambReadsParametersAndStepOnceMore) {
  const StageProgram lamb = stage_of(bf16_plan(OptimizerKind::lamb));
  EXPECT_EQ(names(lamb, OpKind::copy),
            (std::vector<std::string>{"dense.trust_ratio", "dense.cast", "expert.trust_ratio",
                                      "expert.cast"}));
}

// h 32, 4 heads and 2 groups of 8, ffn 48 and 24, 8 experts over EP 2, 4 layers, the first dense.
TEST(Optimizer, MuonTakesTheMatricesAndAdamTheRest) {
  const StageProgram muon = stage_of(bf16_plan(OptimizerKind::muon));
  ASSERT_EQ(muon.buckets.size(), 4u);
  const std::int64_t attention = 32 * (32 + 16 + 16) + 32 * 32;
  const std::int64_t shared = 32 * 32 + 32 * 16, router = 8 * 32, dense = 32 * 96 + 48 * 32;
  EXPECT_EQ(muon.buckets[2].elements, 4 * attention + 3 * (shared + router) + dense);
  EXPECT_EQ(muon.buckets[3].elements, 3 * 4 * (32 * 48 + 24 * 32));
  EXPECT_EQ(muon.buckets[1].elements, 0);
  EXPECT_EQ(muon.buckets[0].elements, 2 * 64 * 32 + (2 * 4 + 1) * 32);  // tables and norms
  EXPECT_EQ(elements_of(muon, "dense.matrix.exp_avg_sq"), -1);
  EXPECT_EQ(elements_of(muon, "dense.exp_avg_sq"), muon.buckets[0].shard_elements);
  EXPECT_EQ(elements_of(muon, "dense.matrix.exp_avg"), muon.buckets[2].shard_elements);
  EXPECT_EQ(names(muon, OpKind::adamw), std::vector<std::string>{"dense.adamw"});
  EXPECT_EQ(names(muon, OpKind::momentum),
            (std::vector<std::string>{"dense.matrix.momentum", "expert.matrix.momentum"}));
}

// Experts: 12 matrices of each shape over EDP 2, so 6 of each on a rank. Their workspace is three
// of the largest in fp32.
TEST(Optimizer, MuonDealsWholeMatricesToRanks) {
  const Plan plan = bf16_plan(OptimizerKind::muon);
  const StageProgram stage = stage_of(plan);
  const std::vector<MatrixShape> owned = owned_matrices(stage, small_moe(), plan, 3);
  EXPECT_EQ(owned, (std::vector<MatrixShape>{{48, 32, 6}, {32, 24, 6}}));
  EXPECT_EQ(elements_of(stage, "expert.matrix.workspace"), 3 * 48 * 32);
  // Queries, keys and values apart; four ranks share 4 layers' 16 attention matrices and the rest.
  std::int64_t matrices = 0;
  for (const MatrixShape& m : owned_matrices(stage, small_moe(), plan, 2)) matrices += m.count;
  EXPECT_GE(matrices, (4 * 4 + 3 * 3 + 2) / 4);
  for (const MatrixShape& m : owned_matrices(stage, small_moe(), plan, 2)) {
    EXPECT_FALSE(m.rows == 64 && m.columns == 32) << "packed query, key and value";
  }
}

TEST(Optimizer, MuonOrthogonalisesWholeMatricesOverTensorParallelism) {
  Plan plan = bf16_plan(OptimizerKind::muon);
  plan.attention = {.tp = 2, .cp = 1, .dp = 2, .pp = 1};
  const StageProgram stage = stage_of(plan);
  const std::vector<MatrixShape> owned = owned_matrices(stage, small_moe(), plan, 2);
  const auto whole = [&](std::int64_t rows, std::int64_t columns) {
    return std::ranges::any_of(owned, [=](const MatrixShape& m) {
      return m.rows == rows && m.columns == columns;
    });
  };
  EXPECT_TRUE(whole(96, 32));  // fc1 of the dense layer, rows split
  EXPECT_EQ(names(stage, OpKind::all_gather).front(), "dense.param_gather");
  EXPECT_EQ(std::ranges::count(names(stage, OpKind::all_gather), "dense.matrix.gather_matrices"),
            1);
}

// The pleat runtime's program: each matrix by itself, as many as a shard has at most.
TEST(Optimizer, MuonOfTheBackendStepsEachMatrixByItself) {
  Plan plan = test::tp_plan(2, 2, 2);
  plan.optimizer.kind = OptimizerKind::muon;
  const StageProgram stage = compile(small_moe(), small_workload(), plan, Runtime::pleat).stages[0];
  const std::vector<MatrixPart>& all = stage.buckets[2].matrices;
  EXPECT_EQ(all.size(), 4 * (3 + 1) + 2 + 3 * 3);  // q, k, v, projection; dense; router and shared
  std::int64_t at = 0;
  for (const MatrixPart& m : all) {
    EXPECT_EQ(m.first, at);
    at += m.elements();
  }
  EXPECT_EQ(at, stage.buckets[2].elements);
  EXPECT_EQ(stage.buckets[3].matrices.size(), 3 * 4 * 2);  // two matrices of four local experts
  // Fc1 of the dense layer: gate and up, rows of both on each rank.
  const auto fc1 = std::ranges::find_if(all, [](const MatrixPart& m) { return m.rows == 48; });
  ASSERT_NE(fc1, all.end());
  EXPECT_EQ(whole_shape(*fc1), (MatrixShape{96, 32, 1}));
  const auto fc2 = std::ranges::find_if(all, [](const MatrixPart& m) { return m.columns == 24; });
  ASSERT_NE(fc2, all.end());
  EXPECT_EQ(whole_shape(*fc2), (MatrixShape{32, 48, 1}));
  // A shard has its matrices and those at its ends: both sides of a border step the one on it.
  const std::int64_t half = stage.buckets[2].shard_elements;
  const std::size_t first = matrices_in(all, 0, half).size();
  const std::size_t second = matrices_in(all, half, 2 * half).size();
  EXPECT_GE(first + second, all.size());
  EXPECT_LE(first + second, all.size() + 1);
  std::size_t iterations = 0, gathers = 0;
  for (const Op& op : stage.epilogue) {
    if (op.name.starts_with("dense.matrix.newton_schulz")) ++iterations;
    if (op.name.starts_with("dense.matrix.gather_matrix")) ++gathers;
    EXPECT_FALSE(op.name.starts_with("expert.matrix.gather_matrix")) << "experts are whole";
  }
  EXPECT_EQ(iterations, std::max(first, second));
  EXPECT_EQ(gathers, iterations);
  EXPECT_EQ(elements_of(stage, "dense.matrix.workspace"), 3 * 96 * 32);
}

// Blocks of 128 begin anew where ranks of tp hold the same elements, and with each unit.
TEST(Optimizer, BlocksOfScalesKeepToCopiesAndUnits) {
  BucketState b;
  b.elements = 2000;
  b.shards = 2;
  b.shard_elements = 1000;
  b.copies = {{0, 100, 4}, {100, 50, 4}, {700, 600, 2, true}, {1900, 100, 1}};
  const auto text = [&](std::int64_t shard, std::int64_t first, std::int64_t elements_of) {
    std::string s;
    for (const ShardPart& p : shard_parts(b, shard, first, elements_of)) {
      s += std::to_string(p.whole) + ":" + std::to_string(p.first) + "+" +
           std::to_string(p.elements) + "/" + std::to_string(p.scales) + " ";
    }
    return s;
  };
  EXPECT_EQ(text(0, 0, 1000), "0:0+150/0 150:150+550/2 700:700+300/7 ");
  EXPECT_EQ(text(1, 0, 1000), "1000:0+300/0 1300:300+700/3 ");
  EXPECT_EQ(text(1, 400, 200), "1400:400+200/0 ");
  EXPECT_EQ(moment_scales(b, 0, 1000), 2 + 5 + 3);
  EXPECT_EQ(moment_scales(b, 300, 0), 0);
  b.copies.clear();
  b.units = {{.begin = 0, .elements = 600}, {.begin = 600, .elements = 1400}};
  EXPECT_EQ(text(1, 0, 1000), "300:0+300/0 1300:300+700/3 ");
  EXPECT_EQ(text(1, 200, 200), "500:200+100/0 1300:300+100/1 ");
}

// Pleat's AdamW does; Megatron's step is followed by a copy.
TEST(Optimizer, TheStepWritesTheWeights) {
  for (const Runtime runtime : {Runtime::pleat, Runtime::megatron}) {
    const StageProgram stage = compile_stage(test::small_moe(), test::small_workload(), bf16_plan(),
                                             runtime, Stage{0});
    const bool fused = runtime == Runtime::pleat;
    EXPECT_EQ(names(stage, OpKind::copy),
              fused ? std::vector<std::string>{}
                    : (std::vector<std::string>{"dense.cast", "expert.cast"}));
    const auto step = std::ranges::find(stage.epilogue, "dense.adamw", &Op::name);
    ASSERT_NE(step, stage.epilogue.end());
    EXPECT_EQ(std::ranges::count(step->out, stage.buckets[0].weights), fused ? 1 : 0);
    EXPECT_EQ(std::ranges::count(step->in, stage.buckets[0].weights), 0);
  }
}

// AdamW of what Muon leaves to it, too.
TEST(Optimizer, MuonsMatricesAloneAreCast) {
  const StageProgram stage = compile_stage(test::small_moe(), test::small_workload(),
                                           bf16_plan(OptimizerKind::muon), Runtime::pleat,
                                           Stage{0});
  EXPECT_EQ(names(stage, OpKind::copy),
            (std::vector<std::string>{"dense.matrix.cast", "expert.matrix.cast"}));
}

TEST(Optimizer, RemaindersNeedNoCast) {
  Plan plan = bf16_plan();
  plan.optimizer.main_params = DType::remainder16;
  const StageProgram stage = stage_of(plan);
  EXPECT_EQ(names(stage, OpKind::copy), std::vector<std::string>{});
  const auto step = std::ranges::find(stage.epilogue, "dense.adamw", &Op::name);
  ASSERT_NE(step, stage.epilogue.end());
  EXPECT_EQ(std::ranges::count(step->in, stage.buckets[0].weights), 1);
  EXPECT_EQ(std::ranges::count(step->out, stage.buckets[0].weights), 1);
  EXPECT_EQ(stage.state[stage.buckets[0].main_params.index()].bytes({}),
            2 * stage.buckets[0].shard_elements);
}

TEST(Optimizer, ReloadedStateLivesInTheStepOnly) {
  Plan plan = bf16_plan();
  plan.optimizer.state_offload = 0.75;
  const StageProgram stage = stage_of(plan);
  const BucketState& b = stage.buckets[0];
  EXPECT_EQ(b.reloaded_elements, (3 * b.shard_elements + 2) / 4);
  EXPECT_EQ(elements_of(stage, "dense.exp_avg"), b.shard_elements - b.reloaded_elements);
  EXPECT_EQ(elements_of(stage, "dense.reloaded.exp_avg"), b.reloaded_elements);
  EXPECT_EQ(elements_of(stage, "dense.kept_on_host.exp_avg"), b.reloaded_elements);
  int transient = 0;
  for (const StepLifetime& life : stage.step_lives) {
    const Tensor& t = stage.state[life.tensor.index()];
    if (t.name.find(".reloaded.") == std::string::npos) continue;
    ++transient;
    EXPECT_EQ(stage.epilogue[static_cast<std::size_t>(life.begin)].kind, OpKind::reload_state);
    EXPECT_EQ(stage.epilogue[static_cast<std::size_t>(life.end)].kind, OpKind::offload_state);
  }
  EXPECT_EQ(transient, 2 * 3);  // buckets; main parameters and two moments
  EXPECT_EQ(names(stage, OpKind::adamw),
            (std::vector<std::string>{"dense.adamw", "dense.reloaded.adamw", "expert.adamw",
                                      "expert.reloaded.adamw"}));
}

TEST(Optimizer, TheHostStepsOnItsShare) {
  Plan plan = bf16_plan();
  plan.optimizer.cpu_offload = 1;
  const StageProgram stage = stage_of(plan);
  const std::int64_t shard = stage.buckets[0].shard_elements;
  EXPECT_EQ(elements_of(stage, "dense.exp_avg"), 0);
  EXPECT_EQ(elements_of(stage, "dense.host.exp_avg"), shard);
  EXPECT_EQ(elements_of(stage, "dense.host.gradients"), shard);
  EXPECT_EQ(names(stage, OpKind::adamw),
            (std::vector<std::string>{"dense.host.adamw", "expert.host.adamw"}));
  EXPECT_EQ(names(stage, OpKind::offload),
            (std::vector<std::string>{"dense.host.gradients", "expert.host.gradients"}));
  EXPECT_EQ(names(stage, OpKind::reload),
            (std::vector<std::string>{"dense.host.weights", "expert.host.weights"}));
  for (const Op& op : stage.epilogue) EXPECT_EQ(op.on_host, op.kind == OpKind::adamw) << op.name;
}

// Copies for narrow products beside bf16 weights: of what such products read, row- and column-wise.
TEST(Optimizer, NarrowCopiesBesideBf16Weights) {
  Plan plan = bf16_plan();
  plan.precision = Precision::nvfp4;
  const StageProgram stage = stage_of(plan);
  const std::int64_t attention = 32 * (32 + 16 + 16) + 32 * 32;
  const std::int64_t narrow = 4 * attention + 3 * (32 * 32 + 32 * 16) + 32 * 96 + 48 * 32;
  EXPECT_EQ(stage.buckets[0].narrow_elements, narrow);  // no tables, norms or routers
  EXPECT_EQ(elements_of(stage, "dense.narrow_copies"), 2 * narrow);
  EXPECT_EQ(stage.state[stage.buckets[0].weights.index()].dtype, DType::bf16);
  plan.precision = Precision::fp8;
  EXPECT_EQ(elements_of(stage_of(plan), "dense.narrow_copies"), -1);  // the weights are fp8
  plan.fp8_params = false;
  EXPECT_EQ(elements_of(stage_of(plan), "dense.narrow_copies"), 2 * narrow);
  plan.sharding = Sharding::zero3;
  EXPECT_EQ(elements_of(stage_of(plan), "dense.narrow_copies"), -1);
}

}  // namespace
}  // namespace pleat
