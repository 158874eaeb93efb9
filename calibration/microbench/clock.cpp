// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration/microbench/clock.hpp"
#include "core/median.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

namespace pleat {
namespace {

constexpr double kNormal95 = 1.96;

std::vector<std::function<void()>> prepare_sets(const KernelPoint& point, Bench& bench,
                                                unsigned seed, int most) {
  const double held = std::max(1.0, point.held > 0 ? point.held : point.bytes);
  const double rotated = bench.rotated_bytes(point.kernel) / held;
  const int sets = std::clamp(static_cast<int>(rotated), 1, most);
  std::vector<std::function<void()>> calls;
  for (int i = 0; i < sets; ++i)
    calls.push_back(bench.warmed(point.prepare, seed + 1000u * static_cast<unsigned>(i)));
  return calls;
}

}  // namespace

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double relative_confidence(const std::vector<double>& seconds) {
  const auto n = static_cast<double>(seconds.size());
  if (n < 2) return std::numeric_limits<double>::infinity();
  double mean = 0, squares = 0;
  for (const double s : seconds) mean += s / n;
  for (const double s : seconds) squares += (s - mean) * (s - mean);
  return kNormal95 * std::sqrt(squares / (n - 1) / n) / mean;
}

Sample sample_of(const KernelPoint& point, int threads, const Timing& t) {
  return {.name = point.name,
          .point = KernelSample{point.kernel, Flops(point.flops), Bytes(point.bytes), threads,
                                point.math, point.shape, point.judged, Bytes(point.norm_bytes)},
          .time = Seconds(median(t.seconds)),
          .repeats = t.repeats,
          .raw = t.seconds};
}

Timing time_alone(Bench& bench, const KernelPoint& point, const TimingLimits& limits) {
  const auto calls = prepare_sets(point, bench, 7, limits.sets);
  Timing t;
  const double start = bench.now();
  while (t.repeats == 0 || (bench.now() - start < limits.seconds && t.repeats < limits.repeats)) {
    const auto& call = calls[static_cast<std::size_t>(t.repeats) % calls.size()];
    t.seconds.push_back(point.by_host ? bench.host_seconds(call) : bench.seconds(call));
    ++t.repeats;
    if (limits.confidence > 0 && t.repeats >= limits.least &&
        relative_confidence(t.seconds) <= limits.confidence) {
      break;
    }
  }
  return t;
}

Timing time_sustained(Bench& bench, const KernelPoint& point, double seconds) {
  const auto call = bench.warmed(point.prepare, 7);
  Timing t;
  for (const double start = bench.now(); t.repeats == 0 || bench.now() - start < seconds;
       t.repeats += kSustainedCalls) {
    t.seconds.push_back(bench.seconds([&] {
      for (int i = 0; i < kSustainedCalls; ++i) call();
    }) / kSustainedCalls);
  }
  return t;
}

double sustained_share(const std::vector<double>& seconds) {
  constexpr std::size_t kFirst = 3;
  if (seconds.size() < 4 * kFirst) return 1;  // too few to tell
  const auto first = median({seconds.begin(), seconds.begin() + kFirst});
  const auto last = median({seconds.end() - std::ssize(seconds) / 4, seconds.end()});
  return std::min(1.0, first / last);
}

Timing time_shared(const KernelPoint& point, int threads, const TimingLimits& limits) {
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  const double share = std::min(1.0, cores / threads);  // of a core
  Timing t;
  t.seconds.resize(static_cast<std::size_t>(threads));
  std::vector<int> calls_made(static_cast<std::size_t>(threads));
  std::barrier ready(threads);
  const auto run = [&](std::size_t thread) {
    const auto bench = cpu_bench();
    const auto calls =
        prepare_sets(point, *bench, static_cast<unsigned>(100 * thread), limits.sets);
    ready.arrive_and_wait();
    const double until = seconds_now() + limits.seconds;  // all of them run until then
    const double start = bench->now();
    int count = 0;
    while (count == 0 || seconds_now() < until) {
      calls[static_cast<std::size_t>(count) % calls.size()]();
      ++count;
    }
    t.seconds[thread] = (bench->now() - start) / count / share;
    calls_made[thread] = count;
  };
  {
    std::vector<std::jthread> pool;
    for (int i = 0; i < threads; ++i) pool.emplace_back(run, static_cast<std::size_t>(i));
  }
  for (int count : calls_made) t.repeats += count;
  return t;
}

}  // namespace pleat
