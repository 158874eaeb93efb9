// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Measured rates of kernels that no efficiency curve fits: attention by sequence length, exchange of
// expert tokens by ranks (docs/MODEL.md sections 6 and 7.2).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/quantity.hpp"
#include "core/spec/source_class.hpp"

namespace pleat {

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
