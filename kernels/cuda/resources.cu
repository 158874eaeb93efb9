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
  of_stream_.emplace_back().scratch = StreamBuffer(stream(), scratch_bytes);
}

bool Resources::capturing() const {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  PLEAT_CUDA_CHECK(cudaStreamIsCapturing(static_cast<cudaStream_t>(stream().handle), &status));
  return status != cudaStreamCaptureStatusNone;
}

std::byte* Resources::grow(StreamBuffer OfStream::*which, std::size_t bytes) {
  const auto number = static_cast<std::size_t>(device_.number_of_stream());
  if (of_stream_.size() <= number) of_stream_.resize(number + 1);
  StreamBuffer& buffer = of_stream_[number].*which;
  if (bytes > buffer.bytes()) {
    if (capturing()) {
      throw DeviceError("scratch memory",
                        "has to grow while a graph is captured; run the step once before", __FILE__,
                        __LINE__);
    }
    device_.make_current();
    synchronize(stream());
    const std::size_t size = std::max(bytes, buffer.bytes() * 3 / 2);
    if (number == 0) grow_older();  // graphs are of that stream
    buffer = StreamBuffer();  // before the larger one, which may need its memory
    buffer = StreamBuffer(stream(), (size + 255) / 256 * 256);
  }
  return static_cast<std::byte*>(buffer.data());
}

void* Scratch::take_bytes(std::size_t bytes) {
  PLEAT_ASSERT(bytes <= left_);
  void* taken = next_;
  next_ += bytes;
  left_ -= bytes;
  return taken;
}

}  // namespace pleat::cuda
