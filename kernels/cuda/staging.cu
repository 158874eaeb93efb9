// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/cuda/cuda_check.cuh"
#include "kernels/cuda/device.hpp"
#include "kernels/cuda/staging.hpp"

namespace pleat::cuda {
namespace {

constexpr std::size_t kMostSlots = 64, kLeastBytes = 4096;

cudaEvent_t event(void* handle) { return static_cast<cudaEvent_t>(handle); }

}  // namespace

Staging::~Staging() {
  for (const Slot& s : slots_) {
    cudaEventDestroy(event(s.copied));
    cudaFreeHost(s.memory);
  }
  for (void* memory : outgrown_) cudaFreeHost(memory);
}

// The oldest, or another one if its copy is still to come.
Staging::Slot Staging::free_slot(std::size_t bytes) {
  Slot s;
  if (!slots_.empty()) {
    auto* const copied = event(slots_.front().copied);
    if (is_done(slots_.size() < kMostSlots ? cudaEventQuery(copied)
                                           : cudaEventSynchronize(copied))) {
      s = slots_.front();
      slots_.pop_front();
    }
  }
  if (s.bytes < bytes) {
    if (s.memory != nullptr) outgrown_.push_back(s.memory);
    s.bytes = std::bit_ceil(std::max(bytes, kLeastBytes));
    PLEAT_CUDA_CHECK(cudaHostAlloc(&s.memory, s.bytes, cudaHostAllocPortable));
  }
  if (s.copied == nullptr) {
    cudaEvent_t made = nullptr;
    PLEAT_CUDA_CHECK(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
    s.copied = made;
  }
  return s;
}

void Staging::upload(void* to, const void* from, std::size_t bytes, StreamRef stream) {
  auto* const native = static_cast<cudaStream_t>(stream.handle);
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  PLEAT_CUDA_CHECK(cudaStreamIsCapturing(native, &capture));
  if (capture != cudaStreamCaptureStatusNone) {
    throw DeviceError("upload", "the host's tables cannot be part of a graph", __FILE__, __LINE__);
  }
  slots_.push_back(free_slot(bytes));
  const Slot& s = slots_.back();
  std::memcpy(s.memory, from, bytes);
  PLEAT_CUDA_CHECK(cudaMemcpyAsync(to, s.memory, bytes, cudaMemcpyHostToDevice, native));
  PLEAT_CUDA_CHECK(cudaEventRecord(event(s.copied), native));
}

}  // namespace pleat::cuda
