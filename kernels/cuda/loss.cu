// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Vocabulary-parallel cross entropy, a block a row: the row's statistics in one pass, then the loss
// and, in place, the gradient. Bound: memory, logits read once and then read and written.
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/reduce.cuh"

namespace pleat {
namespace {

using namespace cuda;

constexpr int kRowThreads = 512;

template <class T>
__global__ void __launch_bounds__(kRowThreads)
    ce_stats_kernel(Vec<T> logits, const std::int32_t* labels, std::int64_t cols, std::int64_t used,
                    std::int64_t first, float* stats) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * cols;
  MaxSum seen{-INFINITY, 0};
  for (std::int64_t col = threadIdx.x * kPack; col < used; col += kRowThreads * kPack) {
    float v[kPack];
    logits.load(row + col, used - col, v);
    const int count = used - col >= kPack ? kPack : static_cast<int>(used - col);
    float top = seen.max;
#pragma unroll
    for (int i = 0; i < kPack; ++i) top = i < count ? fmaxf(top, v[i]) : top;
    seen.sum = seen.max == -INFINITY ? 0.0f : seen.sum * expf(seen.max - top);
    seen.max = top;
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      seen.sum += i < count ? expf(v[i] - (top == -INFINITY ? 0.0f : top)) : 0.0f;
    }
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
  for (std::int64_t col = threadIdx.x * kPack; col < c.cols; col += kRowThreads * kPack) {
    float v[kPack] = {};
    if (counts) {
      logits.load(row + col, c.used - col, v);
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        v[i] = col + i < c.used ? expf(v[i] - max) * over_sum : 0.0f;
        if (col + i == label && label < c.used) v[i] -= factor;
      }
    }
    logits.store(v, row + col, c.cols - col);
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
