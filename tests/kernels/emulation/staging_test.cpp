// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Tables that the host makes for a call come to the device without a wait, and are not written over
// before they have.
#include "kernels/cuda/staging.hpp"

#include <numeric>

#include "kernels/cuda/device_error.hpp"
#include "tests/kernels/emulation/emulated_device.hpp"
#include "tests/kernels/emulation/include/cuda_runtime.h"

namespace pleat::conformance {
namespace {

class StagedUploads : public ::testing::Test {
 protected:
  void TearDown() override { emulated_events_pending = false; }
  // Where the copy of so many numbers was read from.
  const void* staged(std::int32_t count) {
    std::vector<std::int32_t> from(static_cast<std::size_t>(count)), to(from.size());
    std::iota(from.begin(), from.end(), count);
    device_.stage(to.data(), from.data(), from.size() * sizeof from[0]);
    EXPECT_EQ(to, from);
    EXPECT_NE(emulated_copied_from.load(), from.data());
    return emulated_copied_from;
  }
  cuda::CudaDevice device_;
};

TEST_F(StagedUploads, ReusesMemoryOfCopiesThatAreDone) {
  const int pageable = emulated_pageable_copies, waits = emulated_waits;
  const void* const first = staged(10);
  EXPECT_EQ(staged(1000), first);
  const void* const larger = staged(5000);
  EXPECT_NE(larger, first);
  EXPECT_EQ(staged(20), larger);
  EXPECT_EQ(emulated_pageable_copies, pageable);
  EXPECT_EQ(emulated_waits, waits);
}

TEST_F(StagedUploads, KeepsMemoryOfCopiesToCome) {
  emulated_events_pending = true;
  std::vector<const void*> all;
  for (int i = 0; i < 64; ++i) all.push_back(staged(10));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(staged(10), all[0]);  // which it has waited for
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
}

TEST_F(StagedUploads, AreNoPartOfGraphs) {
  auto* const stream = static_cast<cudaStream_t>(device_.stream().handle);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  int from = 1, to = 2;
  EXPECT_THROW(device_.stage(&to, &from, sizeof to), DeviceError);
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(stream, &graph);
  cudaGraphDestroy(graph);
}

// Attention with a window, rotary positions, a step with elements that do not decay.
TEST_F(StagedUploads, KernelsDoNotMakeTheHostWait) {
  EmulatedDevice device(false);
  KernelSet& k = device.kernels();
  constexpr std::int64_t kRows = 40, kWidth = 16;
  std::vector<float> x(3 * kRows * kWidth, 0.5F), o(kRows * kWidth), lse(kRows);
  const View qkv{x.data(), DType::fp32, kRows, 3 * kWidth};
  std::vector<std::array<std::int32_t, 2>> visible;
  std::vector<std::int32_t> places;
  for (std::int32_t r = 0; r < kRows; ++r) {
    visible.push_back({std::max(0, r - 3), r + 1});
    places.push_back(r % 7);
  }
  AttentionPiece piece;
  piece.heads = 1;
  piece.q[0] = {.x = qkv, .first = 0, .stride = kWidth, .width = kWidth};
  piece.k[0] = {.x = qkv, .first = kWidth, .stride = kWidth, .width = kWidth};
  piece.v = {.x = qkv, .first = 2 * kWidth, .stride = kWidth, .width = kWidth};
  piece.visible = reinterpret_cast<const std::int32_t(*)[2]>(visible.data());
  const RopeShape rope{
      .seq = kRows, .heads = 3, .stride = kWidth, .dim = kWidth, .positions = places.data()};
  const HeadColumns out{
      .x = {o.data(), DType::fp32, kRows, kWidth}, .stride = kWidth, .width = kWidth};
  std::vector<std::byte> moments(2 * kRows * kWidth * 4);
  const View m{moments.data(), DType::fp32, kRows, kWidth};
  const View v{moments.data() + kRows * kWidth * 4, DType::fp32, kRows, kWidth};
  const ElementSpan undecayed[] = {{0, 16}, {64, 16}};
  int pageable = 0, waits = 0;
  for (int turn = 0; turn < 2; ++turn) {  // the first makes tables that stay, and scratch memory
    pageable = emulated_pageable_copies, waits = emulated_waits;
    k.attention_piece(piece, out, {lse.data(), DType::fp32, kRows, 1}, false);
    k.rope(qkv, rope, false);
    k.adamw_narrow(out.x, {m}, {v}, {x.data(), DType::fp32, kRows, kWidth}, 1, {}, undecayed);
  }
  EXPECT_EQ(emulated_pageable_copies, pageable);
  EXPECT_EQ(emulated_waits, waits);
}

}  // namespace
}  // namespace pleat::conformance
