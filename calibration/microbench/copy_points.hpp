// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Copies between a GPU and the host's pinned memory: which are measured, and how they are called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pleat {

// What runs beside them; of it the time is taken then, else of the copies.
enum class CopiesBeside { nothing, product, attention };

struct CopyPoint {
  bool up = false, down = false;  // to the device, to the host; neither: what is beside, alone
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

}  // namespace pleat
