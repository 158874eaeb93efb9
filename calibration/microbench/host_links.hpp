// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Copies between devices and the host: by one GPU alone, and by all ranks at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "calibration/microbench/points.hpp"

namespace pleat {

// Copies between a GPU and the host's pinned memory: which are measured, and how they are called.

// The work that runs beside the copies. If there is any, its time is measured, else the copies'.
enum class CopiesBeside { nothing, product, attention };

struct CopyPoint {
  bool up = false, down = false;  // to the device, to the host; neither: only the work
  std::size_t bytes = 0;          // each way
  CopiesBeside beside = CopiesBeside::nothing;
};

inline constexpr std::int64_t kCopyProduct = 8192;    // 1.1 TFLOP: longer than a copy's start
inline constexpr std::int64_t kCopyAttention = 8192;  // tokens of kOverlapHeads, 0.5 TFLOP

// 64 KB to 1 GB either way and both ways; 256 MB beside a product and beside attention.
[[nodiscard]] std::vector<CopyPoint> copy_points();
[[nodiscard]] std::string what_of(const CopyPoint&);  // "product beside host_to_device"
[[nodiscard]] std::string name_of(const CopyPoint&);
[[nodiscard]] double share_of(const CopyPoint&);  // OtherPoint::share

// Copies between host and device of all ranks at once, each with pinned memory of its own, and of
// one rank alone: what GPUs that share a switch, a bridge or a socket's memory leave each other of
// the link that offloading goes over. Samples; no part of the fit.

struct HostLinkPoint {
  bool up = false, down = false;  // to the device, to the host, or both at once
  bool alone = false;             // rank 0 copies, the others wait
  int ranks = 0;
  std::int64_t bytes = 0;  // each way
};

inline constexpr std::int64_t kHostLinkBytes = std::int64_t{64} << 20U;

// Each way and both ways, of one of the ranks and of all. Needs two ranks.
[[nodiscard]] std::vector<HostLinkPoint> host_link_points(int ranks,
                                                          std::int64_t bytes = kHostLinkBytes);
[[nodiscard]] std::string name_of(const HostLinkPoint&);

// Raw times are one a rank, in their order, the medians of its blocks (of one alone: its blocks);
// the sample's time is the slowest's.
[[nodiscard]] Timing time_host_link(RankRunner&, const HostLinkPoint&, const TimingLimits&);
[[nodiscard]] Sample sample_of(const HostLinkPoint&, const Timing&);

}  // namespace pleat
