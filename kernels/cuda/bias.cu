// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Vectors and tables added to rows, and their gradients: sums over rows in two stages.
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/narrow_products.hpp"
#include "kernels/cuda/partial_sums.hpp"

namespace pleat {
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

// Sums of rows chunk, chunk + chunks, … "Rows" are the chunks.
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

}  // namespace pleat
