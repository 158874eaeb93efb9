// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Copies and sums of column blocks. Bound: memory.
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"

namespace pleat {
namespace {

using namespace cuda;

// "Rows" are the blocks of all rows.
template <class T>
struct CopyBlocks {
  Vec<T> from, to;
  std::int64_t from_cols, to_cols;
  ColumnBlocks c;
  __device__ void operator()(std::int64_t row, std::int64_t col, std::int64_t count) const {
    std::int64_t r, block;
    split(row, c.blocks, r, block);
    float v[kPack];
    from.load(r * from_cols + c.from_first + block * c.from_stride + col, count, v);
    to.store(v, r * to_cols + c.to_first + block * c.to_stride + col, count);
  }
};

// A thread adds all blocks of its columns, ascending, for blocks may lie on each other.
template <class T>
struct AddBlocks {
  Vec<T> from, to;
  std::int64_t from_cols, to_cols;
  ColumnBlocks c;
  __device__ void operator()(std::int64_t row, std::int64_t col, std::int64_t count) const {
    float sum[kPack], more[kPack];
    for (std::int64_t block = 0; block < c.blocks; ++block) {
      const std::int64_t at = row * to_cols + c.to_first + block * c.to_stride + col;
      if (block == 0 || c.to_stride != 0) to.load(at, count, sum);
      from.load(row * from_cols + c.from_first + block * c.from_stride + col, count, more);
#pragma unroll
      for (int i = 0; i < kPack; ++i) sum[i] += more[i];
      if (block + 1 == c.blocks || c.to_stride != 0) to.store(sum, at, count);
    }
  }
};

}  // namespace

void CudaKernels::copy_columns(View from, View to, const ColumnBlocks& c) {
  PLEAT_ASSERT(from.rows == to.rows && c.blocks > 0);
  // Blocks that overlap in part would race.
  PLEAT_ASSERT(c.blocks == 1 || c.to_stride >= c.width || (c.add && c.to_stride == 0));
  by_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    const Vec<T> x = vec<T>(from, from.cols, c.from_first, c.from_stride);
    const Vec<T> y = vec<T>(to, to.cols, c.to_first, c.to_stride);
    if (c.add) {
      for_row_packs(*resources_, from.rows, c.width,
                    AddBlocks<T>{x, y, from.cols, to.cols, c});
    } else {
      for_row_packs(*resources_, from.rows * c.blocks, c.width,
                    CopyBlocks<T>{x, y, from.cols, to.cols, c});
    }
  }, from, to);
}

}  // namespace pleat
