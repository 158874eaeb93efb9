// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/cuda_bench.hpp"

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <stdexcept>

#include "calibration/gpu_clocks.hpp"
#include "calibration/microbench/clock.hpp"
#include "core/diagnostics.hpp"
#include "core/numerics/bf16.hpp"
#include "kernels/cuda/cuda_kernels.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kPattern = std::int64_t{1} << 22U;  // random numbers, over and over

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // the next call is not to blame
  throw std::runtime_error(fmt::format("{}: {}", what, cudaGetErrorString(status)));
}

std::shared_ptr<void> pinned(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMallocHost(&memory, bytes), "cudaMallocHost");
  return {memory, [](void* m) { static_cast<void>(cudaFreeHost(m)); }};
}

class CudaBench final : public Bench {
 public:
  explicit CudaBench(int index) : device_(index), kernels_(cuda_kernels(device_)) {
    check(cudaEventCreate(&begin_), "cudaEventCreate");
    check(cudaEventCreate(&end_), "cudaEventCreate");
    check(cudaStreamCreateWithFlags(&other_stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    int cache = 0;
    check(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, index), "L2 size");
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
    static_cast<void>(cudaStreamDestroy(other_stream_));
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
    check(cudaMalloc(&memory, bytes), "cudaMalloc");
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
      check(cudaMemcpyAsync(v.at(at), pattern + bytes_of(v.dtype, from),
                            static_cast<std::size_t>(bytes_of(v.dtype, n)),
                            cudaMemcpyDeviceToDevice, stream()),
            "fill");
      at += n;
      from = 0;
    }
    device_.synchronize();
  }
  double seconds(const std::function<void()>& call) override {
    check(cudaMemsetAsync(flush_, 0, flush_bytes_, stream()), "flush");
    check(cudaEventRecord(begin_, stream()), "cudaEventRecord");
    call();
    check(cudaEventRecord(end_, stream()), "cudaEventRecord");
    check(cudaEventSynchronize(end_), "kernel");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin_, end_), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
  }
  double now() override { return seconds_now(); }
  double rotated_bytes(KernelClass) const override { return 0; }

  std::vector<OtherPoint> other_points() override {
    std::vector<OtherPoint> points;
    for (std::size_t bytes = 65536; bytes <= (std::size_t{1} << 30U); bytes *= 8) {
      for (const char* what : {"host_to_device", "device_to_host", "both_ways"}) {
        points.push_back(
            {.name = fmt::format("{} {} B", what, bytes),
             .what = what,
             .bytes = static_cast<double>(bytes),
             .prepare = [this, what = std::string(what), bytes] { return copies(what, bytes); }});
      }
    }
    points.push_back({.name = "synchronize", .what = "synchronize", .bytes = 0, .prepare = [this] {
                        return [this] { device_.synchronize(); };
                      }});
    return points;
  }

  std::vector<std::pair<std::string, std::string>> facts() override {
    cudaDeviceProp p{};
    int driver = 0, runtime = 0;
    check(cudaGetDeviceProperties(&p, device_.index()), "cudaGetDeviceProperties");
    check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    return {{"device", p.name},
            {"compute_capability", fmt::format("{}.{}", p.major, p.minor)},
            {"multiprocessors", std::to_string(p.multiProcessorCount)},
            {"memory_bytes", std::to_string(p.totalGlobalMem)},
            {"cuda_driver", std::to_string(driver)},
            {"cuda_runtime", std::to_string(runtime)},
            {"cublaslt", std::to_string(cublasLtGetVersion())}};
  }
  std::vector<std::pair<std::string, std::string>> state() override {
    char bus[32] = {};
    check(cudaDeviceGetPCIBusId(bus, sizeof bus, device_.index()), "cudaDeviceGetPCIBusId");
    return gpu_clocks(bus);
  }

 private:
  [[nodiscard]] cudaStream_t stream() const {
    return static_cast<cudaStream_t>(device_.stream().handle);
  }

  std::function<void()> copies(const std::string& what, std::size_t bytes) {
    const auto from_host = pinned(bytes), to_host = pinned(bytes);
    const auto device = [&] {
      return std::shared_ptr<void>(allocate(bytes), [this](void* m) { release(m); });
    };
    const auto here = device(), there = device();
    const bool up = what != "device_to_host", down = what != "host_to_device";
    return [=, this] {
      if (down) {
        check(cudaMemcpyAsync(to_host.get(), there.get(), bytes, cudaMemcpyDeviceToHost,
                              up ? other_stream_ : stream()),
              "copy to the host");
      }
      if (up) {
        check(cudaMemcpyAsync(here.get(), from_host.get(), bytes, cudaMemcpyHostToDevice, stream()),
              "copy to the device");
      }
      if (up && down) {
        check(cudaEventRecord(joined(), other_stream_), "cudaEventRecord");
        check(cudaStreamWaitEvent(stream(), joined(), 0), "cudaStreamWaitEvent");
      }
    };
  }
  cudaEvent_t joined() {
    if (joined_ == nullptr)
      check(cudaEventCreateWithFlags(&joined_, cudaEventDisableTiming), "cudaEventCreate");
    return joined_;
  }

  cuda::CudaDevice device_;
  std::unique_ptr<KernelSet> kernels_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr, joined_ = nullptr;
  cudaStream_t other_stream_ = nullptr;
  void *flush_ = nullptr, *wide_ = nullptr, *narrow_ = nullptr;
  std::size_t flush_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Bench> cuda_bench(int device) {
  const int count = cuda::device_count();
  if (device >= count) {
    throw_config_error(ExitCode::device_or_io, "--device", "cuda",
                       count == 0 ? "this machine has no GPU that CUDA can use"
                                  : fmt::format("GPU {} of {}", device, count),
                       "leave --device out to measure the CPU");
  }
  return std::make_unique<CudaBench>(device);
}

}  // namespace pleat
