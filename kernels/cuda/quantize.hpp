// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Steps of quantising that have files of their own.
#pragma once

#include "kernels/cuda/block_scales.hpp"

namespace pleat::cuda {

// What is quantised: x as it is stored, or y = x * factors[row] * w, or SwiGLU of x's two halves
// times factors[row] (null: 1). y is not there, but its type and shape are those of the numbers.
struct RowSource {
  enum class Kind : std::uint8_t { stored, norm, swiglu };
  Kind kind = Kind::stored;
  View x, y, w = {};
  const float* factors = nullptr;
  [[nodiscard]] std::int64_t rows() const { return y.rows; }
  [[nodiscard]] std::int64_t cols() const { return y.cols; }
  [[nodiscard]] std::int64_t elements() const { return y.elements(); }
};
[[nodiscard]] inline RowSource stored(View x) { return {.x = x, .y = x}; }

// The largest |x| of every block, as the bits of a float; NaN is ignored. `from` is [rows, cols].
// The block of (row, col) is block_of_row[row] * blocks_in_row + col / block_cols; there are
// `blocks` of them, and `to` is cleared first. `limit`: in device memory, the number of rows that
// exist if that is below from.rows, or null.
struct BlockMaxima {
  const std::int32_t* block_of_row = nullptr;
  std::int64_t block_cols = 1, blocks_in_row = 1, blocks = 0;
  const std::int32_t* limit = nullptr;
  std::uint32_t* to = nullptr;
};
void block_maxima(const Resources&, const RowSource& from, const BlockMaxima&);

// Quantises in one pass over x. For blocks within a row, or of 16, 32 or 128 rows of a column,
// whose scale follows from their own maximum. False if the shape does not allow it; nothing was
// done then.
[[nodiscard]] bool quantize_blocks(const Resources&, const RowSource& x, View y, const BlockTable&,
                                   const Quantization&);

// Quantises with one scale a group: to `codes`, and to `second` if it is not null. False if the
// kind or the shape does not allow it; nothing was done then.
[[nodiscard]] bool quantize_groups(Resources&, const RowSource& x, const BlockTable&,
                                   const Quantization&, std::uint8_t* codes, std::uint8_t* second);

// KernelSet::quantize of any source, to y and to its like, if that has data: 8 bits, nothing
// random. They share their scales then.
void quantize_rows(Resources&, RowSource x, View counts, View y, const Quantization&,
                   View like = {});

// to[rows, cols] fp32 = x, where every 16 rows of a group, and the rows left at its end, are
// multiplied by signs and a Hadamard matrix. first: [groups + 1] rows at which the groups begin.
void hadamard(const Resources&, const RowSource& x, const std::int32_t* first, std::int64_t groups,
              float* to);

// The values of a quantised matrix, in fp32 or bf16. Without `scaled`: of the codes alone.
void dequantize(const Resources&, View from, View to, bool scaled = true);

}  // namespace pleat::cuda
