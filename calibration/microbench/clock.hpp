// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How a kernel is timed: warm-up, repeats until they agree, a time limit; the sample is their
// median.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibration/microbench/bench.hpp"
#include "calibration/sample.hpp"

namespace pleat {

// A kernel at one size. `prepare` makes a call on fresh buffers.
struct KernelPoint {
  std::string name;
  KernelClass kernel = KernelClass::gemm;
  double flops = 0, bytes = 0;
  DType math = DType::fp32;  // of the arithmetic
  Bench::Prepare prepare;
  double held = 0;  // bytes of its buffers; 0: as many as are moved
  KernelShape shape = {};
  bool by_host = false;  // what is timed is the host
  double share = 1;      // of a point's time that it gets
  std::string judged = {};  // KernelSample::judged
  double norm_bytes = 0;    // KernelSample::norm_bytes
};

struct TimingLimits {
  double seconds = 0.1;  // a point stops here
  int repeats = 200;     // or here
  // Or once the mean is known within this fraction with 95% confidence. 0: no such condition.
  double confidence = 0;
  int least = 1;  // repeats before confidence counts
  int sets = 32;  // most sets of buffers, used in turn
};

// The result of one measured point.
struct Timing {
  std::vector<double> seconds;  // of a call each, or means of calls
  int repeats = 0;              // calls
  bool operator==(const Timing&) const = default;
};

// Half the width of the 95% interval of the mean, over the mean; infinite for less than two.
[[nodiscard]] double relative_confidence(const std::vector<double>& seconds);

// Nothing else running.
[[nodiscard]] Timing time_alone(Bench&, const KernelPoint&, const TimingLimits&);

// The call again and again for so many seconds, in runs of kSustainedCalls; a time a run, a call's.
[[nodiscard]] Timing time_sustained(Bench&, const KernelPoint&, double seconds);
inline constexpr int kSustainedCalls = 10;
// How much slower the last quarter is than the first runs: a clock that heat or power lowers; (0,
// 1].
[[nodiscard]] double sustained_share(const std::vector<double>& seconds);

// `threads` threads, each with a CPU kernel set of its own, run the point at the same time for
// `limits.seconds`: seconds per call of each, as if the machine did nothing else.
[[nodiscard]] Timing time_shared(const KernelPoint&, int threads, const TimingLimits&);

[[nodiscard]] Sample sample_of(const KernelPoint&, int threads, const Timing&);

[[nodiscard]] double seconds_now();

}  // namespace pleat
