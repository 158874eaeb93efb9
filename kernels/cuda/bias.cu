// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Biases: vectors and tables added to rows, and biases of grouped products.
#include "kernels/cuda/block_scales.hpp"
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/narrow_products.hpp"
#include "kernels/cuda/partial_sums.hpp"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/tile_scheduler.cuh"

namespace pleat {

// Vectors and tables added to rows, and their gradients: sums over rows in two stages.

namespace {

using namespace cuda;

// y[r] += scale * w[r % period]
struct AddRows {
  Vec<AnyType> w, y;
  std::int64_t period, cols;
  float scale;
  __device__ void operator()(std::int64_t row, std::int64_t col, std::int64_t count) const {
    float v[kPack], more[kPack];
    y.load(row * cols + col, count, v);
    w.load(row % period * cols + col, count, more);
#pragma unroll
    for (int i = 0; i < kPack; ++i) v[i] = fmaf(scale, more[i], v[i]);
    y.store(v, row * cols + col, count);
  }
};

// Chunk c adds up the rows c, c + chunks, c + 2 chunks and so on. A "row" of the result is a chunk.
struct SumRows {
  Vec<AnyType> dy;
  float* partial;  // [chunks, cols]
  std::int64_t rows, cols, chunks;
  __device__ void operator()(std::int64_t chunk, std::int64_t col, std::int64_t count) const {
    float sum[kPack] = {}, v[kPack];
    for (std::int64_t row = chunk; row < rows; row += chunks) {
      dy.load(row * cols + col, count, v);
#pragma unroll
      for (int i = 0; i < kPack; ++i) sum[i] += v[i];
    }
    for (int i = 0; i < kPack && i < count; ++i) partial[chunk * cols + col + i] = sum[i];
  }
};

// dw[p] += scale * sum over rows r with r % seq == p of dx[r], ascending.
struct SumPositions {
  Vec<AnyType> dx, dw;
  std::int64_t rows, seq, cols;
  float scale;
  __device__ void operator()(std::int64_t position, std::int64_t col, std::int64_t count) const {
    float sum[kPack], v[kPack];
    dw.load(position * cols + col, count, sum);
    for (std::int64_t row = position; row < rows; row += seq) {
      dx.load(row * cols + col, count, v);
#pragma unroll
      for (int i = 0; i < kPack; ++i) sum[i] = fmaf(scale, v[i], sum[i]);
    }
    dw.store(sum, position * cols + col, count);
  }
};

}  // namespace

void CudaKernels::add_bias(View b, double scale, View y) {
  PLEAT_ASSERT(b.elements() == y.cols);
  for_row_packs(*resources_, y.rows, y.cols,
                AddRows{vec<AnyType>(b), vec<AnyType>(y, y.cols), 1, y.cols,
                        static_cast<float>(scale)});
}

void CudaKernels::add_bias_bwd(View dy, double scale, View db) {
  if (dy.scales != nullptr) dy = widened(*resources_, dy, {}).first;
  PLEAT_ASSERT(db.elements() == dy.cols);
  if (dy.elements() == 0) return;
  const std::int64_t packs = ceil_div(dy.cols, kPack);
  const std::int64_t threads = std::int64_t{2048} * resources_->multiprocessors();
  const std::int64_t chunks = std::clamp<std::int64_t>(threads / packs, 1, dy.rows);
  Scratch scratch(*resources_, Scratch::bytes<float>(chunks * dy.cols));
  float* partial = scratch.take<float>(chunks * dy.cols);
  for_row_packs(*resources_, chunks, dy.cols,
                SumRows{vec<AnyType>(dy, dy.cols), partial, dy.rows, dy.cols, chunks});
  add_partial_sums(*resources_, partial, chunks, dy.cols, scale, true, db);
}

void CudaKernels::add_positions(View w, std::int64_t seq, double scale, View x) {
  PLEAT_ASSERT(w.cols == x.cols && seq > 0 && seq <= w.rows);
  for_row_packs(*resources_, x.rows, x.cols,
                AddRows{vec<AnyType>(w, x.cols), vec<AnyType>(x, x.cols), seq, x.cols,
                        static_cast<float>(scale)});
}

void CudaKernels::add_positions_bwd(View dx, std::int64_t seq, double scale, View dw) {
  PLEAT_ASSERT(dw.cols == dx.cols && seq > 0 && seq <= dw.rows);
  for_row_packs(*resources_, std::min(seq, dx.rows), dx.cols,
                SumPositions{vec<AnyType>(dx, dx.cols), vec<AnyType>(dw, dx.cols), dx.rows, seq,
                             dx.cols, static_cast<float>(scale)});
}

// Biases of grouped products: a row of b for each group of rows, weighted by a probability a row.

namespace {

using namespace cuda;

struct Groups {
  const std::int32_t* first;  // [groups + 1] rows at which they begin
  std::int64_t count;
  const float* p;  // none: 1
  [[nodiscard]] __device__ std::int64_t of(std::int64_t row) const {
    return group_of_row(first, count, row);
  }
  [[nodiscard]] __device__ float weight(std::int64_t row) const {
    return p == nullptr ? 1.0f : p[row];
  }
};

// y[r] += scale * p[r] * b[group of r]
struct AddGroupRows {
  Vec<AnyType> b, y;
  Groups groups;
  std::int64_t cols;
  float scale;
  __device__ void operator()(std::int64_t row, std::int64_t col, std::int64_t count) const {
    float v[kPack], more[kPack];
    const float factor = scale * groups.weight(row);
    y.load(row * cols + col, count, v);
    b.load(groups.of(row) * cols + col, count, more);
#pragma unroll
    for (int i = 0; i < kPack; ++i) v[i] = fmaf(factor, more[i], v[i]);
    y.store(v, row * cols + col, count);
  }
};

// Chunk c of a group adds up the group's rows c, c + chunks, c + 2 chunks and so on. A "row" of the
// result is a chunk of a group.
struct SumGroupRows {
  Vec<AnyType> dy;
  Groups groups;
  float* partial;  // [chunks, groups, cols]
  std::int64_t cols, chunks;
  __device__ void operator()(std::int64_t part, std::int64_t col, std::int64_t count) const {
    std::int64_t chunk, group;
    split(part, groups.count, chunk, group);
    float sum[kPack] = {}, v[kPack];
    const std::int64_t end = groups.first[group + 1];
    for (std::int64_t row = groups.first[group] + chunk; row < end; row += chunks) {
      const float weight = groups.weight(row);
      dy.load(row * cols + col, count, v);
#pragma unroll
      for (int i = 0; i < kPack; ++i) sum[i] = fmaf(weight, v[i], sum[i]);
    }
    for (int i = 0; i < kPack && i < count; ++i) partial[part * cols + col + i] = sum[i];
  }
};

// dp[r] = scale * dy[r]·b[group of r], a warp a row.
struct GroupProbs {
  Vec<AnyType> dy, b;
  Groups groups;
  float* dp;
  std::int64_t cols;
  float scale;
  __device__ void operator()(std::int64_t row, int lane) const {
    const std::int64_t group = groups.of(row);
    float sum = 0;
    for (std::int64_t col = lane * kPack; col < cols; col += kWarp * kPack) {
      float d[kPack], v[kPack];
      dy.load(row * cols + col, cols - col, d);
      b.load(group * cols + col, cols - col, v);
#pragma unroll
      for (int i = 0; i < kPack; ++i) sum = fmaf(d[i], v[i], sum);
    }
    sum = warp_sum(sum);
    if (lane == 0) dp[row] = scale * sum;
  }
};

void check(View b, View counts, View p, View y) {
  PLEAT_ASSERT(counts.elements() > 0 && b.elements() == counts.elements() * y.cols);
  PLEAT_ASSERT(p.data == nullptr || (p.dtype == DType::fp32 && p.elements() == y.rows));
}

Groups groups_of(const Resources& r, Scratch& scratch, View counts, std::int64_t rows, View p) {
  auto* const first = scratch.take<std::int32_t>(counts.elements() + 1);
  first_rows(r, counts, rows, first);
  return {first, counts.elements(), p.f32()};
}
std::size_t bytes_of_groups(View counts) {
  return Scratch::bytes<std::int32_t>(counts.elements() + 1);
}

}  // namespace

void CudaKernels::grouped_bias(View b, View counts, View p, double scale, View y) {
  check(b, counts, p, y);
  if (y.elements() == 0) return;
  Scratch scratch(*resources_, bytes_of_groups(counts));
  const Groups groups = groups_of(*resources_, scratch, counts, y.rows, p);
  for_row_packs(*resources_, y.rows, y.cols,
                AddGroupRows{vec<AnyType>(b, y.cols), vec<AnyType>(y, y.cols), groups, y.cols,
                             static_cast<float>(scale)});
}

void CudaKernels::grouped_bias_bwd(View dy, View counts, View p, View db) {
  if (dy.scales != nullptr) dy = widened(*resources_, dy, {}).first;
  check(db, counts, p, dy);
  if (dy.elements() == 0) return;
  const std::int64_t all = counts.elements(), packs = ceil_div(dy.cols, kPack);
  const std::int64_t threads = std::int64_t{2048} * resources_->multiprocessors();
  const std::int64_t chunks =
      std::clamp<std::int64_t>(threads / (packs * all), 1, ceil_div(dy.rows, all));
  Scratch scratch(*resources_,
                  bytes_of_groups(counts) + Scratch::bytes<float>(chunks * all * dy.cols));
  const Groups groups = groups_of(*resources_, scratch, counts, dy.rows, p);
  float* partial = scratch.take<float>(chunks * all * dy.cols);
  for_row_packs(*resources_, chunks * all, dy.cols,
                SumGroupRows{vec<AnyType>(dy, dy.cols), groups, partial, dy.cols, chunks});
  add_partial_sums(*resources_, partial, chunks, all * dy.cols, 1, true, db);
}

void CudaKernels::grouped_bias_probs(View dy, View b, View counts, double scale, View dp) {
  if (dy.scales != nullptr) dy = widened(*resources_, dy, {}).first;
  check(b, counts, dp, dy);
  PLEAT_ASSERT(dp.data != nullptr || dy.rows == 0);
  if (dy.rows == 0) return;
  Scratch scratch(*resources_, bytes_of_groups(counts));
  const Groups groups = groups_of(*resources_, scratch, counts, dy.rows, {});
  for_rows<kWarp>(*resources_, dy.rows,
                  GroupProbs{vec<AnyType>(dy, dy.cols), vec<AnyType>(b, dy.cols), groups, dp.f32(),
                             dy.cols, static_cast<float>(scale)});
}

}  // namespace pleat
