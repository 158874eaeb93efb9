// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Vocabulary-parallel cross entropy, a block a row: the row's statistics in one pass, then the loss
// and, in place, the gradient. Bound: memory, logits read once and then read and written.
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/math.cuh"
#include "kernels/cuda/reduce.cuh"

namespace pleat {
namespace {

using namespace cuda;

constexpr int kRowThreads = 512;

// Packs of a row that a thread loads before it uses one.
template <class T>
constexpr int kAtOnce = std::is_same_v<T, Bf16Value> ? 4 : 2;
constexpr int kStep = kRowThreads * kPack;  // from a thread's pack to its next

// Packs from column `col` on, of columns below `used`.
template <class T>
__device__ __forceinline__ void fetch(const Vec<T>& logits, std::int64_t row, std::int64_t col,
                                      std::int64_t used, Packed<T> (&to)[kAtOnce<T>]) {
  if (logits.wide && col + (kAtOnce<T> - 1) * kStep + kPack <= used) {
#pragma unroll
    for (int k = 0; k < kAtOnce<T>; ++k) logits.fetch_wide(row + col + k * kStep, to[k]);
    return;
  }
#pragma unroll
  for (int k = 0; k < kAtOnce<T>; ++k) {
    logits.fetch(row + col + k * kStep, used - col - k * kStep, to[k]);
  }
}

// The largest value of all packs is found first, so that the sum is scaled once for all of them.
template <class T>
__global__ void __launch_bounds__(kRowThreads, (std::is_same_v<T, Bf16Value> ? 3 : 2))
    ce_stats_kernel(Vec<T> logits, const std::int32_t* labels, std::int64_t cols, std::int64_t used,
                    std::int64_t first, float* stats) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * cols;
  MaxSum seen{-INFINITY, 0};
  for (std::int64_t col = threadIdx.x * kPack; col < used; col += kAtOnce<T> * kStep) {
    Packed<T> packs[kAtOnce<T>];
    fetch(logits, row, col, used, packs);
    const auto left = static_cast<int>(min(used - col, std::int64_t{kAtOnce<T>} * kStep));
    float top = seen.max, v[kPack];
#pragma unroll
    for (int k = 0; k < kAtOnce<T>; ++k) {
      packs[k].unpack(v);
      if (left >= k * kStep + kPack) {
#pragma unroll
        for (int i = 0; i < kPack; ++i) top = fmaxf(top, v[i]);
      } else {
#pragma unroll
        for (int i = 0; i < kPack; ++i) top = k * kStep + i < left ? fmaxf(top, v[i]) : top;
      }
    }
    const float from = top == -INFINITY ? 0.0f : top;
    float sum = seen.sum * exp_for<T>(seen.max - from);
#pragma unroll
    for (int k = 0; k < kAtOnce<T>; ++k) {
      packs[k].unpack(v);
      float part = 0;
      if (left >= k * kStep + kPack) {
#pragma unroll
        for (int i = 0; i < kPack; ++i) part += exp_for<T>(v[i] - from);
      } else {
#pragma unroll
        for (int i = 0; i < kPack; ++i) {
          if (k * kStep + i < left) part += exp_for<T>(v[i] - from);
        }
      }
      sum += part;
    }
    seen = {top, sum};
  }
  seen = group_merge<kRowThreads>(seen);
  if (threadIdx.x != 0) return;
  const std::int64_t label = labels[blockIdx.x] - first;
  float* out = stats + static_cast<std::int64_t>(blockIdx.x) * 3;
  out[0] = seen.max;
  out[1] = seen.sum;
  out[2] = label >= 0 && label < used ? logits.get(row + label) : 0.0f;
}

struct CeLoss {
  const std::int32_t* labels;
  const float* gathered;
  std::int64_t rows, cols, used, first, shards;
  DepthRows depth;
  double scale;
  double* losses;  // [rows]
  // DepthRows::part_of and scale_of.
  [[nodiscard]] __device__ std::int64_t part_of(std::int64_t row) const {
    return depth.every > 0
               ? (depth.first + row) % depth.every / (depth.every / (1 + depth.depths))
               : 0;
  }
  [[nodiscard]] __device__ double scale_of(std::int64_t part) const {
    if (part == 0) return scale;
    if (part == 1 || part >= depth.seq) return depth.scale;
    return depth.scale * static_cast<double>(depth.seq - 1) /
           static_cast<double>(depth.seq - part);
  }
};

template <class T>
__global__ void __launch_bounds__(kRowThreads) ce_loss_kernel(Vec<T> logits, CeLoss c) {
  const std::int64_t r = blockIdx.x, row = r * c.cols;
  const bool counts = c.labels[r] >= 0;
  __shared__ float shared_max, shared_factor;
  const auto factor = static_cast<float>(c.scale_of(c.part_of(r)));
  if (threadIdx.x == 0 && counts) {
    float max = -INFINITY;
    double sum = 0, target = 0;
    for (std::int64_t s = 0; s < c.shards; ++s) {
      max = fmaxf(max, c.gathered[(s * c.rows + r) * 3]);
    }
    for (std::int64_t s = 0; s < c.shards; ++s) {
      const float* stats = c.gathered + (s * c.rows + r) * 3;
      sum += static_cast<double>(stats[1]) * exp(static_cast<double>(stats[0]) - max);
      target += stats[2];
    }
    c.losses[r] = log(sum) + max - target;
    shared_max = max;
    shared_factor = factor / static_cast<float>(sum);
  } else if (threadIdx.x == 0) {
    c.losses[r] = 0;
  }
  __syncthreads();
  const std::int64_t label = counts ? c.labels[r] - c.first : -1;
  const float max = shared_max, over_sum = shared_factor;
  for (std::int64_t col = threadIdx.x * kPack; col < c.cols; col += kAtOnce<T> * kStep) {
    Packed<T> packs[kAtOnce<T>];
    if (counts) fetch(logits, row, col, c.used, packs);
#pragma unroll
    for (int k = 0; k < kAtOnce<T>; ++k) {
      const std::int64_t at = col + k * kStep;
      if (at >= c.cols) break;
      float v[kPack] = {};
      if (counts) {
        packs[k].unpack(v);
#pragma unroll
        for (int i = 0; i < kPack; ++i) v[i] = exp_for<T>(v[i] - max) * over_sum;
        if (label >= at && label < at + kPack) {
#pragma unroll
          for (int i = 0; i < kPack; ++i) v[i] -= at + i == label ? factor : 0.0f;
        }
        if (at + kPack > c.used) {  // what pads the vocabulary
#pragma unroll
          for (int i = 0; i < kPack; ++i) v[i] = at + i < c.used ? v[i] : 0.0f;
        }
      }
      logits.store(v, row + at, c.cols - at);
    }
  }
}

__global__ void __launch_bounds__(kRowThreads) ce_total_kernel(CeLoss c, float* loss) {
  for (std::int64_t part = 0; part <= (c.depth.every > 0 ? c.depth.depths : 0); ++part) {
    double total = 0;
    for (std::int64_t r = threadIdx.x; r < c.rows; r += kRowThreads) {
      if (c.part_of(r) == part) total += c.losses[r];
    }
    total = group_sum<kRowThreads>(total);
    if (threadIdx.x == 0) loss[part > 0 ? 1 : 0] += static_cast<float>(c.scale_of(part) * total);
  }
}

std::int64_t columns_in_use(View logits, VocabShard shard) {
  return std::clamp<std::int64_t>(shard.size - shard.first, 0, logits.cols);
}

}  // namespace

void CudaKernels::ce_stats(View logits, View labels, VocabShard shard, View stats) {
  PLEAT_ASSERT(labels.elements() == logits.rows && stats.elements() == logits.rows * 3);
  PLEAT_ASSERT(stats.dtype == DType::fp32);
  if (logits.rows == 0) return;
  by_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    launch(*resources_, ce_stats_kernel<T>, blocks_of(logits.rows), kRowThreads, 0,
           vec<T>(logits, logits.cols), static_cast<const std::int32_t*>(labels.i32()), logits.cols,
           columns_in_use(logits, shard), shard.first, stats.f32());
  }, logits);
}

void CudaKernels::ce_loss(View logits, View labels, VocabShard shard, View gathered, double scale,
                          const DepthRows& depth, View loss) {
  const std::int64_t rows = logits.rows;
  if (rows == 0) return;
  PLEAT_ASSERT(labels.elements() == rows && gathered.elements() % (rows * 3) == 0);
  PLEAT_ASSERT(loss.elements() > (depth.every > 0 ? 1 : 0) && depth.depths > 0);
  Scratch scratch(*resources_, Scratch::bytes<double>(rows));
  const CeLoss c{.labels = labels.i32(),
                 .gathered = gathered.f32(),
                 .rows = rows,
                 .cols = logits.cols,
                 .used = columns_in_use(logits, shard),
                 .first = shard.first,
                 .shards = gathered.elements() / (rows * 3),
                 .depth = depth,
                 .scale = scale,
                 .losses = scratch.take<double>(rows)};
  by_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    launch(*resources_, ce_loss_kernel<T>, blocks_of(rows), kRowThreads, 0,
           vec<T>(logits, logits.cols), c);
  }, logits);
  launch(*resources_, ce_total_kernel, 1, kRowThreads, 0, c, loss.f32());
}

}  // namespace pleat
