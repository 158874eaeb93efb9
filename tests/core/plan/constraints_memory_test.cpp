// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Golden messages of the rules about the optimizer, units of recompute, the stash and packing.
#include <gtest/gtest.h>

#include "core/plan/constraints.hpp"
#include "tests/core/plan/constraint_case.hpp"

namespace pleat {
namespace {

using test::Case;
using test::expect_violation;

TEST(Constraints, MuonNeedsWholeMatrices) {
  expect_violation(
      [](Case& c) {
        c.plan.optimizer.kind = OptimizerKind::muon;
        c.plan.sharding = Sharding::zero2;
        c.plan.attention = {.tp = 2, .cp = 2, .dp = 64, .pp = 1};
        c.plan.expert = {.etp = 2, .ep = 16, .edp = 8};
        c.plan.vpp = 1;
      },
      "muon-sharding", "optimizer.kind", "muon needs whole matrices, zero2 cuts them",
      "sharding none, or zero1 (whole matrices dealt to ranks)");
  expect_violation(
      [](Case& c) {
        c.plan.optimizer.kind = OptimizerKind::muon;
        c.plan.optimizer.state_offload = 0.5;
      },
      "optimizer-offload-muon", "optimizer.state_offload",
      "muon's state stays on the GPU: it steps whole matrices", "adamw, or state_offload 0");
}

TEST(Constraints, StagesAreNamedOnceAndKeepTheRules) {
  expect_violation(
      [](Case& c) { c.plan.stages = {{.stage = 4, .recompute = {}, .offload = {}}}; }, "stages",
      "stages[0].stage", "stage 4 of 4: stages are named once, in ascending order", "0 to 3");
  expect_violation(
      [](Case& c) {
        c.plan.stages = {{.stage = 1, .recompute = {}, .offload = {}},
                         {.stage = 0, .recompute = {}, .offload = {}}};
      },
      "stages", "stages[1].stage", "stage 0 of 4: stages are named once, in ascending order",
      "0 to 3");
  expect_violation(
      [](Case& c) {
        c.plan.stages = {{.stage = 0, .recompute = {}, .offload = {}},
                         {.stage = 1, .recompute = {}, .recompute_layers = 3, .offload = {}}};
      },
      "stages", "stages[1].recompute_layers",
      "stage 1: recompute of the first 3 layers of a chunk needs full recompute (recompute-layers)",
      "recompute_full true, or recompute_layers 0");
  Case c;
  c.plan.stages = {{.stage = 1, .recompute = {}, .recompute_full = true, .offload = {}}};
  EXPECT_TRUE(violations(c.context()).empty());
}

TEST(Constraints, RemaindersCompleteBf16Weights) {
  const char* const hint =
      "bf16 weights (fp8_params false) and sharding zero1, or main_params fp32";
  expect_violation(
      [](Case& c) {
        c.plan.optimizer.main_params = DType::remainder16;
        c.plan.precision = Precision::mxfp8;
      },
      "remainder-weights", "optimizer.main_params",
      "16-bit remainders complete bf16 weights of a sharded AdamW; precision is mxfp8, sharding "
      "zero1, optimizer adamw",
      hint);
  expect_violation(
      [](Case& c) {
        c.plan.optimizer.main_params = DType::remainder16;
        c.plan.sharding = Sharding::none;
      },
      "remainder-weights", "optimizer.main_params",
      "16-bit remainders complete bf16 weights of a sharded AdamW; precision is bf16, sharding "
      "none, optimizer adamw",
      hint);
  Case c;
  c.plan.optimizer.main_params = DType::remainder16;
  EXPECT_TRUE(violations(c.context()).empty());
}

TEST(Constraints, SharesOfTheOptimizerInHostMemory) {
  expect_violation(
      [](Case& c) {
        c.plan.optimizer.state_offload = 0.75;
        c.plan.optimizer.cpu_offload = 0.5;
      },
      "optimizer-offload-share", "optimizer.state_offload",
      "state_offload 0.75 and cpu_offload 0.5 are shares of the same state, together at most 1",
      "");
  expect_violation(
      [](Case& c) {
        c.plan.optimizer.kind = OptimizerKind::lamb;
        c.plan.optimizer.cpu_offload = 1;
      },
      "optimizer-cpu-kind", "optimizer.cpu_offload",
      "the CPU makes steps of adamw and sgd, not of lamb",
      "state_offload keeps the state in host memory and steps on the GPU");
  expect_violation([](Case& c) { c.plan.optimizer.cpu_offload_overlapped = true; },
                   "optimizer-cpu-overlap", "optimizer.cpu_offload_overlapped",
                   "there is no step on the CPU to overlap with", "cpu_offload above 0");
}

TEST(Constraints, UnitsOfRecompute) {
  expect_violation([](Case& c) { c.plan.recompute_unit = 0; }, "recompute-unit", "recompute_unit",
                   "must be at least 1, is 0", "");
  expect_violation([](Case& c) { c.plan.recompute_unit = 2; }, "recompute-unit", "recompute_unit",
                   "units of 2 layers need full recompute",
                   "recompute_full true, or recompute_unit 1");
  expect_violation(
      [](Case& c) {
        c.plan.recompute_full = true;
        c.plan.recompute_layers = 1;
        c.plan.recompute_unit = 2;
      },
      "recompute-unit", "recompute_unit",
      "units cover all layers, recompute_layers the first of a chunk",
      "recompute_layers 0, or recompute_unit 1");
}

TEST(Constraints, PagedStash) {
  expect_violation([](Case& c) { c.plan.paged_stash = {1.1, 0.5}; }, "stash-sizes", "paged_stash",
                   "a stash needs a buffer and a capacity of at least the balanced mean, which is "
                   "1, they are 1.1 and 0.5",
                   "buffer 1.1, capacity 1.5; both 0 for no stash");
  expect_violation([](Case& c) { c.plan.paged_stash = {0.9, 1.5}; }, "stash-sizes", "paged_stash",
                   "a stash needs a buffer and a capacity of at least the balanced mean, which is "
                   "1, they are 0.9 and 1.5",
                   "buffer 1.1, capacity 1.5; both 0 for no stash");
  expect_violation(
      [](Case& c) {
        c.make_dense();
        c.plan.expert.edp = 64;
        c.plan.paged_stash = {1.1, 1.5};
      },
      "stash-present", "paged_stash", "test-moe has no experts to stash for", "");
  expect_violation(
      [](Case& c) {
        c.plan.paged_stash = {1.1, 1.5};
        c.plan.offload = {Offload::expert_fc1};
      },
      "stash-offload", "paged_stash",
      "the stash holds what offload of expert_fc1, moe_act or whole layers moves",
      "another offload, or no stash");
}

TEST(Constraints, PackedDocuments) {
  expect_violation([](Case& c) { c.workload.documents = {512, 0}; }, "documents",
                   "workload.documents", "lengths of documents are at least 1 token", "");
  expect_violation(
      [](Case& c) {
        c.workload.documents = {512};
        c.plan.flash_attention = false;
      },
      "documents-attention", "flash_attention",
      "packed documents need attention that does not store its scores", "flash_attention true");
}

}  // namespace
}  // namespace pleat
