// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/microbench/clock.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <random>
#include <thread>

namespace pleat {
namespace {

// Calls are made on several sets of buffers in turn, so that small ones do not stay in the first
// cache level: a step touches other tensors in between.
constexpr double kRotatedBytes = 4e6;
constexpr int kMostSets = 8;

std::vector<std::function<void()>> prepare_sets(const KernelPoint& point, KernelSet& kernels,
                                                unsigned seed) {
  const int sets =
      std::clamp(static_cast<int>(kRotatedBytes / std::max(1.0, point.bytes)), 1, kMostSets);
  std::vector<std::function<void()>> calls;
  for (int i = 0; i < sets; ++i)
    calls.push_back(point.prepare(kernels, seed + 1000u * static_cast<unsigned>(i)));
  for (const auto& call : calls) call();  // warm-up: pages, instruction cache
  return calls;
}

Sample sample_of(const KernelPoint& point, int threads, double seconds, int repeats) {
  return {.name = point.name,
          .point = KernelSample{point.kernel, Flops(point.flops), Bytes(point.bytes), threads},
          .time = Seconds(seconds),
          .repeats = repeats};
}

}  // namespace

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

Buffer::Buffer(std::int64_t rows, std::int64_t cols, unsigned seed)
    : rows_(rows),
      cols_(cols),
      data_(std::make_shared<std::vector<float>>(static_cast<std::size_t>(rows * cols))) {
  std::minstd_rand random(seed + 1);
  std::uniform_real_distribution<float> uniform(-0.5f, 0.5f);
  for (float& x : *data_) x = uniform(random);
}

View Buffer::view() const {
  return {.data = data_->data(), .dtype = DType::fp32, .rows = rows_, .cols = cols_};
}

IndexBuffer::IndexBuffer(std::vector<std::int32_t> values, std::int64_t columns)
    : columns_(columns), data_(std::make_shared<std::vector<std::int32_t>>(std::move(values))) {}

View IndexBuffer::view() const {
  const auto size = static_cast<std::int64_t>(data_->size());
  return {.data = data_->data(), .dtype = DType::i32, .rows = size / columns_, .cols = columns_};
}

Sample time_alone(const KernelPoint& point, const TimingLimits& limits) {
  const auto kernels = cpu_kernels();
  const auto calls = prepare_sets(point, *kernels, 7);
  std::vector<double> times;
  const double start = seconds_now();
  double now = start;
  while (times.empty() ||
         (now - start < limits.seconds && static_cast<int>(times.size()) < limits.repeats)) {
    calls[times.size() % calls.size()]();
    const double end = seconds_now();
    times.push_back(end - now);
    now = end;
  }
  return sample_of(point, 1, median(times), static_cast<int>(times.size()));
}

Sample time_shared(const KernelPoint& point, int threads, const TimingLimits& limits) {
  std::vector<double> per_call(static_cast<std::size_t>(threads));
  std::vector<int> calls_made(static_cast<std::size_t>(threads));
  std::barrier ready(threads);
  const auto run = [&](std::size_t thread) {
    const auto kernels = cpu_kernels();
    const auto calls = prepare_sets(point, *kernels, static_cast<unsigned>(100 * thread));
    ready.arrive_and_wait();
    const double start = seconds_now();
    double now = start;
    int count = 0;
    while (count == 0 || now - start < limits.seconds) {
      calls[static_cast<std::size_t>(count) % calls.size()]();
      ++count;
      now = seconds_now();
    }
    per_call[thread] = (now - start) / count;
    calls_made[thread] = count;
  };
  {
    std::vector<std::jthread> pool;
    for (int t = 0; t < threads; ++t) pool.emplace_back(run, static_cast<std::size_t>(t));
  }
  int total = 0;
  for (int count : calls_made) total += count;
  return sample_of(point, threads, median(per_call), total);
}

}  // namespace pleat
