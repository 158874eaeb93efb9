// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A stage that is only priced has its weights counted: as many elements as where they are placed.
#include <gtest/gtest.h>

#include "core/program/program.hpp"
#include "core/program/step_ops.hpp"
#include "tests/support/small_models.hpp"

namespace pleat {
namespace {

// Layers of two kinds in chunks, biases and loads of experts, and a table that three layers share.
ModelSpec model_with_all_weights() {
  ModelSpec model = test::small_mla();
  model.tied_embeddings = true;
  model.mtp_layers = 1;
  model.moe->bias_update = 0.001;
  return model;
}

struct SumsOfBucket {
  std::int64_t elements, replicated, narrow, buffers, biases;
  bool operator==(const SumsOfBucket&) const = default;
};
std::vector<SumsOfBucket> sums_of(const StageProgram& stage) {
  std::vector<SumsOfBucket> sums;
  for (const BucketState& b : stage.buckets) {
    sums.push_back({b.elements, b.replicated_elements, b.narrow_elements, b.buffer_elements,
                    b.bias_elements});
  }
  return sums;
}

TEST(WeightPlacement, CountsWhatItPlaces) {
  const ModelSpec model = model_with_all_weights();
  for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::muon}) {
    Plan plan = test::fp32_plan(2, 2);
    plan.attention.tp = 2;
    plan.expert.ep = 4;
    plan.sequence_parallel = true;
    plan.precision = Precision::fp8;
    plan.fp8_params = false;  // narrow copies in both dialects
    plan.optimizer.kind = kind;
    StageProgram stage =
        compile(model, test::small_workload(), plan, Runtime::megatron).stages[0];
    for (const ChunkProgram& chunk : stage.chunks) {
      for (const LayerInstance& i : chunk.instances) EXPECT_TRUE(i.slots.empty());
    }
    const std::vector<SumsOfBucket> counted = sums_of(stage);
    stage.state.clear();
    lay_out_buckets(stage, model, plan, Runtime::pleat, false);
    EXPECT_EQ(sums_of(stage), counted) << static_cast<int>(kind);
    std::size_t placed = 0;
    for (const LayerInstance& i : stage.chunks[0].instances) placed += i.slots.size();
    EXPECT_GT(placed, 30u);
    EXPECT_GT(counted[0].replicated, 0);
    EXPECT_GT(counted[kind == OptimizerKind::muon ? 2 : 0].narrow, 0);
    EXPECT_GT(counted[0].biases, 0);
    EXPECT_EQ(counted[0].buffers, 2 * counted[0].biases);
  }
}

}  // namespace
}  // namespace pleat
