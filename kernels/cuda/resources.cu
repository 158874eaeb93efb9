// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/resources.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"
#include "kernels/cuda/cuda_check.cuh"

namespace pleat::cuda {

Resources::Resources(const CudaDevice& device, std::size_t scratch_bytes)
    : device_(device) {
  device_.make_current();
  scratch_ = StreamBuffer(stream(), scratch_bytes);
}

bool Resources::capturing() const {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  PLEAT_CUDA_CHECK(cudaStreamIsCapturing(static_cast<cudaStream_t>(stream().handle), &status));
  return status != cudaStreamCaptureStatusNone;
}

std::byte* Resources::grow(StreamBuffer& buffer, std::size_t bytes) {
  PLEAT_ASSERT(device_.number_of_stream() == 0);
  if (bytes > buffer.bytes()) {
    if (capturing()) {
      throw DeviceError("scratch memory",
                        "has to grow while a graph is captured; run the step once before", __FILE__,
                        __LINE__);
    }
    device_.make_current();
    synchronize(stream());
    const std::size_t size = std::max(bytes, buffer.bytes() * 3 / 2);
    grow_older();
    buffer = StreamBuffer();  // before the larger one, which may need its memory
    buffer = StreamBuffer(stream(), (size + 255) / 256 * 256);
  }
  return static_cast<std::byte*>(buffer.data());
}

std::byte* Resources::scratch(std::size_t bytes) { return grow(scratch_, bytes); }
std::byte* Resources::copies(std::size_t bytes) { return grow(copies_, bytes); }
std::byte* Resources::narrow(std::size_t bytes) { return grow(narrow_, bytes); }

void* Scratch::take_bytes(std::size_t bytes) {
  PLEAT_ASSERT(bytes <= left_);
  void* taken = next_;
  next_ += bytes;
  left_ -= bytes;
  return taken;
}

}  // namespace pleat::cuda
