// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Golden messages of the rules about pipeline orders that split the backward pass.
#include <gtest/gtest.h>

#include "tests/core/plan/constraint_case.hpp"

namespace pleat {
namespace {

using test::Case;
using test::Edit;
using test::expect_violation;

// 256 microbatches on four stages.
Edit order(PipelineSchedule kind, int vpp, const Edit& further = [](Case&) {}) {
  return [=](Case& c) {
    c.plan.schedule = kind;
    c.plan.vpp = vpp;
    further(c);
  };
}

TEST(Constraints, SplitOrdersAreAllowed) {
  const std::pair<PipelineSchedule, int> orders[] = {{PipelineSchedule::zb_h1, 1},
                                                     {PipelineSchedule::zb_v, 2},
                                                     {PipelineSchedule::dualpipe, 1},
                                                     {PipelineSchedule::dualpipe_v, 2}};
  for (const auto& [kind, vpp] : orders) {
    Case c;
    order(kind, vpp)(c);
    const auto found = violations(c.context());
    EXPECT_TRUE(found.empty()) << name_of(kind) << ": " << found.front().message;
    c.plan.overlap.expert_parallel = true;
    EXPECT_EQ(violations(c.context()).empty(), is_dualpipe(kind)) << name_of(kind);
  }
}

TEST(Constraints, SplitOrderNeedsAPipeline) {
  expect_violation(order(PipelineSchedule::zb_h1, 1,
                         [](Case& c) {
                           c.plan.attention = {.tp = 2, .cp = 2, .dp = 64, .pp = 1};
                           c.plan.expert = {.etp = 2, .ep = 16, .edp = 8};
                         }),
                   "schedule-needs-pipeline", "schedule", "zb-h1 needs a pipeline, but PP is 1",
                   "1f1b");
}

TEST(Constraints, SplitOrderSaysItsChunks) {
  expect_violation(order(PipelineSchedule::zb_v, 4), "schedule-chunks", "vpp",
                   "zb-v has VPP 2, not 4", "");
  expect_violation(order(PipelineSchedule::dualpipe, 2), "schedule-chunks", "vpp",
                   "dualpipe has VPP 1, not 2",
                   "its two chunks a stage are copies of two stages of the layout");
}

TEST(Constraints, DualPipeNeedsEvenStagesAndManyMicrobatches) {
  expect_violation(order(PipelineSchedule::dualpipe, 1,
                         [](Case& c) {
                           c.gpus = 192;
                           c.plan.attention = {.tp = 2, .cp = 2, .dp = 16, .pp = 3};
                           c.model.layers = 61;
                           c.model.moe_layer.resize(61);
                         }),
                   "schedule-stages", "attention.pp",
                   "dualpipe pairs stages from both ends, PP 3 is odd", "an even PP");
  expect_violation(
      order(PipelineSchedule::dualpipe, 1, [](Case& c) { c.workload.global_batch = 16 * 6; }),
      "schedule-microbatches", "schedule",
      "dualpipe needs at least 8 and an even number of microbatches, there are 6",
      "a smaller DP, PP or micro batch, or a larger global batch");
  expect_violation(
      order(PipelineSchedule::dualpipe, 1, [](Case& c) { c.workload.global_batch = 16 * 9; }),
      "schedule-microbatches", "schedule",
      "dualpipe needs at least 8 and an even number of microbatches, there are 9",
      "a smaller DP, PP or micro batch, or a larger global batch");
  expect_violation(
      order(PipelineSchedule::dualpipe_v, 2, [](Case& c) { c.workload.global_batch = 16 * 7; }),
      "schedule-microbatches", "schedule", "dualpipe-v needs at least 8 microbatches, there are 7",
      "a smaller DP, PP or micro batch, or a larger global batch");
}

TEST(Constraints, SplitOrderExcludesGroupsAndPairs) {
  expect_violation(
      order(PipelineSchedule::zb_v, 2, [](Case& c) { c.plan.microbatch_group = 8; }),
      "schedule-group", "microbatch_group",
      "groups of microbatches belong to interleaved 1f1b, not to zb-v", "0");
  expect_violation(
      order(PipelineSchedule::zb_h1, 1, [](Case& c) { c.plan.overlap.expert_parallel = true; }),
      "schedule-ep-overlap", "schedule",
      "zb-h1 excludes overlap of expert-parallel communication",
      "1f1b with VPP > 1, dualpipe or dualpipe-v");
}

}  // namespace
}  // namespace pleat
