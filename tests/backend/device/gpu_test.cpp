// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The executor on a GPU, one rank or several that share it. Without a GPU all are skipped, or fail
// with PLEAT_REQUIRE_GPU=1.
#include <cstdio>

#include "backend/data/sample_source.hpp"
#include "backend/device_memory.hpp"
#include "core/environment.hpp"
#include "kernels/cuda/device.hpp"
#include "kernels/cuda/gpu_device.hpp"
#include "tests/backend/device/gpu_parity.hpp"

namespace pleat::test {
namespace {

std::unique_ptr<Device> on_gpu(Rank) { return gpu_device(); }

void expect_parity_there(const DeviceCase& c, int steps = 2, bool poison = true) {
  expect_parity(c, on_gpu, steps, poison, Arithmetic::libraries);
}

template <class Base>
class WithGpu : public Base {
 protected:
  void SetUp() override {
    if (cuda::device_count() > 0) return;
    if (gpu_required()) FAIL() << "PLEAT_REQUIRE_GPU=1 and there is no GPU";
    GTEST_SKIP() << "no GPU";
  }
};
using OnGpu = WithGpu<testing::TestWithParam<DeviceCase>>;
using Gpu = WithGpu<testing::Test>;

TEST_P(OnGpu, TrainsAsTheCpu) { expect_parity_there(GetParam()); }
TEST_P(OnGpu, GivesTheSameBitsAgain) { expect_repeatable(GetParam(), on_gpu); }

INSTANTIATE_TEST_SUITE_P(Runs, OnGpu, testing::ValuesIn(device_cases()),
                         [](const auto& info) { return info.param.name; });

class OnStreamsOfAGpu : public OnGpu {};
TEST_P(OnStreamsOfAGpu, TrainsAsTheCpu) { expect_parity_there(GetParam(), 3, false); }
TEST_P(OnStreamsOfAGpu, GivesTheSameBitsAgain) { expect_repeatable(GetParam(), on_gpu, false); }
INSTANTIATE_TEST_SUITE_P(Runs, OnStreamsOfAGpu, testing::ValuesIn(stream_cases()),
                         [](const auto& info) { return info.param.name; });

// Five steps: the first makes the memory, the second uses it, the third captures.
using InGraphsOfAGpu = WithGpu<testing::TestWithParam<GraphCase>>;
TEST_P(InGraphsOfAGpu, TrainsAsTheCpu) { expect_parity_there(in_graphs(GetParam()), 5, false); }
TEST_P(InGraphsOfAGpu, GivesTheSameBitsAgain) {
  expect_repeatable(in_graphs(GetParam()), on_gpu, false);
}
INSTANTIATE_TEST_SUITE_P(Runs, InGraphsOfAGpu, testing::ValuesIn(graph_cases()),
                         [](const auto& info) { return info.param.name(); });

// In gigabytes, where constants of the context that are not known well do not matter as much.
TEST_F(Gpu, MemoryIsPredictedWithinOnePercent) {
  ModelSpec model = dense_model();
  model.hidden = 2048;
  model.ffn = 8192;
  model.vocab = 16384;
  model.attention.heads = model.attention.kv_groups = 16;
  model.attention.head_dim = 128;
  model.layers = 8;
  model.moe_layer.assign(8, false);
  Plan plan = fp32_plan();
  plan.precision = Precision::bf16;
  const WorkloadSpec workload{.seq_len = 2048, .global_batch = 2};
  TrainConfig config = small_config(2);
  config.keep_gradients = config.poison = config.measure_margin = false;
  config.data = std::make_shared<ConsecutiveBytes>(
      std::vector<std::uint8_t>(std::size_t{2048} * 8, 7), workload.seq_len);
  config.make_device = on_gpu;
  const Program program = compile(model, workload, plan, Runtime::pleat);
  const TrainResult result = train(program, config);
  const RoutedCount none = [](MicroBatch, LayerIndex) { return Binding{}; };
  const DeviceBytes predicted = 
      predicted_device_bytes(program, Stage{0}, none, {.deterministic_attention = true});
  const RankMeasurement& rank = result.ranks.front();
  EXPECT_EQ(predicted.blocks, rank.block_bytes);
  const auto whole = static_cast<double>(predicted.total());
  const auto driver = static_cast<double>(rank.device_bytes);
  std::printf("device memory: predicted %.0f, by the driver %.0f, beside the blocks %.0f\n", whole,
              driver, driver - static_cast<double>(predicted.blocks + predicted.rounding));
  EXPECT_NEAR(whole, driver, 0.01 * driver);
}

// 200 steps in bf16 on the GPU beside as many in fp32 there.
TEST_F(Gpu, Bf16FollowsFp32) {
  TrainConfig config = small_config(200);
  config.keep_gradients = config.poison = false;
  config.adamw.lr = 1e-3;
  config.make_device = on_gpu;
  Plan plan = tp_plan(2, 2, 4);
  const TrainResult wide = run(small_moe(), plan, config);
  plan.precision = Precision::bf16;
  const TrainResult narrow = run(small_moe(), plan, config);
  EXPECT_LT(wide.steps.back().loss, 0.9 * wide.steps.front().loss);
  for (std::size_t s = 0; s < wide.steps.size(); ++s) {
    EXPECT_NEAR(narrow.steps[s].loss, wide.steps[s].loss, 0.01 * wide.steps[s].loss) << s;
  }
}

}  // namespace
}  // namespace pleat::test
