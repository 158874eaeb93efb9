// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Recipes of fp8, and matrices of codes on the GPU.
#pragma once

#include <deque>

#include "kernels/quantized.hpp"
#include "tests/benchmarks/gpu/bench.hpp"

namespace pleat::bench {

inline constexpr Quantization kTensor{}, kGradient{.format = SmallFloat::e5m2};
inline constexpr Quantization kRows{
    .rule = ScaleRule::power_of_two, .block_rows = 1, .block_cols = 128};
inline constexpr Quantization kColumns{
    .rule = ScaleRule::power_of_two, .block_rows = 128, .block_cols = 1};
inline constexpr Quantization kSquares{
    .rule = ScaleRule::power_of_two, .block_rows = 128, .block_cols = 128};
inline constexpr Quantization kMicroRows{
    .rule = ScaleRule::e8m0, .block_rows = 1, .block_cols = 32};
inline constexpr Quantization kMicroColumns{
    .rule = ScaleRule::e8m0, .block_rows = 32, .block_cols = 1};

// Codes of random normals; scales live as long as this.
class Codes {
 public:
  explicit Codes(Bench& b) : b_(b) {}
  View of(std::int64_t rows, std::int64_t cols, const Quantization& q, View counts = {}) {
    const View x = b_.random(DType::bf16, rows, cols);
    View y = b_.random(DType::bf16, rows, cols / 2);  // memory for the codes
    y = {y.data, DType::fp8, rows, cols, &scales_.emplace_back()};
    b_.kernels().quantize(x, counts, y, q);
    return y;
  }

 private:
  Bench& b_;
  std::deque<BlockScales> scales_;
};

}  // namespace pleat::bench
