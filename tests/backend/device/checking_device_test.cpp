// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The executor on a device whose memory the host must not touch and whose work waits: the same bits
// as on the host, for every way in which it touches memory.
#include "backend/replica_check.hpp"
#include "tests/backend/checkpoint/saved_runs.hpp"
#include "tests/backend/comm_jobs.hpp"
#include "tests/backend/device/checking_device.hpp"
#include "tests/backend/device/device_cases.hpp"
#include "tests/backend/device/same_results.hpp"

namespace pleat::test {
namespace {

TrainConfig settings(bool forced = false) {
  TrainConfig config = small_config(2);
  skew(config);
  config.forced_routing = forced;
  config.measure_load = true;
  config.evaluation = {.data = std::make_shared<ConsecutiveBytes>(config.text, 16)};
  return config;
}

class OnADevice : public testing::TestWithParam<DeviceCase> {};

TEST_P(OnADevice, TrainsWithTheSameBits) {
  const DeviceCase& c = GetParam();
  TrainConfig config = settings(c.forced);
  const TrainResult here = run(c.model, c.plan, config, c.workload);
  config.make_device = checking_device;
  expect_same(run(c.model, c.plan, config, c.workload), here);
}

// Random numbers, where nobody changes them on the host.
TEST_P(OnADevice, MakesTheSameWeights) {
  const DeviceCase& c = GetParam();
  TrainConfig config = settings(c.forced);
  config.steps = 1;
  const int before = CheckingKernels::fills();
  config.make_device = checking_device;
  (void)run(c.model, c.plan, config, c.workload);
  EXPECT_EQ(CheckingKernels::fills(), before) << "weights that are changed are the host's";
  config.adjust_weight = nullptr;
  const TrainResult there = run(c.model, c.plan, config, c.workload);
  EXPECT_GT(CheckingKernels::fills(), before);
  config.make_device = nullptr;
  expect_same(there, run(c.model, c.plan, config, c.workload));
}

INSTANTIATE_TEST_SUITE_P(Runs, OnADevice, testing::ValuesIn(device_cases()),
                         [](const auto& info) { return info.param.name; });

// Ranks that share no memory exchange by way of the host.
TEST(OnADevice, ExchangesByWayOfTheHost) {
  const Plan plan = folded_plan({.tp = 2, .dp = 2}, 1, 2);
  const Program program = compile(small_mla(), small_workload(), plan, Runtime::pleat);
  TrainConfig config = settings();
  const TrainResult here = train(program, config);
  config.make_device = checking_device;
  Meeting meeting;
  meeting.listener = listen_at({"127.0.0.1", 0});
  meeting.at = {meeting.listener.local()};
  meeting.processes = 1;
  meeting.ranks = meeting.world = plan.world();
  expect_same(train(program, config, JobPart::over_tcp(std::move(meeting))), here);
}

TEST(OnADevice, SavesAndGoesOnWithTheSameBits) {
  const Plan plan = changed(fp32_plan(2, 2), [](Plan& p) {
    p.precision = Precision::bf16;
    p.optimizer.exp_avg = DType::fp8;
    p.optimizer.exp_avg_sq = DType::fp16;
    p.optimizer.state_offload = 0.5;
  });
  const TemporaryFolder whole, broken;
  SavedRun straight{.plan = plan, .steps = 4, .save = whole.path()};
  const TrainResult here = straight.run();
  TrainConfig config = small_config();
  config.make_device = checking_device;
  SavedRun first{.plan = plan, .steps = 2, .save = broken.path(), .config = config};
  (void)first.run();
  SavedRun second{
      .plan = plan, .steps = 4, .save = broken.path(), .load = broken.path(), .config = config};
  const TrainResult there = second.run();
  expect_same_bits(there.weights, here.weights);
  expect_same_bits(tensors_in(broken / "step_00000004"), tensors_in(whole / "step_00000004"));
}

TEST(OnADevice, ComparesReplicas) {
  TrainConfig config = small_config(2);
  config.make_device = checking_device;
  config.after_step = check_replicas;
  EXPECT_EQ(run(small_moe(), fp32_plan(2, 2), config).steps.size(), 2U);
}

// The check itself: a host that follows a device's address dies of it.
TEST(CheckingDeviceDeathTest, HostThatReadsIsKilled) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  CheckingDevice device;
  std::byte* data = device.memory().allocate(64);
  EXPECT_DEATH({ volatile auto x = *data; static_cast<void>(x); }, "");
  device.memory().release(data);
}

TEST(CheckingDevice, WorksWhenSomebodyWaits) {
  CheckingDevice device;
  std::byte *a = device.memory().allocate(64), *pinned = device.host_memory().allocate(64);
  device.memory().fill(a, 7, 64);
  pinned[3] = std::byte{1};
  device.enqueue_copy(pinned, a, 64);
  EXPECT_EQ(pinned[3], std::byte{1});
  device.synchronize();
  EXPECT_EQ(pinned[3], std::byte{7});
  device.memory().release(a);
  device.host_memory().release(pinned);
}

}  // namespace
}  // namespace pleat::test
