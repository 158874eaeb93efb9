// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A step whose first microbatch writes gradients gives the numbers of one that clears all of them
// and adds. What nothing has written is NaN here (TrainConfig::poison).
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "backend/runtime/execution_error.hpp"
#include "core/program/step_state.hpp"
#include "tests/backend/model_cases.hpp"
#include "tests/backend/train_runs.hpp"
#include "tests/support/changed_plans.hpp"

namespace pleat {
namespace {

using test::fp32_plan;
using test::interleaved;
using test::tp_plan;

struct WriteCase {
  std::string name;
  ModelSpec model;
  Plan plan;
  friend std::ostream& operator<<(std::ostream& out, const WriteCase& c) { return out << c.name; }
};

Plan with_zero(Sharding sharding, Plan plan) {
  plan.sharding = sharding;
  return plan;
}

Plan overlapped(Plan plan) {
  plan.overlap.expert_parallel = plan.overlap.delay_wgrad = true;
  return plan;
}

Plan with_bf16_gradients(Plan plan) {
  plan.precision = Precision::bf16;
  plan.optimizer.main_grads = DType::bf16;
  return plan;
}

Plan with_muon(Plan plan) {
  plan.optimizer.kind = OptimizerKind::muon;
  return plan;
}

Plan in_codes(Precision precision, Plan plan) {
  plan.precision = precision;
  return plan;
}

std::vector<WriteCase> write_cases() {
  using enum PipelineSchedule;
  const ModelSpec moe = test::biased(test::small_moe());
  return {{"one_rank", moe, fp32_plan()},
          {"unsharded", moe, test::unsharded(fp32_plan(2, 2))},
          {"zero1", moe, fp32_plan(4, 2)},
          {"zero2", moe, with_zero(Sharding::zero2, fp32_plan(4, 2))},
          {"zero2_experts_whole", moe, with_zero(Sharding::zero2, fp32_plan(2, 2))},
          {"zero3", moe, with_zero(Sharding::zero3, fp32_plan(4, 2))},
          {"zero3_one_rank", moe, with_zero(Sharding::zero3, fp32_plan())},
          {"tensor", moe, tp_plan(2, 2, 2)},
          {"tensor_zero3", moe, with_zero(Sharding::zero3, tp_plan(2, 2, 2))},
          {"interleaved", moe, interleaved(fp32_plan(1, 1, 2))},
          {"zb_h1", moe, [] {
             Plan p = fp32_plan(1, 1, 2);
             p.schedule = zb_h1;
             return p;
           }()},
          {"zb_v", moe, interleaved(fp32_plan(1, 1, 2), zb_v)},
          {"dualpipe_v", moe, interleaved(fp32_plan(1, 1, 2), dualpipe_v)},
          {"dualpipe", moe, [] {
             Plan p = fp32_plan(1, 1, 2);
             p.schedule = dualpipe;
             return p;
           }()},
          {"overlapped", moe, overlapped(interleaved(fp32_plan(2, 2, 2)))},
          {"recomputed", moe, test::recomputing_all(fp32_plan(2, 2))},
          {"recomputed_in_units", moe, [] {
             Plan p = test::recomputing_all(fp32_plan(2, 2));
             p.recompute_unit = 2;
             return p;
           }()},
          {"muon", moe, with_muon(fp32_plan(2, 2))},
          {"bf16", moe, test::in_bf16(fp32_plan(2, 2))},
          {"bf16_gradients", moe, with_bf16_gradients(fp32_plan(2, 2))},
          {"mxfp8", moe, in_codes(Precision::mxfp8, fp32_plan(2, 2))},
          {"fp8", moe, in_codes(Precision::fp8, fp32_plan(2, 2))},
          {"tied", test::with_depth([] {
             ModelSpec m = test::small_moe();
             m.tied_embeddings = true;
             return m;
           }()), fp32_plan(2, 2)},
          {"gpt", test::small_gpt(), fp32_plan(2)},
          {"gpt_oss", test::small_oss(), fp32_plan(2, 2)},
          {"gpt_oss_zero3", test::small_oss(), with_zero(Sharding::zero3, fp32_plan(2, 2))}};
}

// The layer's zeros of all of a tensor before everything else, and products that add to it.
void clear_all(LayerProgram& layer) {
  std::erase_if(layer.backward, [](const Op& op) { return op.kind == OpKind::zero; });
  for (Op& op : layer.backward) {
    const bool product = op.kind == OpKind::gemm || op.kind == OpKind::grouped_gemm;
    if (product && op.attr.transpose_a) op.attr.accumulate = true;
    op.attr.first_writes = false;
  }
  for (const ShardedWeights& s : layer.sharded) {
    Op zero;
    zero.kind = OpKind::zero;
    zero.name = "zero_all";
    zero.phase = Phase::backward;
    zero.out = {s.gradients};
    layer.backward.insert(layer.backward.begin(), zero);
  }
  for (Weight& w : layer.weights) w.written = false;
  compute_lifetimes(layer);
}

Program clearing(Program program) {
  for (StageProgram& stage : program.stages) {
    for (SharedLayer& layer : stage.layers) clear_all(layer.own());
    std::erase_if(stage.prologue,
                  [](const Op& op) { return op.name.find(".zero_grad") != std::string::npos; });
    for (const BucketState& b : stage.buckets) {
      if (b.elements == 0) continue;
      stage.prologue.push_back(
          step_op(OpKind::zero, "zero_all", Module::optimizer, {}, {b.gradients}));
    }
  }
  return program;
}

class WrittenGradients : public testing::TestWithParam<WriteCase> {};

TEST_P(WrittenGradients, AreThoseOfAddingToZeros) {
  TrainConfig config = test::small_config(2);  // the second step finds the first one's
  test::skew(config);                          // one expert gets no rows
  const Program program =
      compile(GetParam().model, {.seq_len = 16, .global_batch = 16}, GetParam().plan,
              Runtime::pleat);
  const TrainResult writing = train(program, config), adding = train(clearing(program), config);
  test::expect_same_bits(writing.gradients, adding.gradients);
  test::expect_same_bits(writing.weights, adding.weights);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(writing.steps[i].loss, adding.steps[i].loss);
    EXPECT_EQ(writing.steps[i].grad_norm, adding.steps[i].grad_norm);
  }
  EXPECT_FALSE(writing.weights.empty());
}

std::string write_case_name(const testing::TestParamInfo<WriteCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Plans, WrittenGradients, testing::ValuesIn(write_cases()),
                         write_case_name);

// Adding to what nothing has cleared or written does not pass unnoticed.
TEST(WrittenGradients, HaveToBeWritten) {
  Program program = test::small_program(fp32_plan());
  for (SharedLayer& layer : program.stages.front().layers) {
    for (Op& op : layer.own().backward) op.attr.first_writes = false;
  }
  EXPECT_THROW(train(program, test::small_config(1)), ExecutionError);
}

// What is cleared, and what not: tables, norms and padding against matrices.
TEST(ClearedGradients, AreThoseThatNoProductMakes) {
  const Program program = test::small_program(fp32_plan());
  const StageProgram& stage = program.stages.front();
  std::int64_t added = 0;
  for (const LayerInstance& i : stage.chunks[0].instances) {
    for (const Weight& w : stage.program(i).weights) {
      if (!w.buffer && !w.written) added += w.elements;
    }
  }
  const ModelSpec& m = program.model;
  EXPECT_EQ(added, m.vocab * m.hidden + (2 * m.layers + 1) * m.hidden);  // the table, norms
  ASSERT_EQ(stage.buckets[0].cleared.size(), 1u);
  EXPECT_EQ(stage.buckets[0].cleared[0].elements, added);
  EXPECT_TRUE(stage.buckets[1].cleared.empty());
  std::int64_t zeroed = 0;
  for (const Op& op : stage.prologue) {
    if (op.name.find(".zero_grad") != std::string::npos) zeroed += op.attr.n.n;
  }
  EXPECT_EQ(zeroed, added);
}

TEST(ClearedGradients, AreAllOfMegatrons) {
  const Program program = compile(test::small_moe(), test::small_workload(), fp32_plan(2, 2),
                                  Runtime::megatron);
  for (const Op& op : program.stages.front().prologue) EXPECT_EQ(op.attr.n, Dim{}) << op.name;
  for (const LayerProgram& layer : program.stages.front().layers) {
    for (const Op& op : layer.backward) EXPECT_FALSE(op.attr.first_writes) << op.name;
  }
}

}  // namespace
}  // namespace pleat
