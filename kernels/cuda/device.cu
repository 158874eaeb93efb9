// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The GPU, its streams and its memory, through the CUDA runtime.
#include <utility>

#include "kernels/cuda/cuda_check.cuh"
#include "kernels/cuda/device.hpp"

namespace pleat::cuda {

int device_count() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver) {
    static_cast<void>(cudaGetLastError());  // not an error here, so nobody should find it later
    return 0;
  }
  PLEAT_CUDA_CHECK(status);
  return count;
}

void synchronize(StreamRef stream) {
  PLEAT_CUDA_CHECK(cudaStreamSynchronize(static_cast<cudaStream_t>(stream.handle)));
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes_ > 0) PLEAT_CUDA_CHECK(cudaMalloc(&data_, bytes_));
}

DeviceBuffer::~DeviceBuffer() {
  cudaFree(data_);
}  // a failure belongs to earlier work; it is reported there

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

void DeviceBuffer::upload(const void* host) {
  if (bytes_ > 0) PLEAT_CUDA_CHECK(cudaMemcpy(data_, host, bytes_, cudaMemcpyHostToDevice));
}

void DeviceBuffer::download(void* host) const {
  if (bytes_ > 0) PLEAT_CUDA_CHECK(cudaMemcpy(host, data_, bytes_, cudaMemcpyDeviceToHost));
}

}  // namespace pleat::cuda
