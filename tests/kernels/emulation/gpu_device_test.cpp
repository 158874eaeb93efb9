// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The GPU as the executor's device: graphs that fail, and the device's own clock.
#include "kernels/cuda/gpu_device.hpp"

#include <gtest/gtest.h>

#include "kernels/cuda/device.hpp"
#include "kernels/cuda/device_error.hpp"
#include "kernels/cuda/resources.hpp"
#include "tests/kernels/emulation/include/cuda_runtime.h"

namespace pleat {
namespace {

// What fails to become a graph leaves the device as it was.
TEST(GpuDevice, GivesUpAGraph) {
  const auto device = gpu_device(0, {.scratch_bytes = 256});
  const View x{device->memory().allocate(32), DType::fp32, 2, 4};
  emulated_instantiation = 900;
  device->begin_capture();
  device->kernels().zero(x);
  EXPECT_THROW(static_cast<void>(device->end_capture()), DeviceError);
  emulated_instantiation = cudaSuccess;
  const std::vector<float> ones(8, 1);
  std::vector<float> got(8);
  device->copy(x.data, ones.data(), 32);
  device->kernels().zero(x);  // at once
  device->copy(got.data(), x.data, 32);
  EXPECT_EQ(got, std::vector<float>(8));
  device->memory().release(static_cast<std::byte*>(x.data));
}

// Work of different streams runs side by side. Graphs, which are of the first stream, stay as good
// as before where another one takes more.
TEST(GpuDevice, HasScratchForEachStream) {
  cuda::CudaDevice device;
  cuda::Resources resources(device, 256);
  const std::byte* const first = resources.scratch(200);
  const std::uint64_t age = resources.age();
  device.take_stream(1);
  const std::byte* const second = resources.scratch(200);
  EXPECT_NE(second, first);
  EXPECT_EQ(resources.scratch(256), second);
  EXPECT_EQ(resources.age(), age);
  device.take_stream(0);
  EXPECT_EQ(resources.scratch(256), first);
  static_cast<void>(resources.scratch(1000));
  EXPECT_NE(resources.age(), age);
}

// "Not yet" is no error that the next call would find.
TEST(GpuDevice, LeavesNoErrorBehindWhenItPolls) {
  const auto device = gpu_device(0, {.scratch_bytes = 256});
  int asked = 0;
  device->watch([&] { ++asked; });
  emulated_polls_pending = 3;
  device->synchronize();
  EXPECT_EQ(emulated_polls_pending, 0);
  EXPECT_GT(asked, 0);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  const std::uint64_t mark = device->mark();
  emulated_events_pending = true;
  EXPECT_FALSE(device->is_done(0, mark));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  emulated_events_pending = false;
  EXPECT_TRUE(device->is_done(0, mark));
}

// Nor is memory that there is not.
TEST(GpuDevice, LeavesNoErrorBehindWithoutMemory) {
  const auto device = gpu_device(0, {.scratch_bytes = 256});
  const std::size_t much = emulated_memory + 1;
  EXPECT_THROW(static_cast<void>(device->memory().allocate(static_cast<std::int64_t>(much))),
               DeviceError);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_THROW(cuda::DeviceBuffer{much}, DeviceError);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_THROW(cuda::StreamBuffer({}, much), DeviceError);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

// Its own clock tells the times: the host waits at the end alone.
TEST(GpuDevice, TimesWorkWithoutWaiting) {
  const auto device = gpu_device(0, {.scratch_bytes = 256});
  const int waits = emulated_waits;
  const auto begin = device->moment();
  const auto middle = device->moment(), end = device->moment();
  EXPECT_EQ(emulated_waits, waits);
  EXPECT_GE(device->seconds(begin, middle), 0);
  EXPECT_GT(device->seconds(begin, end), 0);
  EXPECT_NEAR(device->seconds(begin, middle) + device->seconds(middle, end),
              device->seconds(begin, end), 1e-6);
}

}  // namespace
}  // namespace pleat
