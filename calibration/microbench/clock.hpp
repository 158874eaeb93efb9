// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How a kernel is timed: warm-up, rotating buffers of random data, median of repeats, a time limit.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "calibration/sample.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat {

// Random values in [-0.5, 0.5); owned by the closure that uses them.
class Buffer {
 public:
  Buffer(std::int64_t rows, std::int64_t cols, unsigned seed);
  [[nodiscard]] View view() const;  // fp32

 private:
  std::int64_t rows_, cols_;
  std::shared_ptr<std::vector<float>> data_;
};

class IndexBuffer {
 public:
  explicit IndexBuffer(std::vector<std::int32_t> values, std::int64_t columns = 1);
  [[nodiscard]] View view() const;  // i32

 private:
  std::int64_t columns_;
  std::shared_ptr<std::vector<std::int32_t>> data_;
};

// A kernel at one size. `prepare` makes a call on fresh buffers.
struct KernelPoint {
  std::string name;
  KernelClass kernel = KernelClass::gemm;
  double flops = 0, bytes = 0;
  std::function<std::function<void()>(KernelSet&, unsigned seed)> prepare;
};

struct TimingLimits {
  double seconds = 0.1;  // a point stops here
  int repeats = 200;     // or here
};

// One thread, nothing else running.
[[nodiscard]] Sample time_alone(const KernelPoint&, const TimingLimits&);

// `threads` threads run the point at the same time for `limits.seconds`: seconds per call of one
// thread, the median of the threads.
[[nodiscard]] Sample time_shared(const KernelPoint&, int threads, const TimingLimits&);

[[nodiscard]] double median(std::vector<double> values);  // 0 when empty
[[nodiscard]] double seconds_now();

}  // namespace pleat
