// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Optimizers: those of the suite's layouts that are quick, where bits must agree, sizes of steps,
// weight decay.
#include <mutex>

#include "core/plan/rank_map.hpp"
#include "simulator/estimate.hpp"
#include "tests/backend/optimizer/optimizers_suite.hpp"

namespace pleat::test {

INSTANTIATE_TEST_SUITE_P(Quick, Optimizers, testing::ValuesIn(optimizer_cases(true)),
                         [](const auto& info) { return info.param.name; });

namespace {

// --- bits

// Where the state lies and who makes the step changes no bit.
TEST(OptimizerOffload, ChangesNothing) {
  for (const Plan& layout : {fp32_plan(4, 2), with(fp32_plan(4, 2), Sharding::zero3)}) {
    Plan plan = layout;
    const TrainConfig config = settings(plan, 3);
    const TrainResult here = run(small_moe(), plan, config);
    for (const auto& [reloaded, host] : {std::pair{1.0, 0.0}, {0.0, 1.0}, {0.4, 0.35}}) {
      plan.optimizer.state_offload = reloaded;
      plan.optimizer.cpu_offload = host;
      const TrainResult away = run(small_moe(), plan, config);
      expect_same_bits(away.gradients, here.gradients);
      expect_same_bits(away.weights, here.weights);
      EXPECT_GT(away.ranks[0].peak_host_bytes, 0);
    }
  }
}

// With one microbatch the sums are the same additions, and every matrix is orthogonalised whole.
TEST(MuonBits, ShardingChangesNothing) {
  const WorkloadSpec workload{.seq_len = 16, .global_batch = 4};
  Plan plan = fp32_plan(4, 2);
  plan.optimizer.kind = OptimizerKind::muon;
  TrainConfig config = settings(plan, 3);
  config.clip_norm = 0;  // the norm is added up in another order
  const TrainResult sharded = run(small_moe(), plan, config, workload);
  plan.sharding = Sharding::none;
  const TrainResult whole = run(small_moe(), plan, config, workload);
  expect_same_bits(sharded.gradients, whole.gradients);
  expect_same_bits(sharded.weights, whole.weights);
}

// Stages cut a tied table into other shards, so sums of its squares differ in their last bits; the
// copies must not.
TEST(LambBits, CopiesOfATiedTableStayEqual) {
  ModelSpec model = small_moe();
  model.tied_embeddings = true;
  for (const char* layout : {"Ettt|tL", "Et|tttL", "Etttt|L"}) {
    for (const int dp : {2, 4}) {
      Plan plan = fp32_plan(dp, 2, 2);
      plan.optimizer.kind = OptimizerKind::lamb;
      plan.sharding = Sharding::zero1;
      plan.layout = layout;
      const TrainResult result = run(model, plan, settings(plan, 4));  // compares the copies
      EXPECT_EQ(result.unequal_copies, std::set<std::string>()) << layout << dp;
    }
  }
}

// --- Muon

// The step of a matrix has singular values near the rate times its scale, whatever the gradient's
// size.
TEST(Muon, StepsAreAsLongAsTheScaleSays) {
  Plan plan = fp32_plan();
  plan.optimizer.kind = OptimizerKind::muon;
  for (const MuonScale scale :
       {MuonScale::spectral, MuonScale::unit_rms_norm, MuonScale::shape_scaling}) {
    TrainConfig config = small_config(1);
    config.clip_norm = 0;
    config.adamw = {.lr = 1e-3};
    config.muon = {.scale = scale, .extra_scale = 2};
    const TrainResult after = run(small_moe(), plan, config);
    config.adamw.lr = 0;
    const TrainResult before = run(small_moe(), plan, config);
    // Dense fc2: 32 rows of 48 columns. fc1: 96 rows of 32.
    for (const auto& [name, rows, columns] :
         {std::tuple{"layers.0.fc2", 32, 48}, {"layers.0.fc1", 96, 32}}) {
      const auto &a = after.weights.at(name), &b = before.weights.at(name);
      double squares = 0;
      for (std::size_t i = 0; i < a.size(); ++i) squares += std::pow(a[i] - b[i], 2);
      const double of_ones = std::sqrt(std::min(rows, columns));
      const double length = std::sqrt(squares) / of_ones;  // mean singular value
      EXPECT_NEAR(length / (1e-3 * step_scale(config.muon, rows, columns)), 1, 0.2) << name;
    }
  }
  EXPECT_DOUBLE_EQ(step_scale({.scale = MuonScale::spectral, .extra_scale = 2}, 16, 9), 8);
  EXPECT_DOUBLE_EQ(step_scale({.scale = MuonScale::unit_rms_norm}, 9, 36), 0.5);
  EXPECT_DOUBLE_EQ(step_scale({.scale = MuonScale::shape_scaling}, 9, 36), 1);
  EXPECT_DOUBLE_EQ(step_scale({.scale = MuonScale::shape_scaling}, 36, 9), 2);
}

// Latent attention: weights cut by rows and by columns, some on every rank.
TEST(Muon, StepsLatentAttentionAsOnOneRank) {
  Plan plan = tp_plan(2, 2, 2);
  plan.optimizer.kind = OptimizerKind::muon;
  const TrainConfig config = settings(plan, 2);
  const TrainResult one = run(small_mla(), alone(plan), config);
  expect_close(run(small_mla(), plan, config).weights, one.weights, 1e-5);
  Plan unit = alone(plan);
  unit.recompute_full = true;
  unit.recompute_unit = 2;  // two layers in one program
  expect_same_bits(run(small_mla(), unit, config).weights, one.weights);
}

// A step is as long as the rate times the parameter, whatever the gradient is.
TEST(Lamb, StepsAreAsLongAsTheirParameters) {
  Plan plan = tp_plan(2, 2, 2);
  plan.optimizer.kind = OptimizerKind::lamb;
  TrainConfig config = small_config(1);
  config.adamw = {.lr = 0.125};
  const TrainResult after = run(small_moe(), plan, config);
  config.adamw.lr = 0;
  const TrainResult before = run(small_moe(), plan, config);
  int stepped = 0;
  for (const auto& [name, values] : before.weights) {
    const bool moves =
        std::ranges::any_of(before.gradients.at(name), [](float g) { return g != 0; });
    if (!moves) continue;
    EXPECT_NEAR(relative_difference(after.weights.at(name), values), 0.125, 1e-5) << name;
    ++stepped;
  }
  EXPECT_GT(stepped, 60);
}

// --- narrow moments

OptimizerPlan narrow(DType mean, DType square) {
  OptimizerPlan o;
  o.exp_avg = mean;
  o.exp_avg_sq = square;
  return o;
}

// Bytes of a rank as predicted from element types, and a step that is AdamW's but for their
// rounding.
TEST(NarrowMoments, AreAsSmallAsTheyShouldBeAndStepNearlyAsFp32) {
  Plan plan = fp32_plan(2, 2);
  TrainConfig config = settings(plan, 3);
  config.forced_routing = true;
  const TrainResult wide = run(small_moe(), plan, config);
  const StageProgram stage = compile(small_moe(), small_workload(), plan, Runtime::pleat).stages[0];
  std::int64_t elements = 0, blocks = 0;
  for (const BucketState& b : stage.buckets) {
    elements += b.shard_elements;
    blocks += (b.shard_elements + 127) / 128;  // no copies: one run of blocks
  }
  for (const auto& [type, saved, tolerance] :
       {std::tuple{DType::bf16, 2 * 2 * elements, 4e-3},
        {DType::fp16, 2 * 2 * elements - 2 * 4 * blocks, 5e-4},
        {DType::fp8, 2 * 3 * elements - 2 * 4 * blocks, 4e-2}}) {
    plan.optimizer = narrow(type, type);
    const TrainResult result = run(small_moe(), plan, config);
    EXPECT_EQ(wide.ranks[0].peak_live_bytes - result.ranks[0].peak_live_bytes, saved);
    double most = 0;
    for (const auto& [name, values] : wide.weights) {
      most = std::max(most, relative_difference(result.weights.at(name), values));
    }
    EXPECT_LE(most, tolerance) << name_of(type);
    EXPECT_GT(most, tolerance / 100) << name_of(type);
    EXPECT_NEAR(result.steps[2].loss, wide.steps[2].loss, tolerance * wide.steps[2].loss);
  }
}

// What has no blocks is rounded element by element: how the state is divided changes no bit.
TEST(NarrowMoments, InBf16AreTheSameBitsSharded) {
  const WorkloadSpec workload{.seq_len = 16, .global_batch = 4};
  Plan plan = fp32_plan(4, 2);
  plan.optimizer = narrow(DType::bf16, DType::bf16);
  TrainConfig config = settings(plan, 3);
  config.clip_norm = 0;
  const TrainResult one = run(small_moe(), plan, config, workload);
  for (const Sharding sharding : {Sharding::none, Sharding::zero2, Sharding::zero3}) {
    plan.sharding = sharding;
    expect_same_bits(run(small_moe(), plan, config, workload).weights, one.weights);
  }
}

// Norms and shared key heads lie on several ranks of tp, beside weights that do not: their blocks
// must not hold both. Rounded differently, the ranks' copies would drift apart.
TEST(NarrowMoments, OfCopiesAreRoundedAlike) {
  for (const DType type : {DType::fp16, DType::fp8}) {
    Plan plan = tp_plan(4, 2, 2);
    plan.optimizer = narrow(type, type);
    TrainConfig config = settings(plan, 3);
    std::mutex mutex;
    std::map<std::pair<int, int>, std::vector<std::vector<float>>> copies;  // by data rank, entry
    config.after_step = [&](const StepBoundary& at) {
      if (at.next_step != 3) return;
      const BucketState& b = at.executor.stage().buckets[0];
      const std::vector<float> all = at.executor.weights(Bucket::dense).front().values;
      const std::lock_guard lock(mutex);
      for (std::size_t i = 0; i < b.copies.size(); ++i) {
        const Copies& c = b.copies[i];
        const int group = at.context.attention().tp / c.ranks;
        const auto first = all.begin() + c.first;
        copies[{group, static_cast<int>(i)}].emplace_back(first, first + c.elements);
      }
    };
    (void)run(small_moe(), plan, config);
    EXPECT_GT(copies.size(), 4U);
    for (const auto& [where, values] : copies) {
      EXPECT_GE(values.size(), 2U);
      for (const auto& one : values) EXPECT_EQ(one, values.front()) << where.second;
    }
  }
}

// The first and the last stage step a tied table each: the same blocks, wherever it lies in a
// stage's bucket, its shards and the part that is on the host.
TEST(NarrowMoments, OfATableInTwoStagesAreRoundedAlike) {
  ModelSpec model = small_moe();
  model.tied_embeddings = true;
  model.vocab = 70;  // the table is no whole blocks
  for (const DType type : {DType::fp16, DType::fp8}) {
    std::vector<Plan> plans{fp32_plan(1, 1, 2), fp32_plan(3, 1, 2), tp_plan(2, 1, 1, 2),
                            fp32_plan(2, 2, 2), fp32_plan(2, 2, 2)};
    plans[3].optimizer.state_offload = 0.4;
    plans[4].optimizer.cpu_offload = 0.7;
    for (Plan& plan : plans) {
      SCOPED_TRACE(summary(plan));
      plan.optimizer.exp_avg = plan.optimizer.exp_avg_sq = type;
      TrainConfig config = settings(plan, 3);
      config.forced_routing = true;
      std::mutex mutex;
      std::map<int, std::map<int, std::vector<float>>> tables;  // by rank of tp, stage
      config.after_step = [&](const StepBoundary& at) {
        const SharedTable& table = at.executor.stage().table.value();
        if (at.next_step != 3 || at.context.attention().dp > 0) return;
        const std::vector<float> all = at.executor.weights(Bucket::dense).front().values;
        const auto first = all.begin() + table.slot.offset;
        const std::lock_guard lock(mutex);
        tables[at.context.attention().tp][at.context.attention().pp] = {first,
                                                                        first + table.elements};
      };
      const WorkloadSpec workload{.seq_len = 16, .global_batch = 6};
      const Program program = compile(model, workload, plan, Runtime::pleat);
      const TrainResult result = train(program, config);
      for (const auto& [tp, stages] : tables) {
        ASSERT_EQ(stages.size(), 2U);
        EXPECT_EQ(stages.at(0), stages.at(1)) << tp;
      }
      const std::int64_t balanced = balanced_routed_tokens(model, workload, plan);
      for (int r = 0; r < plan.world(); ++r) {
        const auto stage = static_cast<std::size_t>(attention_coordinates(plan, Rank{r}).pp);
        EXPECT_EQ(result.ranks[static_cast<std::size_t>(r)].peak_live_bytes,
                  peak_live_bytes(program.stages[stage],
                                  [&](MicroBatch, LayerIndex) { return balanced; }));
      }
      Plan wide = plan;
      wide.optimizer.exp_avg = wide.optimizer.exp_avg_sq = DType::fp32;
      expect_close(result.weights, run(model, wide, config, workload).weights, 4e-2);
    }
  }
}

// Both stages go on from what one of them saved.
TEST(NarrowMoments, OfATableInTwoStagesResume) {
  const TemporaryFolder folder;
  ModelSpec model = small_moe();
  model.tied_embeddings = true;
  Plan plan = fp32_plan(2, 2, 2);
  plan.optimizer = narrow(DType::fp8, DType::fp16);
  plan.optimizer.state_offload = 0.4;
  SavedRun first{.model = model, .plan = plan, .steps = 2, .save = folder.path(),
                 .config = settings(plan, 2)};
  (void)first.run();
  SavedRun second{.model = model, .plan = plan, .steps = 4, .load = folder.path(),
                  .config = settings(plan, 4)};
  SavedRun whole{.model = model, .plan = plan, .steps = 4, .config = settings(plan, 4)};
  const TrainResult expected = whole.run(), actual = second.run();
  EXPECT_EQ(actual.steps.back().loss, expected.steps.back().loss);
  expect_same_bits(actual.weights, expected.weights);
}

// Another layout goes on from them; one with fp32 moments too.
TEST(NarrowMoments, GoOnInAnotherLayoutAndType) {
  for (const DType type : {DType::bf16, DType::fp8}) {
    const TemporaryFolder folder;
    Plan plan = fp32_plan(4, 2);
    plan.optimizer = narrow(type, type);
    SavedRun first{.plan = plan, .steps = 2, .save = folder.path(), .config = settings(plan, 2)};
    (void)first.run();
    SavedRun same{.plan = plan, .steps = 3, .load = folder.path(), .config = settings(plan, 3)};
    const TrainResult expected = same.run();
    Plan other = fp32_plan(2, 2, 2);
    for (const OptimizerPlan& o : {plan.optimizer, OptimizerPlan{}}) {
      other.optimizer = o;
      SavedRun second{
          .plan = other, .steps = 3, .load = folder.path(), .config = settings(other, 3)};
      const TrainResult actual = second.run();
      EXPECT_NEAR(actual.steps[0].loss, expected.steps[0].loss, 1e-5 * expected.steps[0].loss);
      expect_close(actual.weights, expected.weights, type == DType::fp8 ? 1e-2 : 1e-3);
    }
  }
}

// --- weight decay

float largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  float most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

// One step with and without decay: what differs decayed.
TEST(WeightDecay, LeavesNormsAndBiasesAlone) {
  ModelSpec model = biased(small_moe());
  model.attention.qk_norm = true;
  model.attention.qkv_bias = true;
  for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::sgd, OptimizerKind::muon}) {
    for (const bool tables : {true, false}) {
      Plan plan = fp32_plan(4, 2);
      plan.optimizer.kind = kind;
      TrainConfig config = small_config();
      config.adamw = {.lr = 0.5, .weight_decay = 0};
      config.tables_decay = tables;
      const TrainResult without = run(model, plan, config);
      config.adamw.weight_decay = 0.5;
      const TrainResult with_decay = run(model, plan, config);
      int left = 0;
      for (const auto& [name, values] : with_decay.weights) {
        const bool vector = name.ends_with("norm") || name.ends_with("bias") ||
                            name.find("_norm") != std::string::npos;
        const bool stays = vector || (name == "embedding" && !tables);
        left += stays ? 1 : 0;
        const float change = largest_difference(values, without.weights.at(name));
        if (stays) {
          EXPECT_EQ(change, 0) << name;
        } else {
          EXPECT_GT(change, 1e-3F) << name;  // 0.25 of a weight of 0.02
        }
      }
      EXPECT_GT(left, 17);
    }
  }
}

// A layout with other stages goes on: what decays is not what lay at the same place before.
TEST(OptimizerBugs, GroupsOfACheckpointOfAPipeline) {
  const TemporaryFolder folder;
  const auto config = [](const Plan& plan, int steps) {
    TrainConfig c = settings(plan, steps);
    c.adamw.weight_decay = 2;
    c.tables_decay = false;
    return c;
  };
  Plan piped = fp32_plan(1, 1, 4);
  SavedRun first{.plan = piped, .steps = 2, .save = folder.path(), .config = config(piped, 2)};
  (void)first.run();
  SavedRun whole{.plan = piped, .steps = 4, .config = config(piped, 4)};
  const TrainResult expected = whole.run();
  for (const Plan& plan : {fp32_plan(), fp32_plan(2, 2, 2), with(fp32_plan(4), Sharding::zero3)}) {
    SavedRun second{.plan = plan, .steps = 4, .load = folder.path(), .config = config(plan, 4)};
    expect_close(second.run().weights, expected.weights, 1e-5);
  }
}

TEST(WeightDecay, CutsAStretchWhereItChanges) {
  const std::vector<ElementRange> ranges{{2, 3}, {8, 2}, {12, 4}};
  const auto cut = [&](std::int64_t first, std::int64_t end) {
    std::string text;
    for_each_run(ranges, first, end, [&](std::int64_t at, std::int64_t elements, bool inside) {
      text += std::to_string(at) + "+" + std::to_string(elements) + (inside ? "! " : " ");
    });
    return text;
  };
  EXPECT_EQ(cut(0, 20), "0+2 2+3! 5+3 8+2! 10+2 12+4! 16+4 ");
  EXPECT_EQ(cut(3, 9), "3+2! 5+3 8+1! ");
  EXPECT_EQ(cut(5, 8), "5+3 ");
  EXPECT_EQ(cut(13, 14), "13+1! ");
  EXPECT_EQ(cut(17, 19), "17+2 ");
  EXPECT_EQ(cut(4, 4), "");
  std::string none;
  for_each_run({}, 3, 5, [&](std::int64_t at, std::int64_t n, bool) {
    none += std::to_string(at) + "+" + std::to_string(n);
  });
  EXPECT_EQ(none, "3+2");
}

}  // namespace
}  // namespace pleat::test
