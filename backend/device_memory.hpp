// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a rank's GPU holds in all, for comparison with what its driver says: the blocks that the
// arena takes for the program's tensors, and what lies beside them.
#pragma once

#include <cstdint>

#include "core/program/program.hpp"

namespace pleat {

inline constexpr std::int64_t kMiB = std::int64_t{1} << 20U;
// cudaMalloc: pages of 2 MiB for what is larger than one MiB; smaller pieces share pages.
inline constexpr std::int64_t kPage = 2 * kMiB;

struct DeviceBytes {
  std::int64_t blocks = 0;    // of the arena, from which tensors are never given back to the device
  std::int64_t rounding = 0;  // the allocator's, in pages
  std::int64_t kernels = 0;   // scratch of the kernel set, as large as attention makes it
  // beside 8-bit codes: operands that products turn, and a weight whose codes take its place
  std::int64_t codes = 0;
  std::int64_t context = 0;   // CUDA's own, with its libraries and loaded kernels
  std::int64_t nccl = 0;      // buffers of its communicators
  [[nodiscard]] std::int64_t total() const { 
    return blocks + rounding + kernels + codes + context + nccl;
  }
};

struct DeviceUse {
  bool nccl = false;         // ranks meet through it
  bool windows = false;      // with tensors of collectives in a slab (step_windows.hpp)
  // as a calibration measured it (Profile::device_context); 0: an assumption
  std::int64_t context = 0;
  bool deterministic_attention = false;  // through cuDNN, whose workspace has gradients of scores
};

// Of a rank of the stage. `routed` as of peak_live_bytes.
[[nodiscard]] DeviceBytes predicted_device_bytes(const Program&, Stage, const RoutedCount& routed,
                                                 const DeviceUse& = {});

}  // namespace pleat
