// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The functions by which calibration/cuda_bench.cpp enters the library of CUDA kernels, and what
// they do.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <stdexcept>

#include "calibration/cuda_bench.hpp"
#include "calibration/cuda_points.hpp"
#include "calibration/gpu_clocks.hpp"
#include "calibration/microbench/clock.hpp"
#include "core/diagnostics.hpp"
#include "core/numerics/small_float.hpp"
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/implementation.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kPattern = std::int64_t{1} << 22U;  // random numbers, over and over

// A product and an attention, as the smallest step makes them: what the libraries load and keep.
void use_libraries(KernelSet& kernels, cuda::CudaDevice& device) {
  constexpr std::int64_t n = 256, heads = 2, d = 128;
  const AttentionShape s{.batch = 1, .seq = n, .heads = heads, .kv_groups = heads, .head_dim = d};
  static_assert(heads * d == n);
  device.make_current();
  std::vector<cuda::DeviceBuffer> buffers;
  const auto view = [&](DType type, std::int64_t rows, std::int64_t cols) {
    buffers.emplace_back(static_cast<std::size_t>(bytes_of(type, rows * cols)));
    return View{buffers.back().data(), type, rows, cols};
  };
  const View x = view(DType::bf16, n, s.columns()), w = view(DType::bf16, n, s.columns());
  const View y = view(DType::bf16, n, n), sums = view(DType::fp32, n, heads);
  kernels.zero(x);
  kernels.zero(w);
  kernels.gemm(x, false, w, true, y, false);
  kernels.attention(x, y, sums, s);
  device.synchronize();
}

std::vector<std::pair<std::string, std::string>> software_facts() {
  int driver = 0, runtime = 0;
  check_cuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check_cuda(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  std::vector<std::pair<std::string, std::string>> all{{"cuda_driver", std::to_string(driver)},
                                                       {"cuda_runtime", std::to_string(runtime)}};
  for (auto& fact : cuda::library_facts()) all.push_back(std::move(fact));
  return all;
}

class CudaBench final : public Bench {
 public:
  explicit CudaBench(int index) : device_(index), kernels_(cuda_kernels(device_)) {
    use_libraries(*kernels_, device_);
    const cuda::CudaDevice::Memory memory = device_.memory();
    const auto scratch = static_cast<std::int64_t>(CudaOptions{}.scratch_bytes);
    context_bytes_ = static_cast<std::int64_t>(memory.total - memory.free) - scratch;
    check_cuda(cudaEventCreate(&begin_), "cudaEventCreate");
    check_cuda(cudaEventCreate(&end_), "cudaEventCreate");
    points_ = std::make_unique<CudaPoints>(*this, stream(), begin_);
    int cache = 0;
    check_cuda(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, index), "L2 size");
    flush_bytes_ = 2 * static_cast<std::size_t>(cache);
    flush_ = device_.allocate(flush_bytes_);
    std::minstd_rand random(1);
    std::uniform_real_distribution<float> uniform(-0.5F, 0.5F);
    std::vector<float> wide(static_cast<std::size_t>(kPattern));
    std::vector<Bf16> narrow;
    for (float& x : wide) narrow.push_back(to_bf16(x = uniform(random)));
    wide_ = device_.allocate(wide.size() * sizeof wide[0]);
    narrow_ = device_.allocate(narrow.size() * sizeof narrow[0]);
    device_.upload(wide_, wide.data(), wide.size() * sizeof wide[0]);
    device_.upload(narrow_, narrow.data(), narrow.size() * sizeof narrow[0]);
  }
  ~CudaBench() override {
    for (void* memory : {flush_, wide_, narrow_}) device_.release(memory);
    static_cast<void>(cudaEventDestroy(begin_));
    static_cast<void>(cudaEventDestroy(end_));
  }
  CudaBench(const CudaBench&) = delete;
  CudaBench& operator=(const CudaBench&) = delete;

  KernelSet& kernels() override { return *kernels_; }
  DType floats() const override { return DType::bf16; }
  void* allocate(std::size_t bytes) override {
    device_.make_current();
    void* memory = nullptr;
    check_cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
    return memory;
  }
  void release(void* data) override {
    device_.make_current();
    static_cast<void>(cudaFree(data));
  }
  void upload(void* to, const void* from, std::size_t bytes) override {
    device_.upload(to, from, bytes);
  }
  void fill(View v, unsigned seed) override {
    PLEAT_ASSERT(v.dtype == DType::fp32 || v.dtype == DType::bf16);
    const std::byte* pattern =
        static_cast<const std::byte*>(v.dtype == DType::fp32 ? wide_ : narrow_);
    std::int64_t from = static_cast<std::int64_t>(seed) * 4096 % kPattern;
    for (std::int64_t at = 0; at < v.elements();) {
      const std::int64_t n = std::min(v.elements() - at, kPattern - from);
      check_cuda(cudaMemcpyAsync(v.at(at), pattern + bytes_of(v.dtype, from),
                                 static_cast<std::size_t>(bytes_of(v.dtype, n)),
                                 cudaMemcpyDeviceToDevice, stream()),
                 "fill");
      at += n;
      from = 0;
    }
    device_.synchronize();
  }
  double seconds(const std::function<void()>& call) override {
    points_->finish();  // nothing of the call before beside the flush
    check_cuda(cudaMemsetAsync(flush_, 0, flush_bytes_, stream()), "flush");
    check_cuda(cudaEventRecord(begin_, stream()), "cudaEventRecord");
    call();
    check_cuda(cudaEventRecord(end_, stream()), "cudaEventRecord");
    check_cuda(cudaEventSynchronize(end_), "kernel");
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
  }
  double now() override { return seconds_now(); }
  double rotated_bytes(KernelClass) const override { return 0; }

  double host_seconds(const std::function<void()>& call) override {
    points_->finish();
    device_.synchronize();
    const double start = seconds_now();
    call();
    return seconds_now() - start;
  }
  std::vector<OtherPoint> other_points() override { return points_->points(); }
  std::int64_t context_bytes() override { return context_bytes_; }
  // An error that stays: after it every call of this process fails.
  bool is_broken() override {
    return cudaDeviceSynchronize() != cudaSuccess && cudaDeviceSynchronize() != cudaSuccess;
  }

  std::vector<std::pair<std::string, std::string>> facts() override {
    cudaDeviceProp p{};
    check_cuda(cudaGetDeviceProperties(&p, device_.index()), "cudaGetDeviceProperties");
    std::vector<std::pair<std::string, std::string>> all{
        {"device", p.name},
        {"compute_capability", fmt::format("{}.{}", p.major, p.minor)},
        {"multiprocessors", std::to_string(p.multiProcessorCount)},
        {"memory_bytes", std::to_string(p.totalGlobalMem)}};
    for (auto& fact : software_facts()) all.push_back(std::move(fact));
    return all;
  }
  std::vector<std::pair<std::string, std::string>> state() override {
    char bus[32] = {};
    check_cuda(cudaDeviceGetPCIBusId(bus, sizeof bus, device_.index()), "cudaDeviceGetPCIBusId");
    return gpu_clocks(bus);
  }

 private:
  [[nodiscard]] cudaStream_t stream() const {
    return static_cast<cudaStream_t>(device_.stream().handle);
  }

  cuda::CudaDevice device_;
  std::unique_ptr<KernelSet> kernels_;
  std::int64_t context_bytes_ = 0;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  std::unique_ptr<CudaPoints> points_;
  void *flush_ = nullptr, *wide_ = nullptr, *narrow_ = nullptr;
  std::size_t flush_bytes_ = 0;
};

std::unique_ptr<Bench> bench_of(int device) {
  const int count = cuda::device_count();
  if (device >= count) {
    throw_config_error(ExitCode::device_or_io, "--device", "cuda",
                       count == 0 ? "this machine has no GPU that CUDA can use"
                                  : fmt::format("GPU {} of {}", device, count),
                       "leave --device out to measure the CPU");
  }
  return std::make_unique<CudaBench>(device);
}

}  // namespace
}  // namespace pleat

extern "C" {

const pleat::CudaBenchLibrary* pleat_cuda_bench() {
  static const pleat::CudaBenchLibrary library{.bench = pleat::bench_of,
                                               .software_facts = pleat::software_facts};
  return &library;
}

}  // extern "C"
