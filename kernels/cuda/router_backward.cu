// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Gradient of a token's probabilities g[k] with respect to its logits:
//   softmax, w_j = s p_j:           dl_e = s p_e ([e chosen] g_e - sum g_i p_i)
//   softmax normalised, s p_j / P:  of the softmax over the chosen alone,
//                                   dl_j = w_j (g_j - sum g_i w_i / s)
//   sigmoid, w_j = s a_j:           dl_j = s g_j a_j (1 - a_j)
//   sigmoid normalised, s a_j / A:  dl_j = s (g_j - sum g_i a_i / A) / A * a_j (1 - a_j)
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/router.cuh"

namespace pleat {
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
