// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/gpu_device.hpp"

#include <cstring>
#include <mutex>
#include <set>
#include <thread>

#include "core/diagnostics.hpp"
#include "kernels/cuda/cuda_check.cuh"
#include "kernels/cuda/kept_blocks.hpp"
#include "kernels/cuda/partial_sums.hpp"
#include "kernels/cuda/resources.hpp"

namespace pleat {
namespace {

using cuda::CudaDevice;

cuda::DeviceBlocks& all_blocks() {
  static cuda::DeviceBlocks blocks;
  return blocks;
}

// Ranks of this process read each other's memory: kernels add it up.
void reach_neighbours(int index) {
  static std::mutex mutex;
  static std::set<int> used;
  const std::lock_guard lock(mutex);
  if (!used.insert(index).second) return;
  for (const int other : used) {
    if (other == index) continue;
    for (const auto& [from, to] : {std::pair{index, other}, {other, index}}) {
      int can = 0;
      PLEAT_CUDA_CHECK(cudaDeviceCanAccessPeer(&can, from, to));
      if (can == 0) {
        throw DeviceError(
            "cudaDeviceCanAccessPeer",
            "GPUs of one process cannot read each other's memory; run a process a GPU", __FILE__,
            __LINE__);
      }
      PLEAT_CUDA_CHECK(cudaSetDevice(from));
      const cudaError_t status = cudaDeviceEnablePeerAccess(to, 0);
      if (status == cudaErrorPeerAccessAlreadyEnabled) {
        static_cast<void>(cudaGetLastError());
      } else {
        PLEAT_CUDA_CHECK(status);
      }
    }
  }
}

class GpuMemory final : public Memory {
 public:
  explicit GpuMemory(const CudaDevice& device) : device_(device) {}
  std::byte* allocate(std::int64_t bytes) override {
    auto* data = static_cast<std::byte*>(device_.allocate(static_cast<std::size_t>(bytes)));
    all_blocks().add(data, bytes);
    return data;
  }
  // A failure belongs to earlier work; it is reported there.
  void release(std::byte* data) noexcept override {
    if (data == nullptr) return;
    all_blocks().remove(data);
    cudaSetDevice(device_.index());
    cudaFree(data);
  }
  void fill(std::byte* data, int byte, std::int64_t bytes) override {
    if (bytes == 0) return;
    device_.make_current();
    PLEAT_CUDA_CHECK(cudaMemsetAsync(data, byte, static_cast<std::size_t>(bytes),
                                     static_cast<cudaStream_t>(device_.stream().handle)));
  }

 private:
  const CudaDevice& device_;
};

// Pinned: the GPU copies from and to it by itself.
class PinnedMemory final : public Memory {
 public:
  explicit PinnedMemory(const CudaDevice& device) : device_(device) {}
  std::byte* allocate(std::int64_t bytes) override {
    device_.make_current();
    void* data = nullptr;
    PLEAT_CUDA_CHECK(
        cudaHostAlloc(&data, static_cast<std::size_t>(bytes), cudaHostAllocPortable));
    return static_cast<std::byte*>(data);
  }
  void release(std::byte* data) noexcept override { cudaFreeHost(data); }
  void fill(std::byte* data, int byte, std::int64_t bytes) override {
    if (bytes > 0) std::memset(data, byte, static_cast<std::size_t>(bytes));
  }

 private:
  const CudaDevice& device_;
};

class GpuDevice final : public Device {
 public:
  GpuDevice(int index, const CudaOptions& options)
      : device_(index),
        memory_(device_),
        pinned_(device_),
        resources_(device_, 0),
        kernels_(device_, options) {
    reach_neighbours(index);
    device_.make_current();
  }
  Memory& memory() override { return memory_; }
  Memory& host_memory() override { return pinned_; }
  [[nodiscard]] bool hidden(const void* data) const override { return all_blocks().hold(data); }
  void adopt(const std::byte* data, std::int64_t bytes) override { all_blocks().add(data, bytes); }
  void let_go(const std::byte* data) override { all_blocks().remove(data); }
  void copy(void* to, const void* from, std::int64_t bytes) override {
    if (bytes == 0) return;
    enqueue_copy(to, from, bytes);
    synchronize();
  }
  void enqueue_copy(void* to, const void* from, std::int64_t bytes) override {
    if (bytes == 0) return;
    device_.make_current();
    PLEAT_CUDA_CHECK(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault,
                                     static_cast<cudaStream_t>(device_.stream().handle)));
  }
  void synchronize() override {
    if (!check_) return device_.synchronize();
    device_.make_current();
    // Polled: a collective whose peers are lost never ends by itself.
    for (int turn = 0;; ++turn) {
      if (cuda::is_done(cudaStreamQuery(native()))) {
        return check_();  // collectives that were given up end too
      }
      if (turn % 64 == 0) check_();
      std::this_thread::yield();
    }
  }
  Moment moment() override {
    device_.make_current();
    cudaEvent_t event = nullptr;
    PLEAT_CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDefault));
    Moment made(event, [](void* e) { cudaEventDestroy(static_cast<cudaEvent_t>(e)); });
    PLEAT_CUDA_CHECK(cudaEventRecord(event, native()));
    return made;
  }
  double seconds(const Moment& from, const Moment& to) override {
    auto* const begin = static_cast<cudaEvent_t>(from.get());
    auto* const end = static_cast<cudaEvent_t>(to.get());
    for (cudaEvent_t e : {begin, end}) PLEAT_CUDA_CHECK(cudaEventSynchronize(e));
    float milliseconds = 0;
    PLEAT_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    return milliseconds * 1e-3;
  }
  [[nodiscard]] bool captures() const override { return true; }
  void begin_capture() override {
    device_.make_current();
    PLEAT_CUDA_CHECK(cudaStreamBeginCapture(native(), cudaStreamCaptureModeThreadLocal));
  }
  std::shared_ptr<void> end_capture() override {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    cudaError_t status = cudaStreamEndCapture(native(), &graph);
    if (status == cudaSuccess) status = cudaGraphInstantiate(&ready, graph, 0);
    if (graph != nullptr) cudaGraphDestroy(graph);
    if (status != cudaSuccess) static_cast<void>(cudaGetLastError());  // else the next call fails
    PLEAT_CUDA_CHECK(status);
    return {ready, [](void* done) { cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(done)); }};
  }
  void launch(const std::shared_ptr<void>& graph) override {
    device_.make_current();
    PLEAT_CUDA_CHECK(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph.get()), native()));
  }
  [[nodiscard]] std::uint64_t graph_age() const override { return kernels_.age(); }
  [[nodiscard]] bool has_streams() const override { return true; }
  void take_stream(int number) override { device_.take_stream(number); }
  std::uint64_t mark() override { return device_.mark(); }
  void wait_for(int stream, std::uint64_t mark) override { device_.wait_for(stream, mark); }
  bool is_done(int stream, std::uint64_t mark) override { return device_.is_done(stream, mark); }
  std::int64_t used_bytes() override {
    const CudaDevice::Memory m = device_.memory();
    return static_cast<std::int64_t>(m.total - m.free);
  }
  void* stream() override { return device_.stream().handle; }
  void watch(std::function<void()> check) override { check_ = std::move(check); }
  void sum_parts(std::span<const View> parts, View to) override {
    cuda::sum_parts(resources_, parts, to);
  }
  KernelSet& kernels() override { return kernels_; }

 private:
  [[nodiscard]] cudaStream_t native() const {
    return static_cast<cudaStream_t>(device_.stream().handle);
  }

  CudaDevice device_;
  GpuMemory memory_;
  PinnedMemory pinned_;
  cuda::Resources resources_;  // of what is no kernel of the set: no scratch
  CudaKernels kernels_;
  std::function<void()> check_;
};

}  // namespace

std::unique_ptr<Device> gpu_device(int index, const CudaOptions& options) {
  return std::make_unique<GpuDevice>(index, options);
}

}  // namespace pleat
