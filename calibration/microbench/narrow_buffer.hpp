// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Codes of a buffer for products in narrow types, and how they are made.
#pragma once

#include <memory>

#include "calibration/microbench/bench.hpp"

namespace pleat {

inline constexpr Quantization kTensorCodes{};
inline constexpr Quantization kRowCodes{
    .rule = ScaleRule::power_of_two, .block_rows = 1, .block_cols = 128};
inline constexpr Quantization kMicroCodes{
    .rule = ScaleRule::e8m0, .block_rows = 1, .block_cols = 32};

// Codes with scales of their own, a byte a code.
struct NarrowBuffer {
  Buffer codes;
  DType type;
  std::shared_ptr<BlockScales> scales = std::make_shared<BlockScales>();
  NarrowBuffer(Bench& bench, const Buffer& x, View counts, const Quantization& q,
               DType of_codes = DType::fp8)
      : codes(bench, x.view().rows, x.view().cols, 0, DType::fp8), type(of_codes) {
    bench.kernels().quantize(x.view(), counts, view(), q);
  }
  [[nodiscard]] View view() const {
    View v = codes.view();
    v.dtype = type;
    v.scales = scales.get();
    return v;
  }
};

}  // namespace pleat
