// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Ways to bring tokens to their experts: split experts, every dispatcher, token capacity. All of
// them compute what one rank computes, with skewed routing and an empty expert.
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

#include "core/plan/rank_map.hpp"
#include "simulator/estimate.hpp"
#include "tests/backend/train_runs.hpp"
#include "tests/support/changed_plans.hpp"

namespace pleat {
namespace {

using test::by;
using test::recomputing_all;

using test::folded_plan;
using test::fp32_plan;

struct DispatchLayout {
  const char* name;
  Plan plan;
  friend std::ostream& operator<<(std::ostream& out, const DispatchLayout& l) {
    return out << l.name;
  }
};

// One microbatch's tokens are on one rank: capacity drops the same ones.
std::vector<DispatchLayout> whole_layouts() {
  return {
      {"ETP2", folded_plan({.dp = 2}, 2, 1)},
      {"ETP2_EP2", folded_plan({.dp = 4}, 2, 2)},
      {"ETP4_PP2", folded_plan({.dp = 4, .pp = 2}, 4, 1)},
      {"ETP2_EP2_EDP2", folded_plan({.dp = 8}, 2, 2)},
      {"AllGather_EP4", by(Dispatcher::allgather, folded_plan({.dp = 4}, 1, 4))},
      {"AllGather_ETP2_EP2_PP2", by(Dispatcher::allgather, folded_plan({.dp = 4, .pp = 2}, 2, 2))},
      {"Hierarchical_EP4", by(Dispatcher::hierarchical, folded_plan({.dp = 4}, 1, 4))},
      {"ETP2_EP2_recomputed", recomputing_all(folded_plan({.dp = 4}, 2, 2))},
      {"AllGather_EP2_recomputed",
       recomputing_all(by(Dispatcher::allgather, folded_plan({.dp = 2}, 1, 2)))}};
}

std::vector<DispatchLayout> split_layouts() {
  return {{"TP2_ETP2", folded_plan({.tp = 2}, 2, 1)},
          {"TP4_ETP2_EP2", folded_plan({.tp = 4}, 2, 2)},
          {"TP2_DP2_ETP1_EP4", folded_plan({.tp = 2, .dp = 2}, 1, 4)},
          {"TP2_DP2_ETP4", folded_plan({.tp = 2, .dp = 2}, 4, 1)},
          {"TP2_DP4_ETP2_EP2_EDP2", folded_plan({.tp = 2, .dp = 4}, 2, 2)},
          {"TP2_DP2_AllGather_ETP2_EP2",
           by(Dispatcher::allgather, folded_plan({.tp = 2, .dp = 2}, 2, 2))}};
}

std::vector<DispatchLayout> all_layouts() {
  std::vector<DispatchLayout> all = whole_layouts();
  for (const DispatchLayout& l : split_layouts()) all.push_back(l);
  return all;
}

TrainConfig skewed() {
  TrainConfig config = test::small_config();
  test::skew(config);
  return config;
}

void expect_same_step(const TrainResult& many, const TrainResult& one) {
  EXPECT_GE(one.min_router_margin, 1e-4);
  EXPECT_NEAR(many.steps[0].loss, one.steps[0].loss, 1e-5 * one.steps[0].loss);
  EXPECT_NEAR(many.steps[0].grad_norm, one.steps[0].grad_norm, 1e-5 * one.steps[0].grad_norm);
  test::expect_close(many.gradients, one.gradients, 1e-5);
}

// The peak follows from what the ranks recorded, to the byte.
void expect_recorded_peaks(const ModelSpec& model, const WorkloadSpec& workload, const Plan& plan,
                           const TrainResult& result) {
  const Program program = compile(model, workload, plan, Runtime::pleat);
  for (int r = 0; r < plan.world(); ++r) {
    const RankMeasurement& rank = result.ranks[static_cast<std::size_t>(r)];
    const auto stage = static_cast<std::size_t>(attention_coordinates(plan, Rank{r}).pp);
    const RoutedCount routed = [&](MicroBatch m, LayerIndex l) {
      return rank.routed.at({m.value, l.value});
    };
    EXPECT_EQ(rank.peak_live_bytes, peak_live_bytes(program.stages[stage], routed)) << "rank " << r;
  }
}

class DispatchParity : public testing::TestWithParam<DispatchLayout> {};
INSTANTIATE_TEST_SUITE_P(Layouts, DispatchParity, testing::ValuesIn(all_layouts()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(DispatchParity, Dropless) {
  for (const ModelSpec& model : {test::biased(test::small_moe()), test::small_mla()}) {
    const Plan& plan = GetParam().plan;
    const TrainResult one = test::run(model, fp32_plan(), skewed());
    const TrainResult many = test::run(model, plan, skewed());
    expect_same_step(many, one);
    expect_recorded_peaks(model, test::small_workload(), plan, many);
  }
}

TEST_P(DispatchParity, PeakOfForcedRouting) {
  TrainConfig config = test::small_config();
  config.forced_routing = true;
  const ModelSpec model = test::small_moe();
  const Plan& plan = GetParam().plan;
  const Program program = compile(model, test::small_workload(), plan, Runtime::pleat);
  const std::int64_t balanced = balanced_routed_tokens(model, test::small_workload(), plan);
  const TrainResult result = train(program, config);
  for (int r = 0; r < plan.world(); ++r) {
    const auto stage = static_cast<std::size_t>(attention_coordinates(plan, Rank{r}).pp);
    EXPECT_EQ(result.ranks[static_cast<std::size_t>(r)].peak_live_bytes,
              peak_live_bytes(program.stages[stage],
                              [=](MicroBatch, LayerIndex) { return balanced; }))
        << "rank " << r;
  }
}

WorkloadSpec limited(double factor, bool padded) {
  WorkloadSpec w = test::small_workload();
  w.capacity_factor = factor;
  w.pad_to_capacity = padded;
  return w;
}

// Bug: capacity above the number of tokens (NVIDIA/Megatron-LM#2214).
TEST_P(DispatchParity, CapacityAboveTheTokensDropsNone) {
  const ModelSpec model = test::biased(test::small_moe());
  const TrainResult one = test::run(model, fp32_plan(), skewed());
  for (const bool padded : {false, true}) {
    const WorkloadSpec workload = limited(5, padded);  // 20 rows an expert of 16 tokens
    const TrainResult many = test::run(model, GetParam().plan, skewed(), workload);
    expect_same_step(many, one);
    if (!padded) expect_recorded_peaks(model, workload, GetParam().plan, many);
  }
}

std::int64_t copies_kept(const TrainResult& r) {
  std::int64_t kept = 0;
  for (const RankMeasurement& rank : r.ranks) {
    for (const auto& [where, rows] : rank.routed) kept += rows.kept;
  }
  return kept;
}

class CapacityParity : public testing::TestWithParam<DispatchLayout> {};
INSTANTIATE_TEST_SUITE_P(Layouts, CapacityParity, testing::ValuesIn(whole_layouts()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(CapacityParity, DropsWhatOneRankDrops) {
  const ModelSpec model = test::biased(test::small_moe());
  const TrainResult one = test::run(model, fp32_plan(), skewed(), limited(1, false));
  const TrainResult all = test::run(model, fp32_plan(), skewed());
  EXPECT_LT(copies_kept(one), 0.9 * static_cast<double>(copies_kept(all)));
  EXPECT_GT(test::relative_difference(one.gradients.at("layers.3.experts.0.fc1"),
                                      all.gradients.at("layers.3.experts.0.fc1")),
            0.01);
  for (const bool padded : {false, true}) {
    const TrainResult many = test::run(model, GetParam().plan, skewed(), limited(1, padded));
    EXPECT_EQ(copies_kept(many), copies_kept(one));
    expect_same_step(many, one);
  }
}

// Capacity counts one rank's tokens, so sequence parallelism drops others than one rank does: its
// layouts are compared with each other.
TEST(CapacityParity, OfSequenceParallelLayouts) {
  const ModelSpec model = test::biased(test::small_moe());
  const TrainResult two =
      test::run(model, folded_plan({.tp = 2}, 1, 1), skewed(), limited(1, false));
  for (const bool padded : {false, true}) {
    for (const auto& [etp, ep, dispatcher] :
         {std::tuple{1, 4, Dispatcher::alltoall}, {2, 2, Dispatcher::alltoall},
          {2, 2, Dispatcher::allgather}, {4, 1, Dispatcher::alltoall}}) {
      const Plan plan = by(dispatcher, folded_plan({.tp = 2, .dp = 2}, etp, ep));
      expect_same_step(test::run(model, plan, skewed(), limited(1, padded)), two);
    }
  }
}

// Bug: tiny batches with padding (NVIDIA/Megatron-LM#2214): more capacity than tokens on a rank.
TEST(Capacity, OfOneTokenARank) {
  ModelSpec model = test::small_moe();
  const WorkloadSpec tiny{
      .seq_len = 2, .global_batch = 2, .capacity_factor = 40, .pad_to_capacity = true};
  const TrainConfig config = test::small_config();
  const TrainResult one = test::run(model, fp32_plan(), config, {.seq_len = 2, .global_batch = 2});
  const TrainResult many = test::run(model, folded_plan({.tp = 2, .dp = 2}, 1, 4), config, tiny);
  test::expect_close(many.gradients, one.gradients, 1e-5);
}

// Copies made and summed in the exchange are those of the all-to-all dispatcher, bit for bit.
TEST(TokenExchange, IsTheAllToAllInOtherMemory) {
  TrainConfig config = test::small_config(1);
  test::skew(config);
  const ModelSpec model = test::biased(test::small_moe());
  const auto run = [&](const Plan& plan, const WorkloadSpec& workload) {
    const Program program = compile(model, workload, plan, Runtime::pleat);
    const TrainResult result = train(program, config);
    for (std::size_t r = 0; r < result.ranks.size(); ++r) {
      const RankMeasurement& rank = result.ranks[r];
      const auto stage = static_cast<std::size_t>(
          attention_coordinates(plan, Rank{static_cast<int>(r)}).pp);
      EXPECT_EQ(rank.peak_live_bytes,
                peak_live_bytes(program.stages[stage], [&](MicroBatch m, LayerIndex l) {
                  return RoutedRows(rank.routed.at({m.value, l.value}));
                }));
    }
    return result;
  };
  WorkloadSpec drops = test::small_workload(), pads = drops;
  drops.capacity_factor = pads.capacity_factor = 1.0;
  pads.pad_to_capacity = true;
  for (const Plan& layout : {folded_plan({.dp = 4}, 1, 4), folded_plan({.tp = 2, .dp = 2}, 2, 2),
                             recomputing_all(folded_plan({.dp = 2, .pp = 2}, 1, 2))}) {
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      for (const WorkloadSpec& workload : {test::small_workload(), drops, pads}) {
        Plan plan = by(Dispatcher::alltoall, layout);
        plan.precision = precision;
        const TrainResult expected = run(plan, workload);
        for (const Dispatcher dispatcher : {Dispatcher::deepep, Dispatcher::hybridep}) {
          if (workload.pad_to_capacity && dispatcher == Dispatcher::deepep) continue;
          plan.dispatcher = dispatcher;
          SCOPED_TRACE(summary(plan));
          const TrainResult actual = run(plan, workload);
          EXPECT_EQ(actual.steps[0].loss, expected.steps[0].loss);
          test::expect_same_bits(actual.gradients, expected.gradients);
          test::expect_same_bits(actual.weights, expected.weights);
        }
      }
    }
  }
}

// Every row goes through the exchange, also a rank's to itself: how many share the experts changes
// nothing. Near to rows in bf16, and not the same.
TEST(NarrowExchange, RowsTravelInFp8) {
  TrainConfig config = test::small_config(1);
  config.forced_routing = true;
  config.clip_norm = 0;
  const auto run = [&](Plan plan, bool there, bool back) {
    plan.precision = Precision::bf16;
    plan.fp8_dispatch = there;
    plan.fp8_combine = back;
    const Program program =
        compile(test::small_moe(), test::small_workload(), plan, Runtime::pleat);
    const TrainResult result = train(program, config);
    const std::int64_t balanced =
        balanced_routed_tokens(program.model, program.workload, program.plan);
    EXPECT_EQ(result.ranks[0].peak_live_bytes,
              peak_live_bytes(program.stages[0], [&](MicroBatch, LayerIndex) { return balanced; }));
    return result;
  };
  for (const Dispatcher dispatcher : {Dispatcher::alltoall, Dispatcher::allgather}) {
    const Plan two = by(dispatcher, folded_plan({.dp = 2}, 1, 2));
    const Plan four = by(dispatcher, folded_plan({.dp = 4}, 1, 4));
    const TrainResult wide = run(two, false, false);
    double last = 0;
    for (const auto& [there, back] : {std::pair{true, false}, {false, true}, {true, true}}) {
      SCOPED_TRACE(summary(two) + (there ? " there" : "") + (back ? " back" : ""));
      const TrainResult narrow = run(two, there, back), wider = run(four, there, back);
      EXPECT_NEAR(narrow.steps[0].loss, wide.steps[0].loss, 2e-3 * wide.steps[0].loss);
      EXPECT_NE(narrow.steps[0].loss, wide.steps[0].loss);
      EXPECT_NE(narrow.steps[0].loss, last);
      last = narrow.steps[0].loss;
      test::expect_close(narrow.gradients, wide.gradients, 0.15);
      const std::string name = "layers.2.experts.3.fc1";
      EXPECT_GT(test::relative_difference(narrow.gradients.at(name), wide.gradients.at(name)),
                5e-3);
      EXPECT_NEAR(wider.steps[0].loss, narrow.steps[0].loss, 1e-3 * narrow.steps[0].loss);
      test::expect_close(wider.gradients, narrow.gradients, 0.05);
    }
  }
}

}  // namespace
}  // namespace pleat
