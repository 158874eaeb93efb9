// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Top-k routing and its gradient, a warp a token.
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/router.cuh"

namespace pleat {

// Top-k routing: softmax or sigmoid scores, a bias that only selects, group-limited selection
// (DeepSeek-V3, arXiv:2412.19437 section 2.1.2). Ties go to the lower index and NaN counts as -inf.
// Bound: the logits read; beside it some 410 instructions a token of a warp (8 of 256 experts,
// sm_90).

namespace {

using namespace cuda;

// Selection in a warp's shared memory, where experts are in groups.
struct GroupSelection {
  float* score;         // [experts]
  std::uint32_t* keys;  // [groups]; 0: open, or none

  // Marks the best groups with kOpen. A group counts as its best score, or as the sum of its best
  // two.
  static constexpr std::uint32_t kOpen = 0xffffffffu;
  __device__ void select(int lane, int groups, int width, int top, bool top_two) const {
    for (int g = lane; g < groups; g += kWarp) {
      float first = -INFINITY, second = -INFINITY;
      for (int i = 0; i < width; ++i) {
        const float v = score[g * width + i];
        if (v > first) {
          second = first;
          first = v;
        } else if (v > second) {
          second = v;
        }
      }
      const float both = top_two && width > 1 ? first + second : first;
      keys[g] = ordered(isnan(both) ? -INFINITY : both);
    }
    __syncwarp();
    for (int round = 0; round < top; ++round) {
      std::uint32_t best = 0, index = kAllLanes;
      for (int g = lane; g < groups; g += kWarp) {
        if (keys[g] != kOpen && keys[g] > best) {
          best = keys[g];
          index = static_cast<std::uint32_t>(g);
        }
      }
      const std::uint32_t most = __reduce_max_sync(kAllLanes, best);
      const std::uint32_t chosen = __reduce_min_sync(kAllLanes, best == most ? index : kAllLanes);
      if (lane == 0) keys[chosen] = kOpen;
      __syncwarp();
    }
  }
};

// kFull: there are 32 kPerLane experts.
template <int kPerLane, int kWarps, bool kFull>
__global__ void __launch_bounds__(kWarps* kWarp)
    router_topk_kernel(const float* logits, const float* bias, float* probs, std::int32_t* experts,
                       std::int64_t tokens, RouterShape s) {
  auto* const shared = dynamic_shared<float>();
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const std::int64_t t = static_cast<std::int64_t>(blockIdx.x) * kWarps + warp;
  if (t >= tokens) return;
  const int n = static_cast<int>(s.experts), k = static_cast<int>(s.top_k);
  const bool sigmoids = s.score == RouterScore::sigmoid;
  const auto there = [&](int e) { return kFull || e < n; };
  RouterRow<kPerLane, kFull> row;
  row.read(logits + t * n, lane, n);
  if (!sigmoids) row.softmax(lane, n);

  float score[kPerLane];
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const int e = i * kWarp + lane;
    score[i] = row.logit[i];
    if (sigmoids) {
      score[i] = sigmoid(score[i]);
    } else if (bias != nullptr) {
      score[i] = expf(score[i] - row.max) / row.sum;
    }
    if (bias != nullptr && there(e)) score[i] += bias[e];
    score[i] = fmaxf(score[i], -INFINITY);  // NaN, too
  }
  std::uint32_t key[kPerLane];
  if (s.groups > 1) {
    const int groups = static_cast<int>(s.groups), width = n / groups;
    float* const mine = shared + warp * (n + groups);
    const GroupSelection selection{mine, reinterpret_cast<std::uint32_t*>(mine + n)};
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      if (there(i * kWarp + lane)) selection.score[i * kWarp + lane] = score[i];
    }
    __syncwarp();
    selection.select(lane, groups, width, static_cast<int>(s.top_groups),
                     sigmoids || bias != nullptr);
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const int e = i * kWarp + lane;
      const bool open = there(e) && selection.keys[e / width] == GroupSelection::kOpen;
      key[i] = open ? ordered(score[i]) : 0;
    }
  } else {
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) key[i] = there(i * kWarp + lane) ? ordered(score[i]) : 0;
  }

  __shared__ RouterWinners winners[kWarps];
  std::int32_t* const chosen = experts + t * k;
  float* const weights = probs + t * k;
  const auto scaling = static_cast<float>(s.scaling);
  int expert = 0;
  bool few = false;
  if constexpr (kPerLane <= 16) {
    few = k <= kMostOfTwo<kPerLane> && choose_of_two(key, lane, k, winners[warp], expert);
  }
  if (few) {
    if (lane < k) chosen[lane] = expert;
  } else {
    choose_of_all(key, lane, k, chosen);
  }
  // Each lane weighs what it wrote itself; their sum in the order of ranks.
  float sum = 0, p = 0;
  for (int first = 0; first < k; first += kWarp) {
    const int j = first + lane, count = min(k - first, kWarp);
    if (lane < count) {
      const float logit = logits[t * n + (few ? expert : chosen[j])];
      p = sigmoids ? sigmoid(logit) : expf(logit - row.max) / row.sum;
      if (k > kWarp) weights[j] = p;
    }
#pragma unroll 4
    for (int i = 0; i < count; ++i) sum += __shfl_sync(kAllLanes, p, i);
  }
  if (sigmoids) sum += kTiny;
  for (int j = lane; j < k; j += kWarp) {
    if (k > kWarp) p = weights[j];
    weights[j] = (s.normalize ? p / sum : p) * scaling;
  }
}

}  // namespace

void CudaKernels::router_topk(View logits, View bias, View probs, View experts,
                              const RouterShape& s) {
  PLEAT_ASSERT(s.groups > 0 && s.groups <= kMaxGroups && s.experts % s.groups == 0);
  PLEAT_ASSERT(s.top_groups > 0 && s.top_groups <= s.groups);
  PLEAT_ASSERT(s.top_k > 0 && s.top_k <= s.top_groups * (s.experts / s.groups));
  PLEAT_ASSERT(logits.cols == s.experts && experts.elements() == logits.rows * s.top_k);
  PLEAT_ASSERT(probs.elements() == experts.elements());
  PLEAT_ASSERT(bias.data == nullptr || bias.elements() == s.experts);
  PLEAT_ASSERT(logits.dtype == DType::fp32 && probs.dtype == DType::fp32);
  if (logits.rows == 0) return;
  by_experts(s.experts, [&](auto per_lane) {
    constexpr int kPerLane = decltype(per_lane)::value, kWarps = kPerLane <= 16 ? 8 : 2;
    const auto shared =
        s.groups > 1 ? static_cast<std::size_t>(kWarps * (s.experts + s.groups)) * sizeof(float)
                     : std::size_t{0};
    constexpr bool kMayBeFull = kPerLane <= 16;
    const bool full = kMayBeFull && s.experts == kPerLane * kWarp;
    launch(*resources_, full ? router_topk_kernel<kPerLane, kWarps, kMayBeFull>
                             : router_topk_kernel<kPerLane, kWarps, false>,
           blocks_of(ceil_div(logits.rows, kWarps)), kWarps * kWarp, shared,
           static_cast<const float*>(logits.f32()), static_cast<const float*>(bias.f32()),
           probs.f32(), experts.i32(), logits.rows, s);
  });
}

// Gradient of a token's probabilities g[k] with respect to its logits:
//   softmax, w_j = s p_j:           dl_e = s p_e ([e chosen] g_e - sum g_i p_i)
//   softmax normalised, s p_j / P:  of the softmax over the chosen alone,
//                                   dl_j = w_j (g_j - sum g_i w_i / s)
//   sigmoid, w_j = s a_j:           dl_j = s g_j a_j (1 - a_j)
//   sigmoid normalised, s a_j / A:  dl_j = s (g_j - sum g_i a_i / A) / A * a_j (1 - a_j)

namespace {

using namespace cuda;

constexpr int kWarps = 8;

struct RouterGradient {
  const float *dprobs, *logits, *probs;
  const std::int32_t* experts;
  float* dlogits;
};

// Every lane works out the sums over the k chosen; there are few.
template <int kPerLane>
__global__ void __launch_bounds__(kWarps* kWarp)
    router_backward_kernel(RouterGradient r, std::int64_t tokens, RouterShape s) {
  const int lane = threadIdx.x % kWarp;
  const std::int64_t t = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  if (t >= tokens) return;
  const int n = static_cast<int>(s.experts), k = static_cast<int>(s.top_k);
  const float *g = r.dprobs + t * k, *w = r.probs + t * k, *logits = r.logits + t * n;
  const std::int32_t* chosen = r.experts + t * k;
  float* const dlogits = r.dlogits + t * n;
  const auto scaling = static_cast<float>(s.scaling);
  const bool sigmoids = s.score == RouterScore::sigmoid;
  float mean = 0, sum = 1, max = 0, total = 1;
  if (sigmoids && s.normalize) {
    sum = 0;
    for (int j = 0; j < k; ++j) sum += sigmoid(logits[chosen[j]]);
    sum += kTiny;
    for (int j = 0; j < k; ++j) mean += g[j] * (sigmoid(logits[chosen[j]]) / sum);
  } else if (!sigmoids && s.normalize) {
    for (int j = 0; j < k; ++j) mean += g[j] * (w[j] / scaling);
  }
  if (!sigmoids && !s.normalize) {
    RouterRow<kPerLane> row;
    row.read(logits, lane, n);
    row.softmax(lane, n);
    max = row.max;
    total = row.sum;
    for (int j = 0; j < k; ++j) mean += g[j] * (expf(logits[chosen[j]] - max) / total);
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const int e = i * kWarp + lane;
      if (e < n) dlogits[e] = -scaling * (expf(row.logit[i] - max) / total) * mean;
    }
  } else {
    for (int e = lane; e < n; e += kWarp) dlogits[e] = 0;
  }
  __syncwarp();  // the chosen ones over what is there
  for (int j = lane; j < k; j += kWarp) {
    const float logit = logits[chosen[j]];
    float slope;
    if (sigmoids) {
      const float a = sigmoid(logit);
      slope = scaling * (g[j] - mean) / sum * a * (1.0f - a);
    } else if (s.normalize) {
      slope = w[j] * (g[j] - mean);
    } else {
      slope = scaling * (expf(logit - max) / total) * (g[j] - mean);
    }
    dlogits[chosen[j]] = slope;
  }
}

}  // namespace

void CudaKernels::router_topk_bwd(View dprobs, View logits, View probs, View experts, View dlogits,
                                  const RouterShape& s) {
  PLEAT_ASSERT(logits.cols == s.experts && dlogits.cols == s.experts);
  PLEAT_ASSERT(dlogits.rows == logits.rows && experts.elements() == logits.rows * s.top_k);
  PLEAT_ASSERT(dprobs.elements() == experts.elements() && probs.elements() == experts.elements());
  PLEAT_ASSERT(logits.dtype == DType::fp32 && dlogits.dtype == DType::fp32);
  PLEAT_ASSERT(probs.dtype == DType::fp32 && dprobs.dtype == DType::fp32);
  if (logits.rows == 0) return;
  by_experts(s.experts, [&](auto per_lane) {
    launch(*resources_, router_backward_kernel<decltype(per_lane)::value>,
           blocks_of(ceil_div(logits.rows, kWarps)), kWarps * kWarp, 0,
           RouterGradient{dprobs.f32(), logits.f32(), probs.f32(), experts.i32(), dlogits.f32()},
           logits.rows, s);
  });
}

}  // namespace pleat
