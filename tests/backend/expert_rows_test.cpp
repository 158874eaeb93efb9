// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Other memory for experts' rows, the same bits: tile-level kernels, which keep nothing between
// exchange and product, and the paged stash.
#include <gtest/gtest.h>

#include "core/plan/rank_map.hpp"
#include "simulator/estimate.hpp"
#include "simulator/stage_record.hpp"
#include "tests/backend/train_runs.hpp"
#include "tests/support/changed_plans.hpp"

namespace pleat {
namespace {

using test::by;
using test::recomputing_all;

using test::folded_plan;

struct Trained {
  Program program;
  TrainResult result;
  [[nodiscard]] const StageProgram& stage_of(std::size_t rank) const {
    const Rank r{static_cast<int>(rank)};
    return program.stages[static_cast<std::size_t>(attention_coordinates(program.plan, r).pp)];
  }
};

void expect_peaks(const Trained& run) {
  for (std::size_t r = 0; r < run.result.ranks.size(); ++r) {
    const RankMeasurement& rank = run.result.ranks[r];
    EXPECT_EQ(rank.peak_live_bytes,
              peak_live_bytes(run.stage_of(r),
                              [&](MicroBatch m, LayerIndex l) {
                                return RoutedRows(rank.routed.at({m.value, l.value}));
                              }))
        << "rank " << r;
  }
}

Trained run(const Plan& plan, const TrainConfig& config,
        const WorkloadSpec& workload = test::small_workload()) {
  Trained done{compile(test::biased(test::small_moe()), workload, plan, Runtime::pleat), {}};
  done.result = train(done.program, config);
  expect_peaks(done);
  return done;
}

TrainConfig skewed_step() {
  TrainConfig config = test::small_config(1);
  test::skew(config);
  return config;
}

void expect_same_run(const TrainResult& actual, const TrainResult& expected) {
  for (std::size_t s = 0; s < expected.steps.size(); ++s) {
    EXPECT_EQ(actual.steps[s].loss, expected.steps[s].loss);
    EXPECT_EQ(actual.steps[s].grad_norm, expected.steps[s].grad_norm);
  }
  test::expect_same_bits(actual.gradients, expected.gradients);
  test::expect_same_bits(actual.weights, expected.weights);
}

std::vector<Plan> tiled() {
  std::vector<Plan> plans{folded_plan({.dp = 4}, 1, 4),
                          folded_plan({.tp = 2, .dp = 2}, 1, 2),
                          recomputing_all(folded_plan({.dp = 2, .pp = 2}, 1, 2)),
                          by(Dispatcher::allgather, folded_plan({.dp = 4}, 1, 4)),
                          by(Dispatcher::allgather, folded_plan({.tp = 2, .dp = 2}, 2, 2)),
                          recomputing_all(by(Dispatcher::allgather, folded_plan({.dp = 2}, 1, 2)))};
  plans[1].recompute_full = true;
  plans[1].recompute_unit = 2;
  return plans;
}

TEST(TileLevel, HasTheBitsOfExchangesApartInLessMemory) {
  for (Plan plan : tiled()) {
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      SCOPED_TRACE(summary(plan));
      plan.precision = precision;
      plan.overlap.tile_level = false;
      const Trained apart = run(plan, skewed_step());
      plan.overlap.tile_level = true;
      const Trained tiles = run(plan, skewed_step());
      expect_same_run(tiles.result, apart.result);
      for (std::size_t r = 0; r < apart.result.ranks.size(); ++r) {
        EXPECT_LE(tiles.result.ranks[r].peak_live_bytes, apart.result.ranks[r].peak_live_bytes);
      }
    }
  }
}

TEST(TileLevel, HasTheBitsOfExchangesApartWithCapacity) {
  WorkloadSpec drops = test::small_workload(), pads = drops;
  drops.capacity_factor = pads.capacity_factor = 1.0;
  pads.pad_to_capacity = true;
  for (Plan plan : {tiled()[0], tiled()[4]}) {
    for (const WorkloadSpec& workload : {drops, pads}) {
      SCOPED_TRACE(summary(plan) + (workload.pad_to_capacity ? " pads" : " drops"));
      plan.overlap.tile_level = false;
      const Trained apart = run(plan, skewed_step(), workload);
      plan.overlap.tile_level = true;
      expect_same_run(run(plan, skewed_step(), workload).result, apart.result);
    }
  }
}

TEST(TileLevel, HasTheBitsOfExchangesApartWithRowsInFp8) {
  for (Plan plan : {tiled()[0], tiled()[4]}) {
    SCOPED_TRACE(summary(plan));
    plan.precision = Precision::bf16;
    plan.fp8_dispatch = plan.fp8_combine = true;
    const Trained apart = run(plan, skewed_step());
    plan.overlap.tile_level = true;
    expect_same_run(run(plan, skewed_step()).result, apart.result);
  }
}

Plan ordered(PipelineSchedule schedule, int vpp, bool overlapped) {
  Plan plan = folded_plan({.dp = 2, .pp = 2}, 1, 2);
  plan.schedule = schedule;
  plan.vpp = vpp;
  plan.overlap.expert_parallel = plan.overlap.delay_wgrad = overlapped;
  return plan;
}

std::vector<Plan> stashing() {
  Plan moe_act = folded_plan({.dp = 4}, 1, 4), fp8 = folded_plan({.dp = 2}, 1, 2);
  moe_act.recompute = {Module::moe_act};
  fp8.precision = Precision::fp8_block;
  return {moe_act,
          fp8,
          folded_plan({.tp = 2, .dp = 2}, 2, 2),
          by(Dispatcher::allgather, folded_plan({.dp = 2}, 1, 2)),
          ordered(PipelineSchedule::one_f_one_b, 2, true),
          ordered(PipelineSchedule::zb_v, 2, false)};
}

TEST(PagedStash, HasTheBitsOfRunsWithoutOne) {
  for (Plan plan : stashing()) {
    SCOPED_TRACE(summary(plan));
    const Trained plain = run(plan, skewed_step());
    plan.paged_stash = {.buffer = 4, .capacity = 5};
    expect_same_run(run(plan, skewed_step()).result, plain.result);
  }
}

// Whatever routing decides, the blocks are those that were planned.
TEST(PagedStash, PeakIsPredictedToTheByteBeforeTheRun) {
  const auto expect_planned = [](const Plan& plan, const TrainConfig& config) {
    const Trained done = run(plan, config);
    const Program& p = done.program;
    const Binding rows = LayerRows(p.model, p.workload, p.plan).of({});
    for (std::size_t r = 0; r < done.result.ranks.size(); ++r) {
      EXPECT_EQ(done.result.ranks[r].peak_live_bytes,
                peak_live_bytes(done.stage_of(r),
                                [&](MicroBatch, LayerIndex) { return RoutedRows(rows); }))
          << summary(plan) << " rank " << r;
    }
    return done.result.ranks[0].peak_live_bytes;
  };
  TrainConfig forced = test::small_config(1);
  forced.forced_routing = true;
  int smaller = 0;
  for (Plan plan : stashing()) {
    plan.paged_stash = {.buffer = 1.0, .capacity = 1.5};
    const std::int64_t small = expect_planned(plan, forced);
    plan.paged_stash = {.buffer = 1.5, .capacity = 1.5};
    const std::int64_t large = expect_planned(plan, forced);
    EXPECT_LE(small, large);
    smaller += small < large;
    plan.paged_stash = {.buffer = 4, .capacity = 5};
    expect_planned(plan, skewed_step());
  }
  EXPECT_GT(smaller, 2);  // elsewhere the step's end is the highest point
}

Diagnostic failure(PagedStash stash) {
  Plan plan = folded_plan({.dp = 4}, 1, 4);
  plan.paged_stash = stash;
  try {
    static_cast<void>(run(plan, skewed_step()));
  } catch (const ConfigError& e) {
    return e.diagnostics().front();
  }
  return {};
}

TEST(PagedStash, SaysWhichOfItsSizesIsTooSmall) {
  const Diagnostic room = failure({.buffer = 4, .capacity = 1});
  EXPECT_EQ(room.path, "paged_stash.capacity");
  EXPECT_EQ(room.code, ExitCode::nothing_fits);
  EXPECT_TRUE(room.message.ends_with("there is room for 32")) << room.message;
  const Diagnostic kept = failure({.buffer = 1, .capacity = 5});
  EXPECT_EQ(kept.path, "paged_stash.buffer");
  EXPECT_NE(kept.message.find("the stash keeps 32"), std::string::npos) << kept.message;
}

}  // namespace
}  // namespace pleat
