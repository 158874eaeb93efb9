// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// With p = exp(scale q·k - lse) and delta = d_o·o of a row: dv = p^T d_o, ds = scale p (d_o v^T -
// delta), dq = ds k, dk = ds^T q.
#include "kernels/cuda/flash.hpp"
#include "kernels/cuda/flash_tiles.cuh"

namespace pleat::cuda {
namespace {

constexpr int kScoreLd = kFlashTile + 1;

// A warp a row and head.
__global__ void __launch_bounds__(kThreads) delta_kernel(FlashArguments f, std::int64_t rows) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * (kThreads / kWarp) +
                         threadIdx.x / kWarp;
  if (i >= rows * f.heads) return;
  const std::int64_t row = i / f.heads, head = i % f.heads;
  float sum = 0;
  for (int c = threadIdx.x % kWarp; c < f.o.width; c += kWarp) {
    sum = fmaf(f.d_o.x.get(f.d_o.at(row, head) + c), f.o.x.get(f.o.at(row, head) + c), sum);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % kWarp == 0) f.delta[i] = sum;
}

// Shared memory of both kernels.
struct Tiles {
  int width, ld, values, value_ld;
  float *q, *k, *d_o, *v, *p, *ds;
  __host__ __device__ explicit Tiles(const FlashArguments& f)
      : width(f.key_width()),
        ld(width + 1 - width % 2),
        values(f.v.width),
        value_ld(values + 1 - values % 2) {}
  __device__ Tiles(const FlashArguments& f, float* shared) : Tiles(f) {
    q = shared;
    k = q + kFlashTile * ld;
    d_o = k + kFlashTile * ld;
    v = d_o + kFlashTile * value_ld;
    p = v + kFlashTile * value_ld;
    ds = p + kFlashTile * kScoreLd;
  }
  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(kFlashTile * (2 * ld + 2 * value_ld + 2 * kScoreLd)) *
           sizeof(float);
  }
};

// p and ds of a tile of queries (`query` on) and keys (`key` on).
__device__ void score_gradients(const FlashArguments& f, const Tiles& t, const TileKeys& keys,
                                std::int64_t q_base, std::int64_t query, int key,
                                std::int64_t head) {
  const int tx = threadIdx.x % kSide, ty = threadIdx.x / kSide;
  float s[2][2], dp[2][2];
  row_products(t.q, t.k, t.ld, t.width, s);
  row_products(t.d_o, t.v, t.value_ld, t.values, dp);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int row = ty + i * kSide;
    const bool there = query + row < f.queries;
    const std::int64_t at = (q_base + query + row) * f.heads + head;
    const float lse = there ? f.lse[at] : 0.0f, delta = there ? f.delta[at] : 0.0f;
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int column = tx + j * kSide;
      const bool seen = key + column >= keys.of[row].x && key + column < keys.of[row].y;
      const float p = seen ? expf(s[i][j] * f.scale - lse) : 0.0f;
      t.p[row * kScoreLd + column] = p;
      t.ds[row * kScoreLd + column] = p * (dp[i][j] - delta) * f.scale;
    }
  }
}

__device__ void put(const FlashArguments& f, const FlashPart& to, std::int64_t at, float value) {
  to.x.set(at, f.add ? to.x.get(at) + value : value);
}

// Columns tx + 16 c of rows ty and ty + 16 of one part, which begins at column `first` of the sums;
// what was written becomes 0.
template <int kCols>
__device__ void flush(const FlashArguments& f, const FlashPart& to, int first, std::int64_t base,
                      std::int64_t row, std::int64_t rows, std::int64_t head,
                      float (&sum)[2][kCols]) {
  const int tx = threadIdx.x % kSide, ty = threadIdx.x / kSide;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const std::int64_t r = row + ty + i * kSide;
#pragma unroll
    for (int c = 0; c < kCols; ++c) {
      const int column = tx + kSide * c - first;
      if (column < 0 || column >= to.width) continue;
      if (r < rows) put(f, to, to.at(base + r, head) + column, sum[i][c]);
      sum[i][c] = 0;
    }
  }
}

template <int kCols>
__global__ void __launch_bounds__(kThreads) flash_dq_kernel(FlashArguments f) {
  auto* const shared = dynamic_shared<float>();
  __shared__ TileKeys keys;
  const Tiles t(f, shared);
  const std::int64_t head = blockIdx.y, sequence = blockIdx.z;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kFlashTile;
  const std::int64_t q_base = sequence * f.queries, k_base = sequence * f.keys;
  keys.fill(f, sequence, first);
  load_rows(f.q, q_base, first, f.queries, head, t.q, t.ld);
  load_rows(f.d_o, q_base, first, f.queries, head, t.d_o, t.value_ld);
  float dq[2][kCols] = {};
  for (int key = keys.begin; key < keys.end; key += kFlashTile) {
    __syncthreads();
    load_rows(f.k, k_base, key, f.keys, head, t.k, t.ld);
    load_rows(f.v, k_base, key, f.keys, head, t.v, t.value_ld);
    __syncthreads();
    score_gradients(f, t, keys, q_base, first, key, head);
    __syncthreads();
    add_products<kCols>([&](int row, int r) { return t.ds[row * kScoreLd + r]; }, t.k, t.ld,
                        t.width, dq);
  }
  flush<kCols>(f, f.dq[0], 0, q_base, first, f.queries, head, dq);
  if (f.dq[1].width > 0) {
    flush<kCols>(f, f.dq[1], f.dq[0].width, q_base, first, f.queries, head, dq);
  }
}

// A block has 32 keys of `run` heads, among them all that share a key or a value.
template <int kCols>
__global__ void __launch_bounds__(kThreads) flash_dkv_kernel(FlashArguments f) {
  auto* const shared = dynamic_shared<float>();
  __shared__ TileKeys keys;
  const Tiles t(f, shared);
  const std::int64_t sequence = blockIdx.z;
  const int key = static_cast<int>(blockIdx.x) * kFlashTile;
  const std::int64_t q_base = sequence * f.queries, k_base = sequence * f.keys;
  float dk[2][kCols] = {}, dv[2][kCols] = {};
  for (std::int64_t head = blockIdx.y * f.run; head < (blockIdx.y + 1) * f.run; ++head) {
    __syncthreads();
    load_rows(f.k, k_base, key, f.keys, head, t.k, t.ld);
    load_rows(f.v, k_base, key, f.keys, head, t.v, t.value_ld);
    // Without ranges, earlier queries see none of these keys.
    for (std::int64_t query = f.visible == nullptr ? key : 0; query < f.queries;
         query += kFlashTile) {
      keys.fill(f, sequence, query);
      if (keys.end <= key || keys.begin >= key + kFlashTile) continue;
      load_rows(f.q, q_base, query, f.queries, head, t.q, t.ld);
      load_rows(f.d_o, q_base, query, f.queries, head, t.d_o, t.value_ld);
      __syncthreads();
      score_gradients(f, t, keys, q_base, query, key, head);
      __syncthreads();
      add_products<kCols>([&](int row, int r) { return t.p[r * kScoreLd + row]; }, t.d_o,
                          t.value_ld, t.values, dv);
      add_products<kCols>([&](int row, int r) { return t.ds[r * kScoreLd + row]; }, t.q, t.ld,
                          t.width, dk);
    }
    if ((head + 1) % f.dk[0].share == 0) {
      flush<kCols>(f, f.dk[0], 0, k_base, key, f.keys, head, dk);
    }
    if (f.dk[1].width > 0 && (head + 1) % f.dk[1].share == 0) {
      flush<kCols>(f, f.dk[1], f.dk[0].width, k_base, key, f.keys, head, dk);
    }
    if ((head + 1) % f.dv.share == 0) flush<kCols>(f, f.dv, 0, k_base, key, f.keys, head, dv);
  }
}

}  // namespace

void flash_backward(Resources& r, const FlashProblem& p, HeadColumns d_o, HeadColumns o, View lse,
                    const FlashGradients& g) {
  const std::int64_t rows = p.q[0].x.rows;
  if ((rows == 0 && p.k[0].x.rows == 0) || p.heads == 0) return;
  r.device().make_current();
  Scratch scratch(r, visible_bytes(p) + Scratch::bytes<float>(rows * p.heads));
  FlashArguments f = flash_arguments(r, p, o, lse, scratch.take_bytes(visible_bytes(p)));
  f.delta = scratch.take<float>(rows * p.heads);
  f.d_o = flash_part(d_o);
  f.add = g.add;
  f.run = 1;
  for (int i = 0; i < 2; ++i) {
    f.dq[i] = flash_part(g.dq[i]);
    f.dk[i] = flash_part(g.dk[i]);
    PLEAT_ASSERT(f.dq[i].width == f.q[i].width && f.dk[i].width == f.k[i].width);
    // Columns without a stride are of all heads, whose sums one block has to add up.
    if (f.dk[i].stride == 0) f.dk[i].share = p.heads;
    if (f.dk[i].width > 0) f.run = std::max(f.run, f.dk[i].share);
  }
  f.dv = flash_part(g.dv);
  PLEAT_ASSERT(f.dv.width == f.v.width && f.d_o.width == f.v.width);
  f.run = std::max(f.run, f.dv.share);
  PLEAT_ASSERT(p.heads % f.run == 0 && f.run % f.dk[0].share == 0 && f.run % f.dv.share == 0);
  PLEAT_ASSERT(f.dk[1].width == 0 || f.run % f.dk[1].share == 0);
  const std::size_t shared = Tiles(f).bytes();
  const auto batch = static_cast<unsigned>(p.batch);
  if (rows > 0) {
    launch(r, delta_kernel, blocks_of(ceil_div(rows * p.heads, kThreads / kWarp)), kThreads, 0, f,
           rows);
  }
  by_width(std::max(f.key_width(), f.v.width), [&](auto cols) {
    constexpr int kCols = decltype(cols)::value;
    if (f.queries > 0) {
      launch(
          r, flash_dq_kernel<kCols>,
          dim3(blocks_of(ceil_div(f.queries, kFlashTile)), static_cast<unsigned>(p.heads), batch),
          kThreads, shared, f);
    }
    if (f.keys > 0) {
      launch(r, flash_dkv_kernel<kCols>,
             dim3(blocks_of(ceil_div(f.keys, kFlashTile)), static_cast<unsigned>(p.heads / f.run),
                  batch),
             kThreads, shared, f);
    }
  });
}

}  // namespace pleat::cuda
