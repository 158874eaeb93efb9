// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/microbench/bench.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <random>

#include "calibration/microbench/clock.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr std::align_val_t kAlignment{64};

// Calls are made on several sets of buffers in turn, so that small ones do not stay in the first
// cache level: a step touches other tensors in between.
constexpr double kRotatedBytes = 4e6;

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
    PLEAT_ASSERT(v.dtype == DType::fp32);
    std::minstd_rand random(seed + 1);
    std::uniform_real_distribution<float> uniform(-0.5f, 0.5f);
    for (std::int64_t i = 0; i < v.elements(); ++i) v.f32()[i] = uniform(random);
  }
  double seconds(const std::function<void()>& call) override {
    const double start = seconds_now();
    call();
    return seconds_now() - start;
  }
  double now() override { return seconds_now(); }
  double rotated_bytes() const override { return kRotatedBytes; }

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
