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

namespace {

// "Out of memory" stays behind as the last error, which CUTLASS and CUB would take for their own.
cudaError_t without_trace(cudaError_t status) {
  if (status != cudaSuccess) static_cast<void>(cudaGetLastError());
  return status;
}

}  // namespace

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes_ > 0) PLEAT_CUDA_CHECK(without_trace(cudaMalloc(&data_, bytes_)));
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
  if (bytes_ == 0) return;
  PLEAT_CUDA_CHECK(cudaMemcpy(data_, host, bytes_, cudaMemcpyHostToDevice));
  // From pageable memory it may return before the bytes are there, and our streams wait for none.
  PLEAT_CUDA_CHECK(cudaStreamSynchronize(cudaStreamLegacy));
}

void DeviceBuffer::download(void* host) const {
  if (bytes_ > 0) PLEAT_CUDA_CHECK(cudaMemcpy(host, data_, bytes_, cudaMemcpyDeviceToHost));
}

StreamBuffer::StreamBuffer(StreamRef stream, std::size_t bytes) : stream_(stream), bytes_(bytes) {
  if (bytes_ == 0) return;
  PLEAT_CUDA_CHECK(without_trace(
      cudaMallocAsync(&data_, bytes_, static_cast<cudaStream_t>(stream_.handle))));
}

StreamBuffer::~StreamBuffer() {
  if (data_ != nullptr) cudaFreeAsync(data_, static_cast<cudaStream_t>(stream_.handle));
}  // as DeviceBuffer's

StreamBuffer::StreamBuffer(StreamBuffer&& other) noexcept { *this = std::move(other); }

StreamBuffer& StreamBuffer::operator=(StreamBuffer&& other) noexcept {
  std::swap(stream_.handle, other.stream_.handle);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

namespace {

cudaStream_t native(StreamRef stream) { return static_cast<cudaStream_t>(stream.handle); }

}  // namespace

CudaDevice::CudaDevice(int index) : index_(index) {
  make_current();
  PLEAT_CUDA_CHECK(
      cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, index));
  take_stream(0);
}

CudaDevice::~CudaDevice() {
  for (const Lane& lane : lanes_) {
    for (void* event : lane.events) {
      if (event != nullptr) cudaEventDestroy(static_cast<cudaEvent_t>(event));
    }
    cudaStreamDestroy(native(lane.stream));
  }
}

void CudaDevice::take_stream(int number) {
  taken_ = static_cast<std::size_t>(number);
  while (lanes_.size() <= taken_) {
    make_current();
    cudaStream_t stream = nullptr;
    PLEAT_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    lanes_.push_back({});
    lanes_.back().stream.handle = stream;
  }
}

std::uint64_t CudaDevice::mark() {
  make_current();
  Lane& lane = lanes_[taken_];
  void*& event = lane.events[++lane.marks % lane.events.size()];
  if (event == nullptr) {
    cudaEvent_t made = nullptr;
    PLEAT_CUDA_CHECK(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
    event = made;
  }
  PLEAT_CUDA_CHECK(cudaEventRecord(static_cast<cudaEvent_t>(event), native(lane.stream)));
  return lane.marks;
}

void CudaDevice::wait_for(int stream, std::uint64_t mark) {
  make_current();
  const Lane& lane = lanes_[static_cast<std::size_t>(stream)];
  auto* const event = static_cast<cudaEvent_t>(lane.events[mark % lane.events.size()]);
  PLEAT_CUDA_CHECK(cudaStreamWaitEvent(native(lanes_[taken_].stream), event, 0));
}

bool CudaDevice::is_done(int stream, std::uint64_t mark) const {
  make_current();
  const Lane& lane = lanes_[static_cast<std::size_t>(stream)];
  return cuda::is_done(
      cudaEventQuery(static_cast<cudaEvent_t>(lane.events[mark % lane.events.size()])));
}

void CudaDevice::make_current() const { PLEAT_CUDA_CHECK(cudaSetDevice(index_)); }

void* CudaDevice::allocate(std::size_t bytes) const {
  make_current();
  void* data = nullptr;
  if (bytes > 0) PLEAT_CUDA_CHECK(without_trace(cudaMalloc(&data, bytes)));
  return data;
}

void CudaDevice::release(void* data) const {
  synchronize();
  PLEAT_CUDA_CHECK(cudaFree(data));
}

void CudaDevice::upload(void* to, const void* from, std::size_t bytes) const {
  if (bytes == 0) return;
  make_current();
  PLEAT_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, native(stream())));
  synchronize();
}

void CudaDevice::stage(void* to, const void* from, std::size_t bytes) const {
  if (bytes == 0) return;
  make_current();
  staging_.upload(to, from, bytes, stream());
}

void CudaDevice::download(void* to, const void* from, std::size_t bytes) const {
  if (bytes == 0) return;
  make_current();
  PLEAT_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, native(stream())));
  synchronize();
}

void CudaDevice::synchronize() const { cuda::synchronize(stream()); }

CudaDevice::Memory CudaDevice::memory() const {
  make_current();
  Memory m;
  PLEAT_CUDA_CHECK(cudaMemGetInfo(&m.free, &m.total));
  return m;
}

}  // namespace pleat::cuda
