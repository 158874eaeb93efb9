// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Hardware: one GPU (or CPU rank) and the links between ranks, as datasheet facts with sources.
#pragma once

#include <string>
#include <vector>

#include "core/dtype.hpp"
#include "core/quantity.hpp"
#include "core/spec/software.hpp"

namespace pleat {

struct GpuSpec {
  std::string name;
  // Dense peak by arithmetic type; 0 where the hardware has none.
  FlopsPerSecond peak_fp32, peak_bf16, peak_fp8, peak_fp4;
  Bytes memory;                   // capacity a program can see
  BytesPerSecond memory_bandwidth;
  BytesPerSecond host_link;       // per direction and GPU
  Watts tdp;
  int sms = 0;  // processors (SMs, AI cores) that share a kernel's tiles; 0: not said
  // What large matrix products were seen to reach, all throttling included; 0: not said. Without a
  // profile of its own a GPU is priced by them.
  FlopsPerSecond reached_bf16, reached_fp8;
  double datasheet_band = 0;  // half-width of the prediction band without a profile; 0: the usual
  SoftwareFacts software;
  bool operator==(const GpuSpec&) const = default;

  [[nodiscard]] FlopsPerSecond peak(DType type) const;
};

// One level of the interconnect, innermost first: `size` ranks reach each other at `bandwidth`
// per rank and direction. The last tier's size is unbounded (0).
struct NetworkTier {
  std::string name;  // "nvlink", "rail"
  int size = 0;
  BytesPerSecond bandwidth;
  Seconds latency;
  bool operator==(const NetworkTier&) const = default;
};

struct ClusterSpec {
  std::string name;
  GpuSpec gpu;
  int gpus_per_node = 8;
  Bytes host_memory;                    // of a node; 0: not said
  BytesPerSecond host_memory_bandwidth; // of a node; 0: not said
  int max_gpus = 0;  // 0: as many as asked for
  std::vector<NetworkTier> tiers;
  // Ranks that share one processor's cores (localhost): compute and memory rates are divided by
  // ranks / shared_cores when more ranks than cores run. 0: every rank has its own device.
  int shared_cores = 0;
  SoftwareFacts software;  // goes before the GPU's
  bool operator==(const ClusterSpec&) const = default;

  // What the cluster or its GPU says of it; nullptr: nothing, hardware decides.
  [[nodiscard]] const SoftwareFact* fact(Software) const;
  [[nodiscard]] bool lacks(Software what) const {
    const SoftwareFact* const known = fact(what);
    return known != nullptr && !*known->there;
  }
};

[[nodiscard]] ClusterSpec read_cluster(const std::string& text, const std::string& file_name);

}  // namespace pleat
