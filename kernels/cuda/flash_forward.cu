// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "kernels/cuda/flash.hpp"
#include "kernels/cuda/flash_tiles.cuh"

namespace pleat::cuda {
namespace {

constexpr std::int64_t kMostGridRows = 65535;  // a grid's y (heads) and z (sequences)

}  // namespace

std::size_t visible_bytes(const FlashProblem& p) {
  return p.visible == nullptr ? 0 : Scratch::bytes<int2>(p.q[0].x.rows);
}

FlashArguments flash_arguments(const Resources& r, const FlashProblem& p, const HeadColumns& o,
                               View lse, void* visible) {
  if (p.heads > kMostGridRows || p.batch > kMostGridRows) {
    throw DeviceError("attention",
                      std::to_string(p.heads) + " heads of " + std::to_string(p.batch) +
                          " sequences: our own kernels take at most " +
                          std::to_string(kMostGridRows) + " of either in one call",
                      __FILE__, __LINE__);
  }
  PLEAT_ASSERT(p.batch > 0 && p.q[0].x.rows % p.batch == 0 && p.k[0].x.rows % p.batch == 0);
  PLEAT_ASSERT(o.x.rows == p.q[0].x.rows && lse.elements() == o.x.rows * p.heads);
  PLEAT_ASSERT(lse.dtype == DType::fp32 && p.q[0].x.rows <= INT32_MAX && p.keys() <= INT32_MAX);
  FlashArguments f{};
  for (int i = 0; i < 2; ++i) {
    PLEAT_ASSERT(p.q[i].width == p.k[i].width && (p.q[i].width == 0 || p.q[i].share == 1));
    f.q[i] = flash_part(p.q[i]);
    f.k[i] = flash_part(p.k[i]);
  }
  f.v = flash_part(p.v);
  f.o = flash_part(o);
  PLEAT_ASSERT(f.v.width == f.o.width && f.key_width() <= kMaxHeadWidth);
  f.lse = lse.f32();
  f.queries = p.queries();
  f.keys = p.keys();
  f.heads = p.heads;
  f.scale = static_cast<float>(p.scale);
  if (p.visible != nullptr && p.q[0].x.rows > 0) {
    r.device().stage(visible, p.visible, static_cast<std::size_t>(p.q[0].x.rows) * sizeof(int2));
    f.visible = static_cast<const int2*>(visible);
  }
  return f;
}

FlashProblem flash_problem(View qkv, const AttentionShape& s) {
  const std::int64_t share = s.heads / s.kv_groups, d = s.head_dim, dv = s.value_dim();
  FlashProblem p{.batch = s.batch, .heads = s.heads, .scale = s.scale};
  p.q[0] = {.x = qkv, .first = 0, .stride = d, .width = d};
  p.k[0] = {.x = qkv, .first = s.heads * d, .stride = d, .width = d, .share = share};
  p.v = {.x = qkv,
         .first = (s.heads + s.kv_groups) * d,
         .stride = dv,
         .width = dv,
         .share = share};
  return p;
}

FlashProblem flash_problem(View q, View kv, View kpe, const MlaShape& s) {
  FlashProblem p{.batch = s.batch, .heads = s.heads, .scale = s.scale};
  p.q[0] = {.x = q, .first = 0, .stride = s.nope + s.rope, .width = s.nope};
  p.q[1] = {.x = q, .first = s.nope, .stride = s.nope + s.rope, .width = s.rope};
  p.k[0] = {.x = kv, .first = 0, .stride = s.nope + s.v, .width = s.nope};
  p.k[1] = {.x = kpe, .first = s.kv_lora, .stride = 0, .width = s.rope, .share = s.heads};
  p.v = {.x = kv, .first = s.nope, .stride = s.nope + s.v, .width = s.v};
  return p;
}

namespace {

constexpr int kRowThreads = kThreads / kFlashTile;  // on a row of scores
constexpr int kScoreLd = kFlashTile + 1;

// Scores of a row to exp(scale * score - max), those that are not seen to 0; the running max and
// sum.
struct RowState {
  float max[kFlashTile], sum[kFlashTile], keep[kFlashTile];

  __device__ void update(float* scores, const TileKeys& keys, int first, float scale) {
    const int row = threadIdx.x / kRowThreads, lane = threadIdx.x % kRowThreads;
    float* const s = scores + row * kScoreLd;
    const int begin = keys.of[row].x - first, end = keys.of[row].y - first;
    float top = -INFINITY;
    for (int j = lane; j < kFlashTile; j += kRowThreads) {
      if (j >= begin && j < end) top = fmaxf(top, s[j]);
    }
#pragma unroll
    for (int d = kRowThreads / 2; d > 0; d /= 2)
      top = fmaxf(top, __shfl_xor_sync(kAllLanes, top, d));
    const bool some = begin < end && begin < kFlashTile && end > 0;
    const float before = max[row];
    const float now = some ? fmaxf(before, top * scale) : before;
    float added = 0;
    for (int j = lane; j < kFlashTile; j += kRowThreads) {
      const float p = some && j >= begin && j < end ? expf(s[j] * scale - now) : 0.0f;
      s[j] = p;
      added += p;
    }
#pragma unroll
    for (int d = kRowThreads / 2; d > 0; d /= 2) added += __shfl_xor_sync(kAllLanes, added, d);
    __syncwarp();
    if (lane != 0) return;
    const float factor = !some ? 1.0f : before == -INFINITY ? 0.0f : expf(before - now);
    keep[row] = factor;
    sum[row] = sum[row] * factor + added;
    max[row] = now;
  }
};

template <int kCols>
__global__ void __launch_bounds__(kThreads) flash_forward_kernel(FlashArguments f) {
  auto* const shared = dynamic_shared<float>();
  __shared__ TileKeys keys;
  __shared__ RowState state;
  const int width = f.key_width(), ld = width + 1 - width % 2, values = f.v.width;
  float* const q = shared;
  float* const k = q + kFlashTile * ld;
  float* const v = k + kFlashTile * ld;
  float* const scores = v + kFlashTile * values;
  const std::int64_t head = blockIdx.y, sequence = blockIdx.z;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kFlashTile;
  const std::int64_t q_base = sequence * f.queries, k_base = sequence * f.keys;
  const int tx = threadIdx.x % kSide, ty = threadIdx.x / kSide;
  keys.fill(f, sequence, first);
  load_rows(f.q, q_base, first, f.queries, head, q, ld);
  float sum[2][kCols] = {};
  if (threadIdx.x < kFlashTile) {
    const std::int64_t row = first + threadIdx.x;
    const bool before = f.resume && row < f.queries;
    const float max = before ? f.lse[(q_base + row) * f.heads + head] : -INFINITY;
    state.max[threadIdx.x] = max;  // what came before counts as one key
    state.sum[threadIdx.x] = max == -INFINITY ? 0.0f : 1.0f;
  }
  if (f.resume) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const std::int64_t row = first + ty + i * kSide;
#pragma unroll
      for (int c = 0; c < kCols; ++c) {
        if (row < f.queries && tx + kSide * c < values) {
          sum[i][c] = f.o.x.get(f.o.at(q_base + row, head) + tx + kSide * c);
        }
      }
    }
  }
  for (int key = keys.begin; key < keys.end; key += kFlashTile) {
    __syncthreads();  // the tiles before have been used
    load_rows(f.k, k_base, key, f.keys, head, k, ld);
    load_rows(f.v, k_base, key, f.keys, head, v, values);
    __syncthreads();
    float product[2][2];
    row_products(q, k, ld, width, product);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        scores[(ty + i * kSide) * kScoreLd + tx + j * kSide] = product[i][j];
      }
    }
    __syncthreads();
    state.update(scores, keys, key, f.scale);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float keep = state.keep[ty + i * kSide];
#pragma unroll
      for (int c = 0; c < kCols; ++c) sum[i][c] *= keep;
    }
    add_products<kCols>([=](int row, int r) { return scores[row * kScoreLd + r]; }, v, values,
                        values, sum);
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const std::int64_t row = first + ty + i * kSide;
    const float all = state.sum[ty + i * kSide];
#pragma unroll
    for (int c = 0; c < kCols; ++c) {
      if (row >= f.queries || tx + kSide * c >= values) continue;
      f.o.x.set(f.o.at(q_base + row, head) + tx + kSide * c, all > 0 ? sum[i][c] / all : sum[i][c]);
    }
  }
  if (threadIdx.x < kFlashTile && first + threadIdx.x < f.queries) {
    const float all = state.sum[threadIdx.x];
    f.lse[(q_base + first + threadIdx.x) * f.heads + head] =
        all > 0 ? state.max[threadIdx.x] + logf(all) : -INFINITY;
  }
}

}  // namespace

void flash_forward(Resources& r, const FlashProblem& p, HeadColumns o, View lse, bool resume) {
  if (p.q[0].x.rows == 0 || p.heads == 0) return;
  r.device().make_current();
  Scratch scratch(r, visible_bytes(p));
  FlashArguments f = flash_arguments(r, p, o, lse, scratch.take_bytes(visible_bytes(p)));
  f.resume = resume;
  const int width = f.key_width(), ld = width + 1 - width % 2;
  const auto shared = static_cast<std::size_t>(kFlashTile * (2 * ld + f.v.width + kScoreLd)) *
                      sizeof(float);
  const dim3 grid(blocks_of(ceil_div(f.queries, kFlashTile)), static_cast<unsigned>(p.heads),
                  static_cast<unsigned>(p.batch));
  by_width(f.v.width, [&](auto cols) {
    launch(r, flash_forward_kernel<decltype(cols)::value>, grid, kThreads, shared, f);
  });
}

}  // namespace pleat::cuda
