// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Streams of a device that does the work of each as late, or of side streams as early, as what it
// was told to wait for allows: the same bits as on the host, unless a wait is missing.
#include "backend/execute/device_scratch.hpp"
#include "backend/runtime/stream_order.hpp"
#include "tests/backend/device/checking_device.hpp"
#include "tests/backend/device/device_cases.hpp"
#include "tests/backend/device/queue_cases.hpp"
#include "tests/backend/device/same_results.hpp"

namespace pleat::test {
namespace {

using Options = CheckingDevice::Options;

// How often a side stream was taken, on all ranks.
std::atomic<int> taken = 0;

struct Counting final : CheckingDevice {
  using CheckingDevice::CheckingDevice;
  void take_stream(int number) override {
    if (number > 0) ++taken;
    CheckingDevice::take_stream(number);
  }
};

TrainResult on(const DeviceCase& c, const Options* options) {
  TrainConfig config = small_config(3);
  config.poison = false;  // a device with streams has them without
  skew(config);
  if (options != nullptr) {
    config.make_device = [options](Rank) { return std::make_unique<Counting>(*options); };
  }
  return run(c.model, c.plan, config, c.workload);
}

class OnStreams : public testing::TestWithParam<DeviceCase> {};

TEST_P(OnStreams, TrainsWithTheSameBits) {
  const TrainResult here = on(GetParam(), nullptr);
  for (const bool early : {false, true}) {
    const Options options{.streams = true, .early = early};
    taken = 0;
    expect_same(on(GetParam(), &options), here);
    EXPECT_GT(taken, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Runs, OnStreams, testing::ValuesIn(stream_cases()),
                         [](const auto& info) { return info.param.name; });

// Without the waits the results are others, or the run ends.
TEST(ForgottenWaits, AreSeen) {
  for (DeviceCase c : stream_cases()) {
    const bool paired = c.plan.overlap.expert_parallel;
    if (paired || c.plan.attention.pp > 1) continue;
    // Routers would send numbers of rows that nobody has memory for.
    c.model.moe.reset();
    c.model.moe_layer.assign(4, false);
    c.plan.expert = {1, 1, c.plan.attention.dp};
    c.plan.offload.erase(Offload::moe_act);
    const TrainResult here = on(c, nullptr);
    for (const bool early : {false, true}) {
      const Options options{.streams = true, .early = early, .deaf = true};
      bool seen = false;
      try {
        seen = on(c, &options).gradients != here.gradients;
      } catch (const std::exception&) {
        seen = true;
      }
      EXPECT_TRUE(seen) << c.name << (early ? " early" : " late");
    }
  }
}

// Two tensors of a device and one after the other in the same memory.
class Order : public testing::Test {
 protected:
  Order() {
    for (View* v : {&a_, &b_, &c_}) v->data = device_.memory().allocate(64);
    for (const auto& [v, byte] : {std::pair{a_, 1}, {b_, 2}, {c_, 3}}) {
      device_.memory().fill(static_cast<std::byte*>(v.data), byte, 64);
    }
  }
  ~Order() override {
    order_.join();
    device_.synchronize();
    for (const View& v : {a_, b_, c_}) device_.memory().release(static_cast<std::byte*>(v.data));
  }
  void copy(int stream, View from, View to) {
    order_.begin(stream, std::span(&from, 1), std::span(&to, 1));
    device_.enqueue_copy(to.data, from.data, 64);
    order_.end();
  }
  [[nodiscard]] int byte_of(View v) {
    std::byte first{};
    device_.copy(&first, v.data, 1);
    return std::to_integer<int>(first);
  }

  CheckingDevice device_{Options{.streams = true}};
  StreamOrder order_{device_};
  View a_{nullptr, DType::fp32, 1, 16}, b_ = a_, c_ = a_;
};

// What an operation gives back may still be used by the work that it has left on its stream.
TEST(ScratchOfStreams, IsTakenAgainByItsOwnStreamAlone) {
  CheckingDevice device{Options{.streams = true}};
  execute::DeviceScratch scratch(device, false);
  const auto taken_on = [&](int stream) {
    device.take_stream(stream);
    const std::byte* data = scratch.take_bytes(64).data();
    device.take_stream(0);
    return data;
  };
  const std::byte* const first = taken_on(0);
  const std::byte* const second = taken_on(1);
  EXPECT_NE(first, second);
  EXPECT_EQ(taken_on(0), first);
  EXPECT_EQ(taken_on(1), second);
}

TEST_F(Order, ReaderWaitsForTheWriter) {
  copy(1, a_, b_);
  copy(0, b_, c_);
  EXPECT_EQ(byte_of(c_), 1);
}

TEST_F(Order, WriterWaitsForTheReader) {
  copy(1, a_, b_);
  copy(0, c_, a_);
  order_.join();
  EXPECT_EQ(byte_of(b_), 1);
}

TEST_F(Order, SideStreamsWaitForEachOther) {
  copy(2, a_, b_);
  copy(1, b_, c_);
  order_.join();
  EXPECT_EQ(byte_of(c_), 1);
}

TEST_F(Order, ReadersDoNotWait) {
  copy(1, a_, b_);
  copy(0, a_, c_);
  EXPECT_EQ(byte_of(c_), 1);
  EXPECT_EQ(byte_of(b_), 2);  // nobody has asked for it
}

// What fails on a side stream leaves the device where kernels may be given to it.
TEST_F(Order, FailureLeavesTheFirstStreamInUse) {
  try {
    const StreamOrder::Guard guard(&order_);
    order_.begin(1, std::span(&a_, 1), std::span(&b_, 1));
    EXPECT_FALSE(device_.on_first_stream());
    throw std::runtime_error("its peer is gone");
  } catch (const std::runtime_error&) {
    EXPECT_TRUE(device_.on_first_stream());
  }
  copy(1, a_, b_);
  copy(0, b_, c_);
  EXPECT_EQ(byte_of(c_), 1);
}

TEST_F(Order, WhatIsSharedIsUsedByOneAtATime) {
  const int shared = 0;
  order_.begin(1, std::span(&a_, 1), {}, &shared);
  device_.enqueue_copy(b_.data, a_.data, 64);  // no operand that the order knows
  order_.end();
  order_.begin(0, std::span(&a_, 1), {}, &shared);
  device_.enqueue_copy(c_.data, b_.data, 64);
  order_.end();
  EXPECT_EQ(byte_of(c_), 1);
}

}  // namespace
}  // namespace pleat::test
