// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A profile: how fast one platform runs the kernels and collectives of one runtime. Fitted by
// `pleat calibrate` or from published tables; read by the simulator. Nothing here is a datasheet
// value.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "core/spec/cluster.hpp"
#include "core/spec/kernel_tables.hpp"
#include "core/spec/learned.hpp"
#include "core/spec/platform_rates.hpp"
#include "core/spec/run_constants.hpp"

namespace pleat {

enum class Runtime { pleat, megatron };

// Kernel families priced with one efficiency curve each. From memory_bound on nothing but bytes
// counts; the families differ in the rate they reach: plain copies and sums, norms and other row
// reductions, exp-heavy activations, the loss head, top-k routing and its counts, row gathers and
// scatters, conversion to a narrow type, the optimizer; rotary embedding, norms of single heads,
// passes over a step's whole state (zero, norm, copy), and where arithmetic has one type only, its
// conversions from and to bf16 and from narrow codes; the gradient of top-k routing; rows that
// tokens pick from a table, and their gradients.
enum class KernelClass : std::uint8_t {
  gemm, grouped_gemm, attention_fwd, attention_bwd, memory_bound,
  norm, activation, loss, router, permute, quantize, optimizer,
  rope, head_norm, sweep, convert, dequantize, router_bwd, embedding
};
inline constexpr std::size_t kKernelClasses = 19;
// A class that a profile does not have is priced as this one.
[[nodiscard]] constexpr KernelClass stand_in(KernelClass c) {
  const bool reduces_rows = c == KernelClass::head_norm || c == KernelClass::router_bwd;
  return reduces_rows ? KernelClass::norm : KernelClass::memory_bound;
}
// The first class that is bound by memory alone.
[[nodiscard]] constexpr bool counts_flops(KernelClass c) { return c < KernelClass::memory_bound; }

// time = fixed + max(flops / (peak * e), bytes / (bandwidth * b)), where the efficiency e rises
// with the work: e(flops) = max_efficiency * flops / (flops + half_work)   (docs/MODEL.md section
// 7).
struct EfficiencyCurve {
  double max_efficiency = 1.0;    // of peak, at large work
  Flops half_work;                // work at which half of it is reached
  double memory_efficiency = 1.0; // of memory bandwidth
  Seconds fixed;                  // per kernel
  // Ranks that share cores: work of one kernel while all cores run it, over its work alone. 0: the
  // profile's sharing_penalty where ranks outnumber the cores.
  double contention = 0;
  SourceClass source = SourceClass::datasheet;
  bool operator==(const EfficiencyCurve&) const = default;
};

enum class Collective : std::uint8_t {
  all_gather, reduce_scatter, all_reduce, all_to_all, send_recv
};
inline constexpr std::size_t kCollectives = 5;

// time = latency + latency_per_rank (n-1)
//        + wire_bytes / (efficiency * tier bandwidth) (1 + sqrt(slow_start / whole_bytes))
struct CollectiveCurve {
  Seconds latency;
  Seconds latency_per_rank;
  double efficiency = 1.0;
  Bytes slow_start{};     // S0: whole tensors of this size reach half of the rate
  Bytes small_message{};  // all-to-all: a message of x bytes a peer gets x / (x + this) of the rate
  SourceClass source = SourceClass::datasheet;
  bool operator==(const CollectiveCurve&) const = default;
};

struct Profile : RunConstants {
  std::string name;
  std::string cluster;
  Runtime runtime = Runtime::megatron;
  std::string provenance;  // where and when the constants were obtained
  std::array<EfficiencyCurve, kKernelClasses> kernels{};
  // [tier][collective]; a tier beyond the last entry uses the last.
  std::vector<std::array<CollectiveCurve, kCollectives>> collectives;
  // Where there are measurements of this kind, they come before the curves above.
  GemmLaws gemm;
  AttentionRates attention{};
  std::vector<DispatchRate> dispatch;
  std::string collective_table;  // file of times within tier 0 beside the profile; empty: none
  Shared<CollectiveTable> collective_times;
  // Localhost: slow-down of every op when `ranks` threads share the cores is ranks/cores times
  // this.
  double sharing_penalty = 1.0;
  double relative_band = 0.3;    // half-width of the printed prediction band
  // What a process holds of a GPU before any tensor: context, libraries, loaded kernels. 0: not
  // measured.
  Bytes device_context{};
  std::string created;           // ISO 8601, "2026-11-21": the newest of several profiles is used
  std::vector<Era> eras;
  Shared<Learned> learned;       // what runs of this cluster taught it; empty: nothing
  // The cluster it was measured on where that is another one, with the same GPU. In no file.
  std::string borrowed_from;
  bool operator==(const Profile&) const = default;

  [[nodiscard]] const EfficiencyCurve& kernel(KernelClass c) const {
    return kernels[static_cast<std::size_t>(c)];
  }
  [[nodiscard]] const CollectiveCurve& collective(std::size_t tier, Collective c) const {
    const auto& row = collectives[tier < collectives.size() ? tier : collectives.size() - 1];
    return row[static_cast<std::size_t>(c)];
  }
};

// Half-width of the band of a prediction from datasheets alone. Of the 594 published runs of tiers
// A to C 96 of 100 lie within (docs/validation-notes.md).
inline constexpr double kDatasheetBand = 0.5;

// Datasheet-class profile: fixed efficiencies and a wide band, for a cluster without measurements.
[[nodiscard]] Profile datasheet_profile(const std::string& cluster, std::size_t tiers, Runtime);
// The same with what is known of the GPU beside its datasheet: the rates that products were seen to
// reach, and its own band.
[[nodiscard]] Profile datasheet_profile(const ClusterSpec&, Runtime);

// The profile with the constants of one of its eras; as it is when it has none of that name.
[[nodiscard]] Profile for_era(const Profile&, const std::string& era);

// The tables it names stay unread.
[[nodiscard]] Profile read_profile(const std::string& text, const std::string& file_name);
[[nodiscard]] std::string write_profile(const Profile&);
// Reads the tables that the profile names, relative to the folder of its file.
void load_tables(Profile&, const std::string& profile_path);

// What profiles, tables, samples and the command line call collectives.

// In the order of the enum.
inline constexpr std::array<const char*, kCollectives> kCollectiveNames{
    "all_gather", "reduce_scatter", "all_reduce", "all_to_all", "send_recv"};

[[nodiscard]] constexpr const char* name_of(Collective c) {
  return kCollectiveNames[static_cast<std::size_t>(c)];
}

}  // namespace pleat
