// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a kernel is timed on: a kernel set, memory, a clock. The CPU is one, a GPU another, a test's
// scripted times a third.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/spec/profile.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat {

// What is judged and not fitted gets this part of a point's time.
inline constexpr double kJudgedShare = 0.2;

// Beside kernels: copies between host and device and the like. `prepare` makes a call.
struct OtherPoint {
  std::string name, what;  // "host_to_device 1048576 B", "host_to_device"
  double bytes = 0;
  std::function<std::function<void()>()> prepare;
  bool by_host = false;  // the time that the host takes to enqueue it
  double share = 1;      // of a point's time that it gets
};

class Bench {
 public:
  virtual ~Bench() = default;
  [[nodiscard]] virtual KernelSet& kernels() = 0;
  [[nodiscard]] virtual DType floats() const = 0;               // of activations and weights
  [[nodiscard]] virtual void* allocate(std::size_t bytes) = 0;  // throws where there is no more
  virtual void release(void* data) = 0;
  virtual void upload(void* to, const void* from, std::size_t bytes) = 0;
  virtual void fill(View, unsigned seed) = 0;  // random, uniform in [-0.5, 0.5)
  // A call on fresh buffers that ran once: pages, instruction cache, algorithms that are chosen.
  using Prepare = std::function<std::function<void()>(Bench&, unsigned seed)>;
  [[nodiscard]] virtual std::function<void()> warmed(const Prepare& prepare, unsigned seed) {
    auto call = prepare(*this, seed);
    call();
    return call;
  }
  // The time of one call with all the work that it starts. On a GPU caches are cold before it.
  [[nodiscard]] virtual double seconds(const std::function<void()>& call) = 0;
  // The host's time for one call: the device is idle at its start, the call returns at its end.
  [[nodiscard]] virtual double host_seconds(const std::function<void()>& call) {
    return seconds(call);
  }
  // What limits of time are held against; on the CPU what the calling thread has run.
  [[nodiscard]] virtual double now() = 0;
  // Calls go round as many sets of buffers as hold this many bytes, at most TimingLimits::sets.
  [[nodiscard]] virtual double rotated_bytes(KernelClass) const = 0;
  [[nodiscard]] virtual std::vector<OtherPoint> other_points() { return {}; }
  // What a process holds of the device before any tensor, libraries loaded. 0: not known.
  [[nodiscard]] virtual std::int64_t context_bytes() { return 0; }
  // The device failed so that no later call can work.
  [[nodiscard]] virtual bool is_broken() { return false; }
  // What the figures depend on and that stays: device, versions. Name and value.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> facts() { return {}; }
  // What changes: clocks, temperature.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> state() { return {}; }
};

[[nodiscard]] std::unique_ptr<Bench> cpu_bench();

// Random values, owned by the closure that uses them.
class Buffer {
 public:
  Buffer(Bench& bench, std::int64_t rows, std::int64_t cols, unsigned seed);  // of bench.floats()
  Buffer(Bench& bench, std::int64_t rows, std::int64_t cols, unsigned seed, DType type);
  [[nodiscard]] View view() const { return view_; }

 private:
  View view_;
  std::shared_ptr<void> data_;
};

class IndexBuffer {
 public:
  IndexBuffer(Bench& bench, const std::vector<std::int32_t>& values, std::int64_t columns = 1);
  [[nodiscard]] View view() const { return view_; }  // i32

 private:
  View view_;
  std::shared_ptr<void> data_;
};

}  // namespace pleat
