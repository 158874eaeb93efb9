// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Tiles of 32 queries and 32 keys in shared memory, as 256 threads in 16 rows of 16 work on them: a
// thread has rows ty and ty + 16, and columns tx + 16 i.
#pragma once

#include "kernels/cuda/flash.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/vec.cuh"

namespace pleat::cuda {

inline constexpr int kFlashTile = 32, kSide = 16;

struct FlashPart {
  Vec<AnyType> x;
  std::int64_t ld = 0, first = 0, stride = 0, share = 1;
  int width = 0;
  __device__ std::int64_t at(std::int64_t row, std::int64_t head) const {
    return row * ld + first + head / share * stride;
  }
};

struct FlashArguments {
  FlashPart q[2], k[2], v, o, d_o, dq[2], dk[2], dv;
  float *lse, *delta;  // [rows, heads]
  const int2* visible;
  std::int64_t queries, keys, heads;
  float scale;
  bool resume, add;
  std::int64_t run;  // heads whose gradients of keys and values one block adds up
  [[nodiscard]] __host__ __device__ int key_width() const { return k[0].width + k[1].width; }
};

[[nodiscard]] inline FlashPart flash_part(const HeadColumns& c) {
  if (c.width == 0) return {};
  return {vec<AnyType>(c.x), c.x.cols, c.first, c.stride, c.share, static_cast<int>(c.width)};
}

// Rows [first, first + 32) of a head to shared memory, `ld` apart; rows from `end` on are 0.
__device__ inline void load_rows(const FlashPart& p, std::int64_t base, std::int64_t first,
                                 std::int64_t end, std::int64_t head, float* to, int ld) {
  for (int i = threadIdx.x; i < kFlashTile * p.width; i += kThreads) {
    const int r = i / p.width, c = i % p.width;
    to[r * ld + c] = first + r < end ? p.x.get(p.at(base + first + r, head) + c) : 0.0f;
  }
}
__device__ inline void load_rows(const FlashPart (&p)[2], std::int64_t base, std::int64_t first,
                                 std::int64_t end, std::int64_t head, float* to, int ld) {
  load_rows(p[0], base, first, end, head, to, ld);
  if (p[1].width > 0) load_rows(p[1], base, first, end, head, to + p[0].width, ld);
}

// out[i][j] = dot(a row ty + 16 i, b row tx + 16 j)
__device__ __forceinline__ void row_products(const float* a, const float* b, int ld, int width,
                                             float (&out)[2][2]) {
  const int tx = threadIdx.x % kSide, ty = threadIdx.x / kSide;
  const float *a0 = a + ty * ld, *a1 = a0 + kSide * ld, *b0 = b + tx * ld, *b1 = b0 + kSide * ld;
  out[0][0] = out[0][1] = out[1][0] = out[1][1] = 0;
  for (int c = 0; c < width; ++c) {
    const float x0 = a0[c], x1 = a1[c], y0 = b0[c], y1 = b1[c];
    out[0][0] = fmaf(x0, y0, out[0][0]);
    out[0][1] = fmaf(x0, y1, out[0][1]);
    out[1][0] = fmaf(x1, y0, out[1][0]);
    out[1][1] = fmaf(x1, y1, out[1][1]);
  }
}

// sum[i][c] += over r < 32 of p(ty + 16 i, r) x[r][tx + 16 c]
template <int kCols, class P>
__device__ __forceinline__ void add_products(P p, const float* x, int ld, int width,
                                             float (&sum)[2][kCols]) {
  const int tx = threadIdx.x % kSide, ty = threadIdx.x / kSide;
  for (int r = 0; r < kFlashTile; ++r) {
    const float p0 = p(ty, r), p1 = p(ty + kSide, r);
#pragma unroll
    for (int c = 0; c < kCols; ++c) {
      if (tx + kSide * c >= width) continue;
      const float value = x[r * ld + tx + kSide * c];
      sum[0][c] = fmaf(p0, value, sum[0][c]);
      sum[1][c] = fmaf(p1, value, sum[1][c]);
    }
  }
}

// The keys [x, y) that query `q` of a sequence sees.
__device__ inline int2 visible_keys(const FlashArguments& f, std::int64_t sequence,
                                    std::int64_t q) {
  if (q >= f.queries) return make_int2(0, 0);
  if (f.visible != nullptr) return f.visible[sequence * f.queries + q];
  return make_int2(0, static_cast<int>(q + 1 < f.keys ? q + 1 : f.keys));
}

// Those of the 32 queries of a tile, and all keys [begin, end) that one of them sees.
struct TileKeys {
  int2 of[kFlashTile];
  int begin, end;
  __device__ void fill(const FlashArguments& f, std::int64_t sequence, std::int64_t first) {
    __syncthreads();
    if (threadIdx.x < kFlashTile) {
      const int2 range = visible_keys(f, sequence, first + threadIdx.x);
      of[threadIdx.x] = range;
      const bool some = range.x < range.y;
      const int least = __reduce_min_sync(kAllLanes, some ? range.x : INT32_MAX);
      const int most = __reduce_max_sync(kAllLanes, some ? range.y : 0);
      if (threadIdx.x == 0) {
        begin = most == 0 ? 0 : least;
        end = most;
      }
    }
    __syncthreads();
  }
};

// f(std::integral_constant<int, columns a thread>)
template <class F>
void by_width(std::int64_t width, F f) {
  PLEAT_ASSERT(width <= kMaxHeadWidth);
  if (width <= 4 * kSide) {
    f(std::integral_constant<int, 4>{});
  } else if (width <= 8 * kSide) {
    f(std::integral_constant<int, 8>{});
  } else {
    f(std::integral_constant<int, 16>{});
  }
}

}  // namespace pleat::cuda
