// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Layers recomputed together are one program that keeps one input.
#include <gtest/gtest.h>

#include "core/program/program.hpp"
#include "tests/core/program/well_formed.hpp"
#include "tests/support/small_models.hpp"

namespace pleat {
namespace {

StageProgram stage_of_unit(int unit) {
  Plan plan = test::fp32_plan(2, 2);
  plan.precision = Precision::bf16;
  plan.recompute_full = true;
  plan.recompute_unit = unit;
  return compile(test::small_moe(), test::small_workload(), plan, Runtime::megatron).stages[0];
}

std::int64_t saved_bytes(const LayerProgram& layer) {
  std::int64_t bytes = 0;
  for (TensorId id : saved_tensors(layer)) bytes += layer.tensor(id).bytes({.routed = 64});
  return bytes;
}

TEST(MergeLayers, AUnitOfTwoKeepsOneInput) {
  const StageProgram alone = stage_of_unit(1), pairs = stage_of_unit(2);
  ASSERT_EQ(alone.chunks[0].instances.size(), 6u);  // embedding, four layers, head
  ASSERT_EQ(pairs.chunks[0].instances.size(), 4u);
  const LayerProgram& unit = pairs.program(pairs.chunks[0].instances[2]);
  const LayerProgram& moe = alone.program(alone.chunks[0].instances[2]);
  EXPECT_EQ(unit.layers, 2);
  EXPECT_EQ(unit.kind, LayerKind::moe);
  // Routing is never recomputed: what it keeps comes twice, the input once.
  const std::int64_t input = 16 * 32 * 2;
  EXPECT_EQ(saved_bytes(unit), 2 * (saved_bytes(moe) - input) + input);
  EXPECT_EQ(unit.forward.size(), 2 * moe.forward.size());
  EXPECT_EQ(unit.weights.size(), 2 * moe.weights.size());
  EXPECT_EQ(pairs.buckets[0].elements, alone.buckets[0].elements);
  EXPECT_EQ(pairs.buckets[1].elements, alone.buckets[1].elements);
  EXPECT_EQ(pairs.chunks[0].instances[1].layer.value, 0);
  EXPECT_EQ(pairs.chunks[0].instances[2].layer.value, 2);
}

TEST(MergeLayers, TheLastUnitMayBeShorter) {
  const StageProgram stage = stage_of_unit(3);
  ASSERT_EQ(stage.chunks[0].instances.size(), 4u);
  EXPECT_EQ(stage.program(stage.chunks[0].instances[1]).layers, 3);
  EXPECT_EQ(stage.program(stage.chunks[0].instances[2]).layers, 1);
  EXPECT_EQ(stage.chunks[0].instances[2].layer.value, 3);
}

TEST(MergeLayers, EveryTensorIsWrittenBeforeItIsRead) {
  for (int unit : {2, 3, 4}) {
    const StageProgram stage = stage_of_unit(unit);
    for (const LayerProgram& layer : stage.layers)
      EXPECT_EQ(test::problems_of(layer), std::vector<std::string>{});
  }
}

}  // namespace
}  // namespace pleat
