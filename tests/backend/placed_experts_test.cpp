// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Experts that are placed by load, and copies of busy ones: training is the same as with experts in
// order.
#include <gtest/gtest.h>

#include "core/plan/constraints.hpp"
#include "tests/backend/checkpoint/saved_runs.hpp"
#include "tests/backend/peaks.hpp"

namespace pleat::test {
namespace {

// The favoured expert of skew() and its neighbour have most tokens; nobody is sent to the sixth.
WorkloadSpec with_loads(WorkloadSpec w = small_workload()) {
  w.routing = Routing::natural;
  for (const int layer : {1, 2, 3}) {
    w.expert_loads.push_back({layer, {40, 20, 2, 3, 4, 0, 5, 6 + 1.0 * layer}});
  }
  return w;
}

Plan placed(Plan plan, int redundant = 0) {
  plan.expert.placement = ExpertPlacement::by_load;
  plan.expert.redundant = redundant;
  return plan;
}

TrainConfig skewed(int steps) {
  TrainConfig config = small_config(steps);
  skew(config);
  config.measure_load = true;
  return config;
}

std::vector<Plan> layouts() {
  std::vector<Plan> list{folded_plan({.dp = 4}, 1, 4), folded_plan({.dp = 4}, 1, 2),
                         folded_plan({.tp = 2, .dp = 2}, 2, 2),
                         folded_plan({.tp = 2, .dp = 2, .pp = 2}, 1, 4),
                         folded_plan({.dp = 8}, 1, 8)};
  for (const Dispatcher d : {Dispatcher::allgather, Dispatcher::deepep, Dispatcher::hybridep}) {
    list.push_back(folded_plan({.dp = 4}, 1, 4));
    list.back().dispatcher = d;
  }
  list.push_back(folded_plan({.dp = 4}, 1, 4));
  list.back().overlap.tile_level = true;
  list.push_back(folded_plan({.dp = 4}, 1, 4));
  list.back().dispatcher = Dispatcher::allgather;
  list.back().overlap.tile_level = true;
  list.push_back(folded_plan({.dp = 4}, 1, 4));
  list.back().recompute = {Module::moe};
  list.push_back(folded_plan({.dp = 4}, 1, 2));
  list.back().recompute_full = true;
  list.back().recompute_unit = 2;
  list.push_back(folded_plan({.dp = 2, .pp = 2}, 1, 2));
  list.back().overlap.expert_parallel = true;
  list.back().vpp = 2;
  list.push_back(folded_plan({.dp = 2, .pp = 2}, 1, 2));
  list.back().schedule = PipelineSchedule::dualpipe;
  list.push_back(folded_plan({.dp = 4}, 1, 2));
  list.back().sharding = Sharding::none;
  return list;
}

void expect_same_loads(const TrainResult& a, const TrainResult& b) {
  ASSERT_EQ(a.steps.size(), b.steps.size());
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    EXPECT_EQ(a.steps[i].expert_loads, b.steps[i].expert_loads);
    EXPECT_FALSE(a.steps[i].expert_loads.empty());
  }
}

// The same rows of each expert, in the same order, only on another rank.
TEST(PlacedExperts, SameBitsAsInOrder) {
  std::vector<Plan> all = layouts();
  for (const Sharding s : {Sharding::zero2, Sharding::zero3}) {
    all.push_back(folded_plan({.dp = 4}, 1, 2));
    all.back().sharding = s;
  }
  for (const Plan& plan : all) {
    SCOPED_TRACE(summary(plan));
    TrainConfig config = skewed(2);
    config.clip_norm = 0;  // the norm is added up in another order
    const ModelSpec model = biased(small_moe());
    const TrainResult in_order = run(model, plan, config, with_loads());
    const TrainResult by_load = run(model, placed(plan), config, with_loads());
    expect_same_bits(by_load.gradients, in_order.gradients);
    expect_same_bits(by_load.weights, in_order.weights);
    expect_same_loads(by_load, in_order);
  }
}

void expect_same(const TrainResult& many, const TrainResult& one) {
  for (std::size_t s = 0; s < one.steps.size(); ++s) {
    EXPECT_NEAR(many.steps[s].loss, one.steps[s].loss, 1e-5 * one.steps[s].loss);
    EXPECT_NEAR(many.steps[s].grad_norm, one.steps[s].grad_norm, 1e-5 * one.steps[s].grad_norm);
  }
  expect_close(many.gradients, one.gradients, 1e-5);
  expect_close(many.weights, one.weights, 1e-5);
}

// Each copy sees a part of the tokens. run() finds copies whose weights differ in a bit.
TEST(ExpertCopies, TrainAsOneExpert) {
  const ModelSpec model = biased(small_moe());
  const TrainResult one = run(model, fp32_plan(), skewed(3));
  for (const Plan& plan : layouts()) {
    for (const int redundant : {1, 2, 3}) {
      const Plan copied = placed(plan, redundant);
      const WorkloadSpec w = with_loads();
      if (!violations({model, w, copied, copied.world()}).empty()) continue;
      SCOPED_TRACE(summary(copied));
      const TrainResult many = run(model, copied, skewed(3), w);
      expect_same(many, one);
      expect_same_loads(many, one);
    }
  }
}

// Each of the operations that keep copies alike is needed.
TEST(ExpertCopies, DifferWithoutTheirExchanges) {
  const ModelSpec model = biased(small_moe());
  const Program program =
      compile(model, with_loads(), placed(folded_plan({.dp = 4}, 1, 4), 2), Runtime::pleat);
  const TrainResult right = train(program, skewed(3));
  EXPECT_TRUE(right.unequal_copies.empty());
  for (const OpKind kind : {OpKind::sum_expert_copies, OpKind::spread_experts}) {
    Program changed = program;
    int left_out = 0;
    for (Op& op : changed.stages.front().epilogue) {
      if (op.kind != kind) continue;
      op.kind = OpKind::release;  // does nothing
      ++left_out;
    }
    EXPECT_EQ(left_out, 1);
    const TrainResult wrong = train(changed, skewed(3));
    double most = 0;
    for (const auto& [name, values] : right.gradients) {
      most = std::max(most, relative_difference(wrong.gradients.at(name), values));
    }
    EXPECT_TRUE(most > 1e-2 || !wrong.unequal_copies.empty()) << most;
  }
}

// All of them step the same way, whatever else a rank's shard holds.
TEST(ExpertCopies, WithEveryOptimizer) {
  const ModelSpec model = biased(small_moe());
  for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::sgd, OptimizerKind::muon}) {
    for (const double on_host : {0.0, 0.4}) {
      if (kind == OptimizerKind::muon && on_host > 0) continue;
      Plan alone = fp32_plan(), plan = placed(folded_plan({.dp = 4}, 1, 2), 2);
      alone.optimizer.kind = plan.optimizer.kind = kind;
      plan.optimizer.cpu_offload = on_host;
      SCOPED_TRACE(summary(plan));
      expect_same(run(model, plan, skewed(3), with_loads()), run(model, alone, skewed(3)));
    }
  }
}

// Narrow weights, 16-bit gradients: no copy differs from its expert, and losses stay close.
TEST(ExpertCopies, InNarrowFormats) {
  const ModelSpec model = biased(small_moe());
  for (const Precision precision : {Precision::bf16, Precision::fp8, Precision::mxfp8}) {
    for (const DType gradients : {DType::fp32, DType::bf16}) {
      Plan plan = folded_plan({.dp = 4}, 1, 4);
      plan.precision = precision;
      plan.optimizer.main_grads = gradients;
      if (precision == Precision::bf16) plan.optimizer.main_params = DType::remainder16;
      SCOPED_TRACE(summary(plan));
      TrainConfig config = skewed(3);
      config.keep_gradients = true;
      const TrainResult in_order = run(model, plan, config, with_loads());
      const TrainResult copied = run(model, placed(plan, 2), config, with_loads());
      for (std::size_t s = 0; s < 3; ++s) {
        EXPECT_NEAR(copied.steps[s].loss, in_order.steps[s].loss, 0.02 * in_order.steps[s].loss);
      }
    }
  }
}

// A group's experts stay on its ranks, the others' routers and biases are the model's.
TEST(ExpertCopies, WithGroupsOfExperts) {
  const ModelSpec model = small_mla();
  const TrainResult one = run(model, fp32_plan(), small_config(2));
  const Plan plan = placed(folded_plan({.dp = 8}, 1, 8), 1);
  expect_same(run(model, plan, small_config(2), with_loads()), one);
}

// Which copies of tokens are dropped is decided by expert, before they are placed.
TEST(ExpertCopies, DropTheSameTokens) {
  WorkloadSpec w = with_loads(), plain = small_workload();
  w.capacity_factor = plain.capacity_factor = 1.25;
  const ModelSpec model = biased(small_moe());
  const Plan plan = folded_plan({.dp = 4}, 1, 4);
  const TrainResult in_order = run(model, plan, skewed(2), plain);
  expect_same(run(model, placed(plan), skewed(2), w), in_order);
  expect_same(run(model, placed(plan, 2), skewed(2), w), in_order);
  w.pad_to_capacity = plain.pad_to_capacity = true;
  expect_same(run(model, placed(plan), skewed(2), w), run(model, plan, skewed(2), plain));
}

// A checkpoint has each expert once, under its own number: it goes on in any other placement.
TEST(ExpertCopies, GoOnFromAnyPlacement) {
  const Plan kinds[] = {fp32_plan(), folded_plan({.dp = 4}, 1, 2),
                        placed(folded_plan({.dp = 4}, 1, 4), 0),
                        placed(folded_plan({.dp = 4}, 1, 2), 2)};
  SavedRun whole{.steps = 4, .config = skewed(4), .workload = with_loads()};
  const TrainResult expected = whole.run();
  for (const Plan& from : kinds) {
    for (const Plan& to : kinds) {
      SCOPED_TRACE(summary(from) + " to " + summary(to));
      const TemporaryFolder folder;
      SavedRun first{.plan = from, .steps = 2, .save = folder.path(), .config = skewed(2),
                     .workload = with_loads()};
      first.run();
      SavedRun second{.plan = to, .steps = 4, .load = folder.path(), .config = skewed(4),
                      .workload = with_loads()};
      expect_close(second.run().weights, expected.weights, 1e-5);
    }
  }
}

// Without copies in it: the same tensors, of the same sizes, as one rank saves.
TEST(ExpertCopies, AreNotSaved) {
  Tensors saved[2];
  for (const int i : {0, 1}) {
    const TemporaryFolder folder;
    std::string remark;
    SavedRun one{.plan = i == 0 ? fp32_plan() : placed(folded_plan({.dp = 4}, 1, 2), 2),
                 .steps = 2,
                 .save = folder.path(),
                 .config = skewed(2),
                 .workload = with_loads()};
    one.run();
    saved[i] = tensors_in(folder / checkpoints_in(folder.path(), remark).front());
  }
  expect_close(saved[1], saved[0], 1e-4);
}

TEST(ExpertCopies, TakeAsMuchMemoryAsPredicted) {
  for (const int redundant : {0, 1, 2}) {
    for (const Sharding sharding : {Sharding::none, Sharding::zero1}) {
      Plan plan = placed(folded_plan({.dp = 4}, 1, 2), redundant);
      plan.sharding = sharding;
      expect_peaks(biased(small_moe()), plan, skewed(1), true, with_loads());
    }
  }
}

}  // namespace
}  // namespace pleat::test
