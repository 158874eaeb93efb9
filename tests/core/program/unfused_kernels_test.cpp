// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Kernels of what a run of Megatron does not fuse: how many, and how often they move operands.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/fused_programs.hpp"

namespace pleat {
namespace {

struct Kernels {
  double passes = -1;
  std::int64_t more = -1;
  bool operator==(const Kernels&) const = default;
};
void PrintTo(const Kernels& k, std::ostream* to) { *to << k.passes << " x, " << k.more << " more"; }

class UnfusedKernels : public ::testing::Test {
 protected:
  ModelSpec model_ = test::in_blocks(test::small_moe());  // 2 of 8 experts
  Plan plan_ = test::fp32_plan(2, 2);
  Runtime runtime_ = Runtime::megatron;

  Kernels of(const std::string& name, Pass pass = Pass::forward) {
    const Program program =
        compile(model_, {.seq_len = 32, .global_batch = 8}, plan_, runtime_);
    for (const LayerProgram& layer : program.stages[0].layers) {
      if (layer.kind != LayerKind::moe) continue;
      const std::vector<Op>& ops = layer.ops(pass);
      const auto op = std::ranges::find(ops, name, &Op::name);
      if (op != ops.end()) return {op->attr.passes, op->attr.unfused_kernels};
    }
    ADD_FAILURE() << "no operation " << name;
    return {};
  }
};

TEST_F(UnfusedKernels, ThereAreNoneInAPlainPlan) {
  EXPECT_EQ(of("permute"), (Kernels{1, 0}));
  EXPECT_EQ(of("topk"), (Kernels{1, 0}));
}

// Of two copies a token: 4 h are moved for 3, and 7 for 3 where copies are added.
TEST_F(UnfusedKernels, APermutationIsAGatherOrASum) {
  plan_.fusions.permute = false;
  EXPECT_EQ(of("permute"), (Kernels{4.0 / 3, 8}));
  EXPECT_EQ(of("permute.bwd", Pass::backward), (Kernels{7.0 / 3, 7}));
  EXPECT_EQ(of("unpermute"), (Kernels{7.0 / 3, 1}));
  EXPECT_EQ(of("unpermute.bwd", Pass::backward), (Kernels{4.0 / 3, 0}));
  EXPECT_EQ(of("topk"), (Kernels{1, 0}));
}

// Tokens arrive once on a rank, where a permutation sorts them, with their probabilities; HybridEP
// does so by itself.
TEST_F(UnfusedKernels, DispatchersSortWhatTheyBring) {
  plan_.fusions.permute = false;
  EXPECT_EQ(of("sorted"), (Kernels{1, 0}));  // 8 chunks, of up to 128 a launch
  plan_.dispatcher = Dispatcher::deepep;
  plan_.precision = Precision::bf16;
  EXPECT_EQ(of("sorted"), (Kernels{1, 8}));
  EXPECT_EQ(of("sorted.probs"), (Kernels{1, 0}));
  EXPECT_EQ(of("unsorted"), (Kernels{2, 1}));
  EXPECT_EQ(of("sorted.bwd", Pass::backward), (Kernels{2, 7}));
  EXPECT_EQ(of("unsorted.bwd", Pass::backward), (Kernels{1, 0}));
  plan_.dispatcher = Dispatcher::hybridep;
  EXPECT_EQ(of("sorted"), (Kernels{1, 0}));
}

// DeepSeek-V3's router, with the losses' kernels: 26 + 14, published as 72 less 31
// (arXiv:2603.07685).
TEST_F(UnfusedKernels, ARouterIsAChainByWhatItDoes) {
  plan_.fusions.router = false;
  EXPECT_EQ(of("topk"), (Kernels{1, 9}));
  EXPECT_EQ(of("topk.bwd", Pass::backward), (Kernels{1, 4}));
  model_.moe->seq_aux_loss = 1e-4;
  model_.moe->score = RouterScore::sigmoid;
  model_.moe->expert_bias = true;
  model_.moe->groups = 4;
  model_.moe->top_groups = 2;
  EXPECT_EQ(of("topk"), (Kernels{1, 26}));
  EXPECT_EQ(of("router.losses"), (Kernels{1, 14}));
  EXPECT_EQ(of("router.losses.bwd", Pass::backward), (Kernels{1, 7}));
}

// Both copies of a tensor, and of each of the rank's four experts' rows; both operands of a
// product.
TEST_F(UnfusedKernels, ScalesAreZeroedAndOrdered) {
  plan_.precision = Precision::mxfp8;
  plan_.fp8_params = false;
  plan_.fusions.scale_init = false;
  EXPECT_EQ(of("shared.act.quantize"), (Kernels{1, 2}));
  EXPECT_EQ(of("experts.act.quantize"), (Kernels{1, 8}));
  EXPECT_EQ(of("experts.fc2"), (Kernels{1, 0}));
  plan_.fusions.scale_order = false;
  EXPECT_EQ(of("experts.act.quantize"), (Kernels{1, 8}));
  EXPECT_EQ(of("experts.fc2"), (Kernels{1, 2}));
  EXPECT_EQ(of("shared.fc2"), (Kernels{1, 2}));
  EXPECT_EQ(of("router"), (Kernels{1, 0}));  // in bf16
  plan_.precision = Precision::fp8;          // one scale a tensor
  EXPECT_EQ(of("experts.act.quantize"), (Kernels{1, 0}));
  plan_.precision = Precision::fp8_block;  // read in the order they are made
  EXPECT_EQ(of("experts.act.quantize"), (Kernels{1, 8}));
  EXPECT_EQ(of("experts.fc2"), (Kernels{1, 0}));
}

TEST_F(UnfusedKernels, WhatPleatRunsIsFused) {
  runtime_ = Runtime::pleat;
  plan_.fusions = {.permute = false, .router = false, .scale_init = false, .scale_order = false};
  EXPECT_EQ(of("permute"), (Kernels{1, 0}));
  EXPECT_EQ(of("topk"), (Kernels{1, 0}));
}

}  // namespace
}  // namespace pleat
