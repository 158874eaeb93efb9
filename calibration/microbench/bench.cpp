// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/microbench/bench.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <new>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr std::align_val_t kAlignment{64};

// Calls are made on several sets of buffers in turn, so that small ones do not stay in the first
// cache levels: a step touches other tensors in between. What only moves data is met with most of
// it in no cache.
constexpr double kRotatedBytes = 16e6, kMovedBytes = 32e6;
// A step touches its state once, and much else before it does so again. (Of as much as the last
// cache has, 32 MiB, AdamW took 0.36 ns an element, of eight times that 0.48.)
constexpr double kStateBytes = 8.0 * (std::int64_t{32} << 20U);

// Time that the calling thread has run: what else the machine does is no part of it.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class CpuBench final : public Bench {
 public:
  KernelSet& kernels() override { return *kernels_; }
  DType floats() const override { return DType::fp32; }
  void* allocate(std::size_t bytes) override { return ::operator new(bytes, kAlignment); }
  void release(void* data) override { ::operator delete(data, kAlignment); }
  void upload(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void fill(View v, unsigned seed) override {
    PLEAT_ASSERT(v.dtype == DType::fp32 || v.dtype == DType::bf16);
    std::uint32_t state = seed + 1;  // a linear congruential generator: buffers are large
    const auto uniform = [&] {
      state = state * 1664525U + 1013904223U;
      return static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-32F;
    };
    if (v.dtype == DType::fp32) {
      for (std::int64_t i = 0; i < v.elements(); ++i) v.f32()[i] = uniform();
      return;
    }
    auto* halves = static_cast<std::uint16_t*>(v.data);
    for (std::int64_t i = 0; i < v.elements(); ++i) {
      halves[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(uniform()) >> 16U);
    }
  }
  double seconds(const std::function<void()>& call) override {
    const double start = thread_seconds();
    call();
    return thread_seconds() - start;
  }
  double now() override { return thread_seconds(); }
  double rotated_bytes(KernelClass kernel) const override {
    if (counts_flops(kernel)) return kRotatedBytes;
    const bool state = kernel == KernelClass::optimizer || kernel == KernelClass::sweep;
    return state ? kStateBytes : kMovedBytes;
  }

 private:
  std::unique_ptr<KernelSet> kernels_ = cpu_kernels();
};

std::shared_ptr<void> memory(Bench& bench, std::int64_t bytes) {
  return {bench.allocate(static_cast<std::size_t>(std::max<std::int64_t>(1, bytes))),
          [&bench](void* data) { bench.release(data); }};
}

}  // namespace

std::unique_ptr<Bench> cpu_bench() { return std::make_unique<CpuBench>(); }

Buffer::Buffer(Bench& bench, std::int64_t rows, std::int64_t cols, unsigned seed)
    : Buffer(bench, rows, cols, seed, bench.floats()) {}

Buffer::Buffer(Bench& bench, std::int64_t rows, std::int64_t cols, unsigned seed, DType type)
    : data_(memory(bench, bytes_of(type, rows * cols))) {
  view_ = {data_.get(), type, rows, cols};
  if (!is_quantized(type)) bench.fill(view_, seed);  // codes are made
}

IndexBuffer::IndexBuffer(Bench& bench, const std::vector<std::int32_t>& values,
                         std::int64_t columns)
    : data_(memory(bench, 4 * std::ssize(values))) {
  view_ = {data_.get(), DType::i32, std::ssize(values) / columns, columns};
  bench.upload(data_.get(), values.data(), values.size() * sizeof values[0]);
}

}  // namespace pleat
