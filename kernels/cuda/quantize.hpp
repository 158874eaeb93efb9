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

// Largest |x| of every block, as the bits of a float, NaN passed over. `from` is [rows, cols] with
// blocks of block_cols columns; to[block_of_row[row] * blocks_in_row + …], cleared first, `blocks`
// of them. `limit`: rows there are, where fewer than from.rows; in device memory, or null.
struct BlockMaxima {
  const std::int32_t* block_of_row = nullptr;
  std::int64_t block_cols = 1, blocks_in_row = 1, blocks = 0;
  const std::int32_t* limit = nullptr;
  std::uint32_t* to = nullptr;
};
void block_maxima(const Resources&, const RowSource& from, const BlockMaxima&);

// One pass over x for blocks within a row, or of 16, 32 or 128 rows of a column, that need no more
// than their own amax. False where the shape does not allow it: nothing was done.
[[nodiscard]] bool quantize_blocks(const Resources&, const RowSource& x, View y, const BlockTable&,
                                   const Quantization&);

// KernelSet::quantize of any source.
void quantize_rows(Resources&, RowSource x, View counts, View y, const Quantization&);

// to[rows, cols] fp32 = x with every 16 rows of a group, and what is left of it, multiplied by
// signs and a Hadamard matrix. first: [groups + 1] rows at which the groups begin.
void hadamard(const Resources&, const RowSource& x, const std::int32_t* first, std::int64_t groups,
              float* to);

// What a quantised matrix' codes stand for, in fp32 or bf16; not `scaled`: the codes' own numbers.
void dequantize(const Resources&, View from, View to, bool scaled = true);

}  // namespace pleat::cuda
