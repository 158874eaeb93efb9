// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The sweeps: kernels at the sizes of models that a CPU can train, collectives from 1 KB to 4 MB.
#pragma once

#include <vector>

#include "calibration/microbench/clock.hpp"

namespace pleat {

[[nodiscard]] std::vector<KernelPoint> gemm_points();
[[nodiscard]] std::vector<KernelPoint> grouped_gemm_points();
[[nodiscard]] std::vector<KernelPoint> attention_points();  // forward and backward
[[nodiscard]] std::vector<KernelPoint> memory_bound_points();  // norm, activation, optimizer too
[[nodiscard]] std::vector<KernelPoint> routing_points();       // router, permute, loss

// Every collective among `ranks` threads, at all sizes.
[[nodiscard]] std::vector<Sample> time_collectives(int ranks, const TimingLimits&);
// One barrier among `ranks` threads.
[[nodiscard]] Seconds time_barrier(int ranks, const TimingLimits&);

}  // namespace pleat
