// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Norms and SwiGLU that make codes: the bits of the program in which they write what is quantised,
// as many bytes as predicted and fewer than there.
#include <ostream>

#include "backend/quantization_recipe.hpp"
#include "tests/backend/mutation.hpp"
#include "tests/backend/peaks.hpp"
#include "tests/support/changed_plans.hpp"
#include "tests/support/fused_programs.hpp"

namespace pleat {
namespace {

using test::interleaved;

using test::fp32_plan;
using test::fused_ops;
using test::in_blocks;
using test::taken_apart;
using test::tp_plan;

const WorkloadSpec kWorkload{.seq_len = 32, .global_batch = 8};

struct FusedCase {
  std::string name;
  Plan plan;
  friend std::ostream& operator<<(std::ostream& out, const FusedCase& c) { return out << c.name; }
};

std::vector<FusedCase> fused_layouts() {
  std::vector<FusedCase> all{{"one", fp32_plan()},
                             {"TP2", tp_plan(2)},
                             {"TP2_ETP2_EP2", test::folded_plan({2, 1, 2, 1}, 2, 2)},
                             {"CP2", test::folded_plan({1, 2, 1, 1}, 1, 2)},
                             {"PP2_EP2", fp32_plan(2, 2, 2)}};
  const auto add = [&](const std::string& name, Plan plan, auto change) {
    change(plan);
    all.push_back({name, plan});
  };
  add("allgather", fp32_plan(2, 2), [](Plan& p) { p.dispatcher = Dispatcher::allgather; });
  add("modules", tp_plan(2, 1, 2), [](Plan& p) {
    p.recompute = {Module::layernorm, Module::moe_act, Module::shared_experts};
  });
  add("full", tp_plan(2, 1, 2), [](Plan& p) { p.recompute_full = true; });
  add("unit", fp32_plan(), [](Plan& p) {
    p.recompute_full = true;
    p.recompute_unit = 2;
  });
  const auto paired = [](Plan& p) { p.overlap.expert_parallel = true; };
  add("overlap", fp32_plan(2, 2), paired);
  add("delayed", interleaved(fp32_plan(2, 2, 2)),
      [](Plan& p) { p.overlap.expert_parallel = p.overlap.delay_wgrad = true; });
  add("DualPipe", interleaved(fp32_plan(2, 2, 2), PipelineSchedule::dualpipe_v), paired);
  add("ZB_V", interleaved(fp32_plan(1, 1, 2), PipelineSchedule::zb_v),
      [](Plan& p) { p.recompute = {Module::layernorm}; });
  add("offload", fp32_plan(2, 2), [](Plan& p) {
    p.offload = {Offload::attn_norm, Offload::qkv_linear, Offload::expert_fc1, Offload::moe_act};
  });
  add("ZeRO3_kept", fp32_plan(4, 2), [](Plan& p) {
    p.sharding = Sharding::zero3;
    p.fp8_head = true;
  });
  return all;
}

std::vector<FusedCase> fused_cases() {
  std::vector<FusedCase> all;
  for (const Precision precision : {Precision::mxfp8, Precision::fp8_block}) {
    for (FusedCase c : fused_layouts()) {
      c.plan.precision = precision;
      c.plan.fp8_params = c.name.ends_with("kept");
      c.name += "_" + name_of(precision);
      all.push_back(c);
    }
  }
  return all;
}

class FusedQuantization : public testing::TestWithParam<FusedCase> {};

void expect_sent_bytes(const Program& program, const TrainResult& result) {
  for (std::size_t r = 0; r < result.ranks.size(); ++r) {
    const RankMeasurement& rank = result.ranks[r];
    const int stage = attention_coordinates(program.plan, Rank{static_cast<int>(r)}).pp;
    const RoutedCount rows = [&](MicroBatch m, LayerIndex l) {
      return rank.routed.at({m.value, l.value});
    };
    EXPECT_EQ(rank.peak_live_bytes,
              peak_live_bytes(program.stages[static_cast<std::size_t>(stage)], rows))
        << r;
  }
}

TEST_P(FusedQuantization, ChangesNoBitAndHoldsAsManyBytesAsPredicted) {
  TrainConfig config = test::small_config(1);  // peaks are of the counts of its last step
  config.clip_norm = 0.5;
  std::vector<ModelSpec> models{in_blocks(test::small_moe())};
  if (GetParam().plan.precision == Precision::mxfp8) models.push_back(in_blocks(test::small_mla()));
  for (const ModelSpec& model : models) {
    const Program program = compile(model, kWorkload, GetParam().plan, Runtime::pleat);
    const Program apart = taken_apart(program);
    EXPECT_GT(fused_ops(program), 5);
    EXPECT_EQ(fused_ops(apart), 0);
    const TrainResult fused = train(program, config), separate = train(apart, config);
    EXPECT_EQ(fused.steps[0].loss, separate.steps[0].loss);
    EXPECT_EQ(fused.steps[0].grad_norm, separate.steps[0].grad_norm);
    test::expect_same_bits(fused.gradients, separate.gradients);
    test::expect_same_bits(fused.weights, separate.weights);
    expect_sent_bytes(program, fused);
    expect_sent_bytes(apart, separate);
    for (std::size_t r = 0; r < fused.ranks.size(); ++r) {
      EXPECT_LE(fused.ranks[r].peak_live_bytes, separate.ranks[r].peak_live_bytes) << r;
      EXPECT_EQ(fused.ranks[r].peak_host_bytes, separate.ranks[r].peak_host_bytes) << r;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, FusedQuantization, testing::ValuesIn(fused_cases()),
                         [](const auto& info) { return info.param.name; });

// The pass' blocks are those of the executor's recipes.
TEST(FusedQuantizationRecipes, HaveBlocksOfOneLengthWithinRowsAndColumns) {
  for (const auto& [precision, length] :
       {std::pair{Precision::mxfp8, 32}, std::pair{Precision::fp8_block, 128}}) {
    const Quantization row = quantization_of(precision, ProductOperand::activation, false, {});
    const Quantization column = quantization_of(precision, ProductOperand::activation, true, {});
    EXPECT_EQ(row.block_rows, 1);
    EXPECT_EQ(row.block_cols, length);
    EXPECT_EQ(column.block_rows, length);
    EXPECT_EQ(column.block_cols, 1);
    EXPECT_EQ(row.format, column.format);
    EXPECT_EQ(row.rule, column.rule);
    EXPECT_FALSE(row.hadamard || column.hadamard || row.stochastic || column.stochastic);
  }
}

Plan mxfp8() {
  Plan plan = fp32_plan();
  plan.precision = Precision::mxfp8;
  return plan;
}

class MutationOfFusion : public test::Mutation {
 protected:
  MutationOfFusion()
      : Mutation(in_blocks(test::small_moe(), 32), {.seq_len = 16, .global_batch = 2}, mxfp8()) {}
};

TEST_F(MutationOfFusion, DeletingAnyFusedOperationIsNoticedByBoth) {
  int mutants = 0;
  for (std::size_t l = 0; l < program_.stages[0].layers.size(); ++l) {
    for (std::size_t i = 0; i < program_.stages[0].layers[l]->forward.size(); ++i) {
      Program mutant = program_;
      LayerProgram& layer = mutant.stages[0].layers[l].own();
      if (!makes_codes(layer.forward[i])) continue;
      const std::string name = layer.forward[i].name;
      layer.forward.erase(layer.forward.begin() + static_cast<std::ptrdiff_t>(i));
      compute_lifetimes(layer);
      EXPECT_TRUE(noticed(mutant)) << "execution without " << name;
      EXPECT_NE(observe(mutant), before_) << "estimate without " << name;
      ++mutants;
    }
  }
  EXPECT_EQ(mutants, 6);
  EXPECT_LT(observe(program_).step, observe(taken_apart(program_)).step);
  EXPECT_LT(observe(program_).peak, observe(taken_apart(program_)).peak);  // of all moments
}

}  // namespace
}  // namespace pleat
