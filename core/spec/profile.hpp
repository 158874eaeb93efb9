// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A profile: how fast one platform runs the kernels and collectives of one runtime. Fitted by
// `pleat calibrate` or from published tables; read by the simulator. Nothing here is a datasheet value.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/quantity.hpp"

namespace pleat {

enum class Runtime { pleat, megatron };

// Where a number comes from, best first.
enum class SourceClass { measured, interpolated, fitted, datasheet };

// Kernel families priced with one efficiency curve each.
enum class KernelClass : std::uint8_t {
  gemm, grouped_gemm, attention_fwd, attention_bwd, memory_bound
};
inline constexpr std::size_t kKernelClasses = 5;

// time = fixed + max(flops / (peak * e), bytes / (bandwidth * b)), where the efficiency e rises with
// the work: e(flops) = max_efficiency * flops / (flops + half_work)   (docs/MODEL.md section 7).
struct EfficiencyCurve {
  double max_efficiency = 1.0;    // of peak, at large work
  Flops half_work;                // work at which half of it is reached
  double memory_efficiency = 1.0; // of memory bandwidth
  Seconds fixed;                  // per kernel
  SourceClass source = SourceClass::datasheet;
  bool operator==(const EfficiencyCurve&) const = default;
};

enum class Collective : std::uint8_t {
  all_gather, reduce_scatter, all_reduce, all_to_all, send_recv
};
inline constexpr std::size_t kCollectives = 5;

// time = latency + steps_latency*(n-1) + wire_bytes / (efficiency * tier bandwidth)
struct CollectiveCurve {
  Seconds latency;
  Seconds latency_per_rank;
  double efficiency = 1.0;
  SourceClass source = SourceClass::datasheet;
  bool operator==(const CollectiveCurve&) const = default;
};

struct Profile {
  std::string name;
  std::string cluster;
  Runtime runtime = Runtime::megatron;
  std::string provenance;  // where and when the constants were obtained
  std::array<EfficiencyCurve, kKernelClasses> kernels{};
  // [tier][collective]; a tier beyond the last entry uses the last.
  std::vector<std::array<CollectiveCurve, kCollectives>> collectives;
  Seconds host_per_op;     // host time per launched op; the step is host-bound below it
  Seconds step_overhead;   // once per step: data, logging
  double sustained_clock = 1.0;  // sustained over burst compute rate
  // Localhost: slow-down of every op when `ranks` threads share the cores is ranks/cores times this.
  double sharing_penalty = 1.0;
  double relative_band = 0.3;    // half-width of the printed prediction band
  std::string created;           // ISO 8601, "2026-11-21": the newest of several profiles is used
  bool operator==(const Profile&) const = default;

  [[nodiscard]] const EfficiencyCurve& kernel(KernelClass c) const {
    return kernels[static_cast<std::size_t>(c)];
  }
  [[nodiscard]] const CollectiveCurve& collective(std::size_t tier, Collective c) const {
    const auto& row = collectives[tier < collectives.size() ? tier : collectives.size() - 1];
    return row[static_cast<std::size_t>(c)];
  }
};

// Datasheet-class profile: fixed efficiencies and a wide band, for a cluster without measurements.
[[nodiscard]] Profile datasheet_profile(const std::string& cluster, std::size_t tiers, Runtime);

[[nodiscard]] Profile read_profile(const std::string& text, const std::string& file_name);
[[nodiscard]] std::string write_profile(const Profile&);

}  // namespace pleat
