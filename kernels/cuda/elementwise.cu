// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Sums of matrices, GELU, and copies and sums of column blocks. Bound: memory.
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/math.cuh"

namespace pleat {
namespace {

using namespace cuda;

template <class T>
struct Add {
  Vec<T> a, b, c, y;
  bool three;
  __device__ void operator()(std::int64_t at, std::int64_t count) const {
    float sum[kPack], more[kPack];
    a.load(at, count, sum);
    b.load(at, count, more);
#pragma unroll
    for (int i = 0; i < kPack; ++i) sum[i] += more[i];
    if (three) {
      c.load(at, count, more);
#pragma unroll
      for (int i = 0; i < kPack; ++i) sum[i] += more[i];
    }
    y.store(sum, at, count);
  }
};

template <class T>
struct GeluOf {
  Vec<T> u, y;
  __device__ void operator()(std::int64_t at, std::int64_t count) const {
    float v[kPack];
    u.load(at, count, v);
#pragma unroll
    for (int i = 0; i < kPack; ++i) v[i] = Gelu(v[i]).value;
    y.store(v, at, count);
  }
};

template <class T>
struct GeluGradient {
  Vec<T> dy, u, du;
  __device__ void operator()(std::int64_t at, std::int64_t count) const {
    float d[kPack], v[kPack];
    dy.load(at, count, d);
    u.load(at, count, v);
#pragma unroll
    for (int i = 0; i < kPack; ++i) d[i] *= Gelu(v[i]).slope;
    du.store(d, at, count);
  }
};

}  // namespace

void CudaKernels::add(View a, View b, View c, View y) {
  const std::int64_t n = y.elements();
  PLEAT_ASSERT(a.elements() == n && b.elements() == n);
  PLEAT_ASSERT(c.data == nullptr || c.elements() == n);
  by_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    const bool three = c.data != nullptr;
    for_packs(*resources_, n,
              Add<T>{vec<T>(a), vec<T>(b), three ? vec<T>(c) : Vec<T>{}, vec<T>(y), three});
  }, a, b, c, y);
}

void CudaKernels::gelu(View u, View y) {
  PLEAT_ASSERT(u.elements() == y.elements());
  by_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    for_packs(*resources_, u.elements(), GeluOf<T>{vec<T>(u), vec<T>(y)});
  }, u, y);
}

void CudaKernels::gelu_bwd(View dy, View u, View du) {
  PLEAT_ASSERT(u.elements() == dy.elements() && u.elements() == du.elements());
  by_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    for_packs(*resources_, u.elements(), GeluGradient<T>{vec<T>(dy), vec<T>(u), vec<T>(du)});
  }, dy, u, du);
}

void CudaKernels::concat_columns(View a, View b, View y) {
  PLEAT_ASSERT(a.rows == y.rows && b.rows == y.rows && a.cols + b.cols == y.cols);
  copy_columns(a, y, {.width = a.cols});
  copy_columns(b, y, {.width = b.cols, .to_first = a.cols});
}

void CudaKernels::concat_columns_bwd(View dy, View da, View db) {
  PLEAT_ASSERT(da.rows == dy.rows && db.rows == dy.rows && da.cols + db.cols == dy.cols);
  copy_columns(dy, da, {.width = da.cols});
  copy_columns(dy, db, {.width = db.cols, .from_first = da.cols});
}

// Copies and sums of column blocks. Bound: memory.

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
