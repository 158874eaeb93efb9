// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/gpu/bench.hpp"

#include <cuda_runtime.h>
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "kernels/cuda/cuda_check.cuh"
#include "kernels/cuda/implementation.hpp"

namespace pleat::bench {
namespace {

constexpr std::size_t kFlush = std::size_t{256} << 20U;  // several times an L2
constexpr std::int64_t kPattern = 1 << 20;               // random values, repeated
constexpr int kWarmUps = 3;

cudaStream_t stream_of(const cuda::CudaDevice& d) {
  return static_cast<cudaStream_t>(d.stream().handle);
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result + '"';
}

}  // namespace

Bench::Bench(std::string filter, int runs)
    : filter_(std::move(filter)), runs_(runs), kernels_(cuda_kernels(device_)) {
  flush_ = device_.allocate(kFlush);
}

Bench::~Bench() {
  memory_.push_back(flush_);
  release_all();
}

bool Bench::wanted(const std::string& name) const {
  return filter_.empty() || name.find(filter_) != std::string::npos;
}

View Bench::random(DType type, std::int64_t rows, std::int64_t cols, double size) {
  const std::int64_t n = rows * cols, width = type == DType::bf16 ? 2 : 4;
  void* data = device_.allocate(static_cast<std::size_t>(std::max<std::int64_t>(n, 1) * width));
  memory_.push_back(data);
  const std::int64_t pattern = std::min(n, kPattern);
  std::normal_distribution<float> normal(0.0F, static_cast<float>(size));
  std::vector<std::byte> host(static_cast<std::size_t>(pattern * width));
  for (std::int64_t i = 0; i < pattern; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(normal(generator_));
    const std::uint32_t value = type == DType::bf16 ? (bits + 0x8000U) >> 16U : bits;
    std::memcpy(host.data() + i * width, &value, static_cast<std::size_t>(width));
  }
  for (std::int64_t at = 0; at < n; at += pattern) {
    device_.upload(static_cast<std::byte*>(data) + at * width, host.data(),
                   static_cast<std::size_t>(std::min(pattern, n - at) * width));
  }
  return {data, type, rows, cols};
}

View Bench::i32(const std::vector<std::int32_t>& values, std::int64_t rows) {
  void* data = device_.allocate(values.size() * sizeof(std::int32_t));
  memory_.push_back(data);
  device_.upload(data, values.data(), values.size() * sizeof(std::int32_t));
  return {data, DType::i32, rows, std::ssize(values) / rows};
}

void Bench::release_all() {
  for (void* data : memory_) {
    try {
      device_.release(data);
    } catch (const DeviceError&) {  // of earlier work, where it was reported
    }
  }
  memory_.clear();
}

void Bench::flush_l2() {
  PLEAT_CUDA_CHECK(cudaMemsetAsync(flush_, flushes_++, kFlush, stream_of(device_)));
}

double Bench::median_seconds(const std::function<void()>& work) {
  return medians_in_turns({&work, 1}).front();
}

std::vector<double> Bench::medians_in_turns(std::span<const std::function<void()>> works) {
  cudaEvent_t begin = nullptr, end = nullptr;
  PLEAT_CUDA_CHECK(cudaEventCreate(&begin));
  PLEAT_CUDA_CHECK(cudaEventCreate(&end));
  const cudaStream_t stream = stream_of(device_);
  std::vector<std::vector<double>> seconds(works.size());
  for (int i = 0; i < kWarmUps + runs_; ++i) {
    for (std::size_t w = 0; w < works.size(); ++w) {
      flush_l2();
      PLEAT_CUDA_CHECK(cudaEventRecord(begin, stream));
      works[w]();
      PLEAT_CUDA_CHECK(cudaEventRecord(end, stream));
      PLEAT_CUDA_CHECK(cudaEventSynchronize(end));
      float milliseconds = 0;
      PLEAT_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
      if (i >= kWarmUps) seconds[w].push_back(milliseconds * 1e-3);
    }
  }
  cudaEventDestroy(end);
  cudaEventDestroy(begin);
  std::vector<double> medians;
  for (std::vector<double>& s : seconds) {
    std::sort(s.begin(), s.end());
    medians.push_back(s[s.size() / 2]);
  }
  return medians;
}

double Bench::copy_bandwidth() {
  if (copy_bandwidth_ > 0) return copy_bandwidth_;
  constexpr std::int64_t kElements = std::int64_t{1} << 29U;  // of bf16: 1 GiB
  const View x = random(DType::bf16, 1, kElements), y = random(DType::bf16, 1, kElements);
  const double engine = median_seconds([&] { kernels().copy(x, y); });
  const double kernel = median_seconds([&] { kernels().copy_columns(x, y, {.width = kElements}); });
  copy_bandwidth_ = 4.0 * kElements / std::min(engine, kernel);
  fmt::print("{{\"kernel\": \"copy\", \"copy_engine_GBps\": {:.1f}, \"kernel_GBps\": {:.1f}}}\n",
             4e-9 * kElements / engine, 4e-9 * kElements / kernel);
  release_all();
  return copy_bandwidth_;
}

void Bench::print(const std::string& kernel, const std::string& shape, double seconds,
                  const std::string& rest) {
  fmt::print("{{\"kernel\": {}, \"shape\": {}, \"us\": {:.2f}, {}}}\n", quoted(kernel),
             quoted(shape), seconds * 1e6, rest);
  std::fflush(stdout);
}

void Bench::missing(const std::string& kernel, const std::string& shape, const std::string& why) {
  fmt::print("{{\"kernel\": {}, \"shape\": {}, \"missing\": {}}}\n", quoted(kernel), quoted(shape),
             quoted(why));
  std::fflush(stdout);
}

void Bench::error(const std::string& kernel, const std::string& shape, const std::string& what) {
  ++errors_;
  fmt::print("{{\"kernel\": {}, \"shape\": {}, \"error\": {}}}\n", quoted(kernel), quoted(shape),
             quoted(what));
  std::fflush(stdout);
}

void Bench::attempt(const std::string& kernel, const std::string& shape,
                    const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& e) {
    error(kernel, shape, e.what());
  }
  release_all();
}

void Bench::memory_bound(const std::string& kernel, const std::string& shape, double bytes,
                         const std::string& formula, const std::function<void()>& work,
                         double least) {
  try {
    const double seconds = median_seconds(work);
    std::string rest = fmt::format(
        "\"bytes\": {:.0f}, \"formula\": {}, \"GBps\": {:.1f}, \"of_copy\": {:.3f}", bytes,
        quoted(formula), bytes / seconds * 1e-9, bytes / seconds / copy_bandwidth_);
    if (least > 0) {
      rest += fmt::format(", \"least_bytes\": {:.0f}, \"least_of_copy\": {:.3f}", least,
                          least / seconds / copy_bandwidth_);
    }
    print(kernel, shape, seconds, rest);
  } catch (const std::exception& e) {
    error(kernel, shape, e.what());
  }
}

void Bench::compute_bound(const std::string& kernel, const std::string& shape, double flops,
                          double reference_seconds, const std::string& reference,
                          const std::function<void()>& work, double bytes) {
  try {
    const double seconds = median_seconds(work);
    std::string rest = fmt::format("\"TFLOPS\": {:.1f}, \"by\": {}", flops / seconds * 1e-12,
                                   quoted(cuda::name_of(cuda::taken_by())));
    if (reference_seconds > 0) {
      rest += fmt::format(
          ", \"reference\": {}, \"reference_TFLOPS\": {:.1f}, \"of_reference\": {:.3f}",
          quoted(reference), flops / reference_seconds * 1e-12, reference_seconds / seconds);
    }
    if (bytes > 0) {
      rest += fmt::format(", \"bytes\": {:.0f}, \"of_roofline\": {:.3f}", bytes,
                          std::max(reference_seconds, bytes / copy_bandwidth_) / seconds);
    }
    print(kernel, shape, seconds, rest);
  } catch (const std::exception& e) {
    error(kernel, shape, e.what());
  }
}

void Bench::product_took(const std::string& kernel, const std::string& shape, double flops,
                         double seconds) {
  print(kernel, shape, seconds, fmt::format("\"TFLOPS\": {:.1f}", flops / seconds * 1e-12));
}

}  // namespace pleat::bench
