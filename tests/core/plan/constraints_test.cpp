// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The list of rules, golden messages of those about grids and model sizes, and the promise that a
// rule that holds allocates nothing.
#include "core/plan/constraints.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "tests/core/plan/allocation_count.hpp"
#include "tests/core/plan/constraint_case.hpp"

namespace pleat {
namespace {

using test::Case;
using test::expect_violation;

TEST(Constraints, NamesAreUniqueAndTheBasePlanIsValid) {
  std::set<std::string> names;
  for (const Constraint& rule : constraints()) EXPECT_TRUE(names.insert(rule.name).second);
  EXPECT_EQ(names.size(), 92u);
  const Case c;
  EXPECT_TRUE(violations(c.context()).empty());
  EXPECT_NO_THROW(require_valid(c.context(), "plan.json"));
}

TEST(Constraints, ARuleThatHoldsAllocatesNothing) {
  Case c;
  c.plan.layout = "Et*4|(t*4|)*14t*4L";
  c.plan.recompute = {Module::moe_act, Module::layernorm};
  const PlanContext context = c.context();
  const std::vector<Constraint>& rules = constraints();
  const std::size_t before = allocation_count();
  bool all = true;
  for (const Constraint& rule : rules) all = rule.holds(context) && all;
  const std::size_t after = allocation_count();
  EXPECT_TRUE(all);
  EXPECT_EQ(after, before);
}

TEST(Constraints, PositiveDegrees) {
  expect_violation([](Case& c) { c.plan.attention.tp = 0; }, "degrees-positive", "attention.tp",
                   "must be at least 1, is 0", "");
  expect_violation([](Case& c) { c.plan.expert.ep = -4; }, "degrees-positive", "expert.ep",
                   "must be at least 1, is -4", "");
  expect_violation([](Case& c) { c.workload.global_batch = 0; }, "degrees-positive",
                   "workload.global_batch", "must be at least 1, is 0", "");
  expect_violation([](Case& c) { c.plan.microbatch_group = -1; }, "degrees-positive",
                   "microbatch_group", "must be at least 0 (0: PP), is -1", "");
}

TEST(Constraints, World) {
  expect_violation(
      [](Case& c) {
        c.make_dense();
        c.model.layers = 60;
        c.gpus = 96;
        c.plan.attention = {.tp = 8, .cp = 1, .dp = 2, .pp = 5};
        c.plan.vpp = 1;
      },
      "world", "attention", "96 is not a multiple of TP*PP*CP = 40", "nearest worlds 80, 120");
  expect_violation([](Case& c) { c.plan.attention.dp = 8; }, "world", "attention.dp",
                   "TP*CP*DP*PP = 2*2*8*4 = 128, but the world is 256", "DP 16 uses all 256");
}

TEST(Constraints, WorldSurvivesOverflow) {
  Case c;
  const int huge = std::numeric_limits<int>::max();
  c.plan.attention = {.tp = huge, .cp = huge, .dp = huge, .pp = huge};
  c.plan.expert = {.etp = huge, .ep = huge, .edp = huge};
  c.plan.vpp = huge;
  c.plan.micro_batch = huge;
  EXPECT_GE(violations(c.context()).size(), 4u);
  c.plan.layout = "Et*64L";
  EXPECT_GE(violations(c.context()).size(), 4u);
}

TEST(Constraints, ExpertGridIsToldApartFromTheDenseOne) {
  expect_violation(
      [](Case& c) {
        c.gpus = 64;
        c.plan.attention = {.tp = 2, .cp = 2, .dp = 4, .pp = 4};
        c.plan.expert = {.etp = 2, .ep = 16, .edp = 1};
      },
      "expert-grid", "expert", "expert grid: 64 is not a multiple of ETP*EP*PP = 2*16*4 = 128",
      "experts have their own grid, ETP*EP*EDP*PP = world; the dense grid TP*CP*DP*PP fits; with "
      "ETP 2 "
      "and PP 4, EP can be 1 2 4 8");
  expect_violation([](Case& c) { c.plan.expert.edp = 4; }, "expert-grid", "expert.edp",
                   "expert grid: ETP*EP*EDP*PP = 2*16*4*4 = 512, but the world is 256",
                   "EDP 2 uses all 256; the dense grid TP*CP*DP*PP fits");
}

TEST(Constraints, ExpertsDivisible) {
  expect_violation(
      [](Case& c) {
        c.model.moe->experts = 160;
        c.plan.expert = {.etp = 1, .ep = 64, .edp = 1};
      },
      "experts-divisible", "expert.ep", "160 experts cannot be split over EP 64",
      "divisors up to 64: 1 2 4 5 8 10 16 20 32 40");
}

TEST(Constraints, DenseModelHasNoExpertMapping) {
  expect_violation(
      [](Case& c) {
        c.make_dense();
        c.plan.sequence_parallel = true;
        c.plan.expert.ep = 4;
      },
      "dense-mapping", "expert", "test-moe has no experts, but ETP is 1 and EP 4",
      "a dense model needs ETP 1 and EP 1");
}

TEST(Constraints, HeadsNameBothCountsAndAllowedDegrees) {
  const auto with_tp = [](int tp, int world) {
    return [=](Case& c) {
      c.make_dense();
      c.model.ffn = 48 * 4096;
      c.workload.seq_len = 48 * 256;
      c.gpus = world;
      c.plan.attention = {.tp = tp, .cp = 1, .dp = 1, .pp = 1};
      c.plan.vpp = 1;
    };
  };
  expect_violation(with_tp(48, 48), "heads-divisible", "attention.tp",
                   "64 heads with 8 kv groups cannot be split over TP 48",
                   "allowed TP: 1 2 4 8 16 32 64");
  expect_violation(
      [&](Case& c) {
        with_tp(12, 12)(c);
        c.model.attention.heads = 96;
      },
      "heads-divisible", "attention.tp", "96 heads with 8 kv groups cannot be split over TP 12",
      "allowed TP: 1 2 4 8 16 24 32 48 96");
  expect_violation(
      [&](Case& c) {
        with_tp(3, 3)(c);
        c.model.attention.kind = AttentionKind::mla;
      },
      "heads-divisible", "attention.tp", "64 heads cannot be split over TP 3",
      "allowed TP: 1 2 4 8 16 32 64");
}

TEST(Constraints, FewerKvGroupsThanTensorRanksAreAllowed) {
  Case c;
  c.plan.attention = {.tp = 16, .cp = 1, .dp = 4, .pp = 4};
  EXPECT_TRUE(violations(c.context()).empty());
}

TEST(Constraints, FfnWidths) {
  expect_violation([](Case& c) { c.model.ffn = 18431; }, "ffn-divisible", "attention.tp",
                   "18431 FFN columns cannot be split over TP 2", "divisors up to 2: 1");
  expect_violation([](Case& c) { c.model.moe->shared_ffn = 2047; }, "shared-ffn-divisible",
                   "attention.tp", "2047 shared-expert FFN columns cannot be split over TP 2",
                   "divisors up to 2: 1");
  expect_violation([](Case& c) { c.model.moe->ffn = 2047; }, "expert-ffn-divisible", "expert.etp",
                   "2047 expert FFN columns cannot be split over ETP 2", "divisors up to 2: 1");
  expect_violation(
      [](Case& c) {
        c.model.hidden = 7169;
        c.model.mtp_layers = 1;
      },
      "prediction-width-divisible", "attention.tp",
      "7169 columns of a prediction block's input cannot be split over TP 2",
      "divisors up to 2: 1");
  Case all_moe;  // a dense width that no layer uses
  all_moe.model.ffn = 18431;
  all_moe.model.moe_layer[0] = true;
  EXPECT_TRUE(violations(all_moe.context()).empty());
}

TEST(Constraints, SequenceLength) {
  expect_violation(
      [](Case& c) {
        c.workload.seq_len = 4095;
        c.plan.attention = {.tp = 1, .cp = 4, .dp = 16, .pp = 4};
      },
      "context-divisible", "workload.seq_len",
      "sequence length 4095 must be a multiple of 2*CP = 8", "nearest 4088, 4096");
  expect_violation(
      [](Case& c) {
        c.workload.seq_len = 4094;
        c.plan.attention = {.tp = 4, .cp = 1, .dp = 16, .pp = 4};
      },
      "sequence-divisible", "workload.seq_len",
      "sequence length 4094 must be a multiple of TP*CP = 4 under sequence parallelism",
      "nearest 4092, 4096");
  Case odd;  // any length goes without CP and TP
  odd.workload.seq_len = 4095;
  odd.plan.attention = {.tp = 1, .cp = 1, .dp = 64, .pp = 4};
  EXPECT_TRUE(violations(odd.context()).empty());
}

TEST(Constraints, AllViolationsAtOnce) {
  Case c;
  c.plan.sharding = Sharding::zero2;
  c.workload.global_batch = 4100;
  c.plan.layout = "t*64L";
  try {
    require_valid(c.context(), "--plan");
    FAIL();
  } catch (const ConfigError& e) {
    ASSERT_EQ(e.diagnostics().size(), 3u);
    EXPECT_EQ(e.diagnostics()[0].path, "layout");
    EXPECT_EQ(e.diagnostics()[1].path, "workload.global_batch");
    EXPECT_EQ(e.diagnostics()[2].path, "sharding");
    EXPECT_EQ(e.exit_code(), ExitCode::bad_request);
  }
}

}  // namespace
}  // namespace pleat
