// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Top-k routing: softmax or sigmoid scores, a bias that only selects, group-limited selection
// (DeepSeek-V3, arXiv:2412.19437 section 2.1.2). k rounds of a warp-wide maximum; ties go to the lower
// index and NaN counts as -inf. Bound: the logits read.
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/router.cuh"

namespace pleat {
namespace {

using namespace cuda;

// Selection in a warp's shared memory, where experts are in groups.
struct GroupSelection {
  float* score;         // [experts]
  std::uint32_t* keys;  // [groups]; 0: open, or none

  // Marks the best groups with kOpen. A group counts as its best score, or as the sum of its best two.
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

template <int kPerLane, int kWarps>
__global__ void __launch_bounds__(kWarps* kWarp)
    router_topk_kernel(const float* logits, const float* bias, float* probs, std::int32_t* experts,
                       std::int64_t tokens, RouterShape s) {
  auto* const shared = dynamic_shared<float>();
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const std::int64_t t = static_cast<std::int64_t>(blockIdx.x) * kWarps + warp;
  if (t >= tokens) return;
  const int n = static_cast<int>(s.experts), k = static_cast<int>(s.top_k);
  const bool sigmoids = s.score == RouterScore::sigmoid;
  RouterRow<kPerLane> row;
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
    if (bias != nullptr && e < n) score[i] += bias[e];
    if (isnan(score[i])) score[i] = -INFINITY;
  }
  std::uint32_t key[kPerLane];
  if (s.groups > 1) {
    const int groups = static_cast<int>(s.groups), width = n / groups;
    float* const mine = shared + warp * (n + groups);
    const GroupSelection selection{mine, reinterpret_cast<std::uint32_t*>(mine + n)};
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      if (i * kWarp + lane < n) selection.score[i * kWarp + lane] = score[i];
    }
    __syncwarp();
    selection.select(lane, groups, width, static_cast<int>(s.top_groups),
                     sigmoids || bias != nullptr);
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const int e = i * kWarp + lane;
      const bool open = e < n && selection.keys[e / width] == GroupSelection::kOpen;
      key[i] = open ? ordered(score[i]) : 0;
    }
  } else {
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) key[i] = i * kWarp + lane < n ? ordered(score[i]) : 0;
  }

  float sum = 0;
  for (int j = 0; j < k; ++j) {
    std::uint32_t best = 0;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) best = max(best, key[i]);
    const std::uint32_t most = __reduce_max_sync(kAllLanes, best);
    std::uint32_t index = kAllLanes;
#pragma unroll
    for (int i = kPerLane - 1; i >= 0; --i) {
      if (key[i] == most) index = static_cast<std::uint32_t>(i * kWarp + lane);
    }
    const std::uint32_t chosen = __reduce_min_sync(kAllLanes, index);
    float logit = 0;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      if (chosen == static_cast<std::uint32_t>(i * kWarp + lane)) {
        key[i] = 0;
        logit = row.logit[i];
      }
    }
    logit = __shfl_sync(kAllLanes, logit, static_cast<int>(chosen % kWarp));
    const float p = sigmoids ? sigmoid(logit) : expf(logit - row.max) / row.sum;
    sum += p;
    if (lane == j % kWarp) {
      experts[t * k + j] = static_cast<std::int32_t>(chosen);
      probs[t * k + j] = p;
    }
  }
  if (sigmoids) sum += kTiny;
  const auto scaling = static_cast<float>(s.scaling);
  for (int j = lane; j < k; j += kWarp) {  // each lane what it wrote itself
    const float p = probs[t * k + j];
    probs[t * k + j] = (s.normalize ? p / sum : p) * scaling;
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
    const auto shared = s.groups > 1
                            ? static_cast<std::size_t>(kWarps * (s.experts + s.groups)) * sizeof(float)
                            : std::size_t{0};
    launch(*resources_, router_topk_kernel<kPerLane, kWarps>,
           blocks_of(ceil_div(logits.rows, kWarps)), kWarps * kWarp, shared,
           static_cast<const float*>(logits.f32()), static_cast<const float*>(bias.f32()),
           probs.f32(), experts.i32(), logits.rows, s);
  });
}

}  // namespace pleat
