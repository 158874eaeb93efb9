// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Losses of the router beside the cross entropy, as kernels/cpu/router_losses.cpp defines them. A
// warp adds up a run of rows of one sequence, then the runs are added in order.
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/partial_sums.hpp"
#include "kernels/cuda/router.cuh"

namespace pleat {
namespace {

using namespace cuda;

// One token's scores over all experts, adding up to 1, its softmax, and the logits' log-sum-exp.
template <int kPerLane>
struct Scores {
  float p[kPerLane], softmax[kPerLane];
  float log_sum_exp = 0, sum = 1;
  __device__ __forceinline__ void read(const float* logits, int lane, const RouterShape& s) {
    const int n = static_cast<int>(s.experts);
    RouterRow<kPerLane> row;
    row.read(logits, lane, n);
    row.softmax(lane, n);
    log_sum_exp = row.max + logf(row.sum);
    float part = 0;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const bool there = i * kWarp + lane < n;
      softmax[i] = there ? expf(row.logit[i] - row.max) / row.sum : 0.0f;
      p[i] = softmax[i];
      if (s.score == RouterScore::sigmoid) p[i] = there ? sigmoid(row.logit[i]) : 0.0f;
      part += p[i];
    }
    if (s.score != RouterScore::sigmoid) return;
    sum = warp_sum(part);
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) p[i] /= sum;
  }
};

struct Runs {  // of every sequence
  std::int64_t sequences, rows, count;
};

template <int kPerLane, int kWarps>
__global__ void __launch_bounds__(kWarps* kWarp)
    router_stats_kernel(const float* logits, const std::int32_t* experts, std::int64_t tokens,
                        RouterShape s, RouterRows at, Runs runs, float* partial) {
  auto* const counts = dynamic_shared<int>();
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const std::int64_t run = static_cast<std::int64_t>(blockIdx.x) * kWarps + warp;
  if (run >= runs.sequences * runs.count) return;
  const int n = static_cast<int>(s.experts);
  int* const mine = counts + warp * n;
  for (int e = lane; e < n; e += kWarp) mine[e] = 0;
  __syncwarp();
  const std::int64_t sequence = run / runs.count;
  const std::int64_t first = max(sequence * at.rows - at.first, std::int64_t{0}) +
                             run % runs.count * runs.rows;
  const std::int64_t last =
      min(min(first + runs.rows, tokens), (sequence + 1) * at.rows - at.first);
  float p[kPerLane] = {}, z = 0;
  for (std::int64_t r = first; r < last; ++r) {
    Scores<kPerLane> scores;
    scores.read(logits + r * n, lane, s);
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) p[i] += scores.p[i];
    z = fmaf(scores.log_sum_exp, scores.log_sum_exp, z);
    for (std::int64_t j = lane; j < s.top_k; j += kWarp) {
      atomicAdd(mine + experts[r * s.top_k + j], 1);  // whole numbers: no order
    }
  }
  __syncwarp();
  float* const out = partial + run * (2 * s.experts + 1);
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int e = i * kWarp + lane;
    if (e >= n) continue;
    out[e] = static_cast<float>(mine[e]);
    out[n + e] = p[i];
  }
  if (lane == 0) out[2 * n] = z;
}

__global__ void __launch_bounds__(kThreads)
    router_losses_kernel(const float* stats, std::int64_t sequences, std::int64_t experts,
                         RouterLossFactors f, double scale, float* values) {
  double aux = 0, seq_aux = 0, z = 0;
  const std::int64_t cols = 2 * experts + 1;
  for (std::int64_t e = threadIdx.x; e < experts; e += kThreads) {
    double counts = 0, scores = 0;
    for (std::int64_t b = 0; b < sequences; ++b) {
      const double n = stats[b * cols + e], p = stats[b * cols + experts + e];
      counts += n;
      scores += p;
      seq_aux += n * p;
    }
    aux += counts * scores;
  }
  for (std::int64_t b = threadIdx.x; b < sequences; b += kThreads)
    z += stats[b * cols + 2 * experts];
  aux = group_sum<kThreads>(aux);
  seq_aux = group_sum<kThreads>(seq_aux);
  z = group_sum<kThreads>(z);
  if (threadIdx.x != 0) return;
  values[0] += static_cast<float>(scale * f.aux * aux);
  values[1] += static_cast<float>(scale * f.seq_aux * seq_aux);
  values[2] += static_cast<float>(scale * f.z * z);
}

template <int kPerLane, int kWarps>
__global__ void __launch_bounds__(kWarps* kWarp)
    router_losses_backward_kernel(const float* logits, const float* stats, const float* all,
                                  float* dlogits, std::int64_t tokens, RouterShape s,
                                  RouterRows at, float aux, float seq_aux, float z_factor) {
  const int lane = threadIdx.x % kWarp;
  const std::int64_t r = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  if (r >= tokens) return;
  const int n = static_cast<int>(s.experts);
  const float* counts = stats + (at.first + r) / at.rows * (2 * s.experts + 1);
  Scores<kPerLane> scores;
  scores.read(logits + r * n, lane, s);
  float g[kPerLane], mean = 0;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int e = i * kWarp + lane;
    g[i] = e < n ? aux * all[e] + seq_aux * counts[e] : 0.0f;
    mean = fmaf(g[i], scores.p[i], mean);
  }
  mean = warp_sum(mean);
  const float z = 2.0f * z_factor * scores.log_sum_exp;
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int e = i * kWarp + lane;
    if (e >= n) continue;
    const float p = scores.p[i];
    const float slope = s.score == RouterScore::sigmoid ? p * (1.0f - p * scores.sum) : p;
    dlogits[r * n + e] += slope * (g[i] - mean) + z * scores.softmax[i];
  }
}

void check(View logits, View stats, const RouterShape& s, const RouterRows& at) {
  PLEAT_ASSERT(s.experts > 0 && s.experts <= kMaxExperts && logits.cols == s.experts);
  PLEAT_ASSERT(stats.cols == 2 * s.experts + 1 && at.rows > 0 && at.first >= 0);
  PLEAT_ASSERT(at.first + logits.rows <= at.rows * stats.rows);
  PLEAT_ASSERT(logits.dtype == DType::fp32 && stats.dtype == DType::fp32);
}

}  // namespace

void CudaKernels::router_stats(View logits, View experts, View stats, const RouterShape& s,
                               const RouterRows& at) {
  check(logits, stats, s, at);
  PLEAT_ASSERT(experts.elements() == logits.rows * s.top_k);
  Resources& r = *resources_;
  if (logits.rows == 0) return zero(stats);
  const std::int64_t rows = std::max<std::int64_t>(
      8, ceil_div(logits.rows, std::int64_t{16} * r.multiprocessors()));
  const Runs runs{stats.rows, rows, ceil_div(std::min(at.rows, logits.rows), rows)};
  const std::int64_t all = runs.sequences * runs.count;
  Scratch scratch(r, Scratch::bytes<float>(all * stats.cols));
  float* partial = scratch.take<float>(all * stats.cols);
  by_experts(s.experts, [&](auto per_lane) {
    constexpr int kPerLane = decltype(per_lane)::value, kWarps = kPerLane <= 16 ? 8 : 2;
    launch(r, router_stats_kernel<kPerLane, kWarps>, blocks_of(ceil_div(all, kWarps)),
           kWarps * kWarp, static_cast<std::size_t>(kWarps * s.experts) * sizeof(int),
           static_cast<const float*>(logits.f32()), static_cast<const std::int32_t*>(experts.i32()),
           logits.rows, s, at, runs, partial);
  });
  for (std::int64_t b = 0; b < stats.rows; ++b) {
    add_partial_sums(r, partial + b * runs.count * stats.cols, runs.count, stats.cols, 1, false,
                     {stats.f32() + b * stats.cols, DType::fp32, 1, stats.cols});
  }
}

void CudaKernels::router_losses(View stats, const RouterLossFactors& f, double scale, View values) {
  PLEAT_ASSERT(values.elements() == 3 && stats.cols % 2 == 1);
  launch(*resources_, router_losses_kernel, 1, kThreads, 0, static_cast<const float*>(stats.f32()),
         stats.rows, stats.cols / 2, f, scale, values.f32());
}

void CudaKernels::router_losses_bwd(View logits, View stats, View dlogits, const RouterShape& s,
                                    const RouterRows& at, const RouterLossFactors& f) {
  check(logits, stats, s, at);
  PLEAT_ASSERT(dlogits.rows == logits.rows && dlogits.cols == logits.cols);
  if (logits.rows == 0) return;
  Resources& r = *resources_;
  Scratch scratch(r, Scratch::bytes<float>(s.experts));
  float* all = scratch.take<float>(s.experts);
  add_partial_sums(r, stats.f32(), stats.rows, stats.cols, 1, false,
                   {all, DType::fp32, 1, s.experts});
  by_experts(s.experts, [&](auto per_lane) {
    constexpr int kPerLane = decltype(per_lane)::value, kWarps = kPerLane <= 16 ? 8 : 2;
    launch(r, router_losses_backward_kernel<kPerLane, kWarps>,
           blocks_of(ceil_div(logits.rows, kWarps)), kWarps * kWarp, 0,
           static_cast<const float*>(logits.f32()), static_cast<const float*>(stats.f32()),
           static_cast<const float*>(all), dlogits.f32(), logits.rows, s, at,
           static_cast<float>(f.aux), static_cast<float>(f.seq_aux), static_cast<float>(f.z));
  });
}

}  // namespace pleat
