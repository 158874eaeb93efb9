// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The blocks that a rank's arena takes are those of a rehearsal of its program, to the byte.
#include "backend/device_memory.hpp"

#include <map>
#include <random>

#include "backend/rehearsal.hpp"
#include "core/plan/rank_map.hpp"
#include "core/spec/catalog.hpp"
#include "simulator/estimate.hpp"
#include "simulator/stage_memory.hpp"
#include "tests/backend/device/device_cases.hpp"

namespace pleat::test {
namespace {

TEST(DeviceMemory, BlocksArePredictedToTheByte) {
  int compared = 0;
  for (const DeviceCase& c : device_cases()) {
    for (const char* name : {"OneRank", "Folded", "Zero3", "AllGather", "OffloadedActivations",
                             "ReloadedState", "Muon", "Padded", "PagedStash"}) {
      if (c.name != name) continue;
      TrainConfig config = small_config(2);
      config.keep_gradients = false;
      skew(config);
      const Program program = compile(c.model, c.workload, c.plan, Runtime::pleat);
      const TrainResult result = train(program, config);
      for (int r = 0; r < c.plan.world(); ++r) {
        const RankMeasurement& rank = result.ranks[static_cast<std::size_t>(r)];
        const RoutedCount routed = [&](MicroBatch m, LayerIndex l) {
          return rank.routed.at({m.value, l.value});
        };
        const Stage stage{attention_coordinates(c.plan, Rank{r}).pp};
        const DeviceBytes bytes = predicted_device_bytes(program, stage, routed);
        EXPECT_LE(bytes.blocks, rank.block_bytes) << c.name << r;
        // Routing of the first step may have needed other blocks than that of the last.
        if (!c.model.moe || c.workload.pad_to_capacity) {
          EXPECT_EQ(bytes.blocks, rank.block_bytes) << c.name << r;
        }
        EXPECT_GE(bytes.blocks, rank.peak_live_bytes) << c.name << r;
        EXPECT_EQ(bytes.nccl, 0);
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 20);
}

// One step, whose routing is the one that is put in.
TEST(DeviceMemory, OfOneStepWithExperts) {
  for (const Plan& plan : {fp32_plan(), fp32_plan(2, 2), tp_plan(2, 2, 4), fp32_plan(2, 2, 2)}) {
    TrainConfig config = small_config(1);
    skew(config);
    const Program program = compile(small_moe(), small_workload(), plan, Runtime::pleat);
    const TrainResult result = train(program, config);
    for (int r = 0; r < plan.world(); ++r) {
      const RankMeasurement& rank = result.ranks[static_cast<std::size_t>(r)];
      const RoutedCount routed = [&](MicroBatch m, LayerIndex l) {
        return rank.routed.at({m.value, l.value});
      };
      const Stage stage{attention_coordinates(plan, Rank{r}).pp};
      EXPECT_EQ(predicted_device_bytes(program, stage, routed).blocks, rank.block_bytes)
          << summary(plan) << " rank " << r;
    }
  }
}

// Rows of experts that differ from layer to layer and microbatch to microbatch find room in each
// other's memory: a step takes little more than its fullest moment has.
TEST(DeviceMemory, UnevenRowsTakeLittleMoreThanIsLive) {
  Plan plan = folded_plan({1, 1, 8, 1}, 1, 8);
  plan.precision = Precision::bf16;
  const WorkloadSpec workload{.seq_len = 4096, .global_batch = 32};
  const Program program = compile(load_model("qwen3-30b-a3b").model, workload, plan,
                                  Runtime::pleat);
  const StageProgram& stage = program.stages.front();
  const auto mean =
      static_cast<double>(balanced_routed_tokens(program.model, workload, plan));
  for (unsigned step = 0; step < 4; ++step) {
    std::mt19937 random(step);
    std::map<std::pair<int, int>, std::int64_t> rows;
    for (int m = 0; m < 4; ++m) {
      for (int l = 0; l < program.model.layers; ++l) {
        const double share = 0.5 + static_cast<double>(random() % 1000) / 1000;
        rows[{m, l}] = static_cast<std::int64_t>(mean * share);
      }
    }
    const RoutedCount routed = [&](MicroBatch m, LayerIndex l) {
      return rows.at({m.value, l.value});
    };
    const std::int64_t live = peak_live_bytes(stage, routed) - state_bytes(stage).total();
    const Rehearsed taken =
        rehearse(stage, routed, [](const Tensor& t) { return t.cls == TensorClass::activation; });
    EXPECT_LE(static_cast<double>(taken.blocks), 1.1 * static_cast<double>(live)) << step;
    EXPECT_GE(taken.blocks, live);
    EXPECT_GT(live, std::int64_t{20} << 30U);
  }
}

// What a calibration measured comes before the assumption.
TEST(DeviceMemory, ContextIsTheMeasuredOne) {
  const Program program = compile(small_moe(), small_workload(), fp32_plan(), Runtime::pleat);
  const RoutedCount none = [](MicroBatch, LayerIndex) { return Binding{}; };
  const DeviceBytes assumed = predicted_device_bytes(program, Stage{0}, none);
  const DeviceBytes measured = predicted_device_bytes(program, Stage{0}, none, {.context = 123456});
  EXPECT_EQ(measured.context, 123456);
  EXPECT_EQ(assumed.total() - assumed.context, measured.total() - measured.context);
  EXPECT_GT(assumed.context, 0);
}

// Two bytes for every score of the heads that go at a time: all of two groups of two, then one
// group.
TEST(DeviceMemory, DeterministicAttentionKeepsGradientsOfScores) {
  const RoutedCount none = [](MicroBatch, LayerIndex) { return Binding{}; };
  const auto scratch = [&](std::int64_t tokens, Plan plan, Precision precision,
                           bool deterministic) {
    plan.precision = precision;
    const Program program =
        compile(small_moe(), {.seq_len = tokens, .global_batch = 8}, plan, Runtime::pleat);
    return predicted_device_bytes(program, Stage{0}, none,
                                  {.deterministic_attention = deterministic})
        .kernels;
  };
  const std::int64_t least = std::int64_t{64} << 20U, k = 1024;
  EXPECT_EQ(scratch(8 * k, fp32_plan(), Precision::bf16, true), 4 * 8 * k * 8 * k * 2);
  EXPECT_EQ(scratch(16 * k, fp32_plan(), Precision::bf16, true), 2 * 16 * k * 16 * k * 2);
  EXPECT_EQ(scratch(16 * k, context_plan(CpComm::p2p, 2), Precision::bf16, true),
            4 * 8 * k * 8 * k * 2);
  EXPECT_EQ(scratch(16 * k, context_plan(CpComm::all_to_all, 2), Precision::bf16, true),
            2 * 16 * k * 16 * k * 2);
  EXPECT_EQ(scratch(k, fp32_plan(), Precision::bf16, true), least);
  EXPECT_EQ(scratch(16 * k, fp32_plan(), Precision::bf16, false), least);
  EXPECT_EQ(scratch(16 * k, fp32_plan(), Precision::fp32, true), least);
}

// docs/measured/h200-2026-11-28: a step of Mixtral cut to four layers and of Qwen3-30B-A3B cut to
// eight, in fp8, held so much more of the GPU than one in bf16 beside the program's tensors.
TEST(DeviceMemory, CodesTakeWhatAnH200Measured) {
  struct Measured {
    const char* model;
    int layers;
    std::int64_t micro_batch;
    double fp8_device, fp8_tensors, bf16_device, bf16_tensors;
  };
  for (const Measured& m : {Measured{"mixtral-8x7b", 4, 2, 123079294976, 117034951348,
                                     121208635392, 118142247604},
                            {"qwen3-30b-a3b", 8, 4, 122617921536, 118043226260, 123960098816,
                             121264451732}}) {
    ModelSpec model = load_model(m.model).model;
    model.layers = m.layers;
    model.moe_layer.assign(static_cast<std::size_t>(m.layers), true);
    Plan plan = fp32_plan();
    plan.precision = Precision::fp8;
    plan.micro_batch = m.micro_batch;
    const Program program =
        compile(model, {.seq_len = 4096, .global_batch = 8}, plan, Runtime::pleat);
    const RoutedCount all = [&](MicroBatch, LayerIndex) {
      return Binding{.routed = m.micro_batch * 4096 * model.moe->top_k};
    };
    const double codes =
        static_cast<double>(predicted_device_bytes(program, Stage{0}, all).codes);
    const double more = m.fp8_device - m.fp8_tensors - (m.bf16_device - m.bf16_tensors);
    EXPECT_NEAR(codes, more, 0.01 * m.fp8_device) << m.model;
    EXPECT_LE(codes, more) << m.model;
  }
}

TEST(DeviceMemory, NcclHasBuffersForEveryGroupThatMeets) {
  const RoutedCount none = [](MicroBatch, LayerIndex) { return Binding{}; };
  const auto buffers = [&](const Plan& plan) {
    ModelSpec dense = small_moe();
    dense.moe.reset();
    dense.moe_layer.assign(4, false);
    const Program program = compile(dense, small_workload(), plan, Runtime::pleat);
    return predicted_device_bytes(program, Stage{0}, none, {.nccl = true}).nccl;
  };
  EXPECT_EQ(buffers(fp32_plan()), 0);
  // Messages each way to every neighbour, and all ranks for the norm of the gradients.
  const std::int64_t one = std::int64_t{400} << 20U;
  EXPECT_EQ(buffers(fp32_plan(1, 1, 2)), 3 * one);
  EXPECT_EQ(buffers(fp32_plan(1, 1, 4)), 5 * one);
  EXPECT_GE(buffers(fp32_plan(2)), 2 * one);
}

}  // namespace
}  // namespace pleat::test
