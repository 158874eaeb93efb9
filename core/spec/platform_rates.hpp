// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Measured laws and rates of one platform's kernels that no efficiency curve fits: matrix products,
// attention by sequence length, exchange of expert tokens by ranks (docs/MODEL.md sections 6 and
// 7).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "core/spec/kernel_tables.hpp"

namespace pleat {

// The law of a matrix product on a GPU, by arithmetic (docs/MODEL.md section 7.1):
//   t = (t0 + (tc^4 + tm^4)^(1/4)) exp(c)
//   tc = min over tiles (a, b) of waves 2 a b (k + depth) (largest / (a b))^tile_exponent
//        / (rate / SMs)
//   waves = wave ceil(w) + (1 - wave) max(1, w),  w = ceil(m / a) ceil(n / b) / SMs
//   tm = bytes / bandwidth;  c from a table of measured corrections (kernel_tables.hpp), if any

// fp8: one scale a tensor; fp8_block: 1x128 and 128x128 blocks.
enum class GemmMath : std::uint8_t { bf16, fp8, fp8_block, mxfp8, nvfp4 };
inline constexpr std::size_t kGemmMaths = 5;

struct GemmTile {
  int m = 128, n = 128;
  bool operator==(const GemmTile&) const = default;
};

struct GemmLaw {
  FlopsPerSecond rate;       // of all SMs; 0: this GPU has no law for the arithmetic
  double depth = 0;          // of k, for filling and draining the pipeline of one tile
  Seconds fixed;             // t0
  BytesPerSecond bandwidth;  // as a matrix product sees it
  double tile_exponent = 0;  // loss of smaller tiles
  double wave = 1;           // share of a partly filled wave that is paid
  SourceClass source = SourceClass::datasheet;
  std::string table;         // file of corrections beside the profile; empty: none
  Shared<GemmTable> corrections;
  bool operator==(const GemmLaw&) const = default;
};

// Grouped products: tiles summed over the local experts, each with a launch of its own.
struct GroupedLaw {
  Seconds forward_per_expert, backward_per_expert, wgrad_per_expert;
  double wgrad_rate = 1;  // of the law's: weight gradients that add to what is there
  int row_multiple = 16;  // rows of an expert are padded to it
  double rate = 1, narrow_rate = 1;  // of the law's, by a grouped kernel; in bf16 and narrower
  bool operator==(const GroupedLaw&) const = default;
};

struct GemmLaws {
  std::vector<GemmTile> tiles;  // the first is the largest
  std::array<GemmLaw, kGemmMaths> by_math{};
  GroupedLaw grouped;
  bool operator==(const GemmLaws&) const = default;

  // The law used for `math`: its own, else of the next arithmetic the GPU has; nullptr without any.
  [[nodiscard]] const GemmLaw* find(GemmMath math) const;
};

// gqa: query and value heads of one size; mla: larger query heads (192 and 128).
enum class AttentionLayout : std::uint8_t { gqa, mla };
enum class AttentionMath : std::uint8_t { bf16, fp8, mxfp8 };

// Rate of causal attention on its counted flops, by sequence length, at full occupancy.
struct AttentionRate {
  std::vector<double> log_seq;  // ascending; empty: not measured
  std::vector<double> rate;     // FLOP/s
  SourceClass source = SourceClass::datasheet;
  bool operator==(const AttentionRate&) const = default;
  [[nodiscard]] bool empty() const { return log_seq.empty(); }
};

// [gqa, mla][bf16, fp8, mxfp8][forward, backward]
using AttentionRates = std::array<std::array<std::array<AttentionRate, 2>, 3>, 2>;

enum class DispatchKernel : std::uint8_t { deepep, hybridep };

// Logical rate of one exchange kernel: bytes of every distinct destination, the own one included.
// tier 0: destinations are ranks of one NVLink domain; 1: nodes, forwarded inside each.
struct DispatchRate {
  DispatchKernel kernel = DispatchKernel::deepep;
  int tier = 0;
  int ranks = 8;
  int sms = 24;
  BytesPerSecond dispatch, combine;
  SourceClass source = SourceClass::measured;
  bool operator==(const DispatchRate&) const = default;
};

}  // namespace pleat
