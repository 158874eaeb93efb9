// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Losses of the router beside the cross entropy: balance over the microbatch (Switch Transformers,
// arXiv:2101.03961 equations 4 to 6), balance within each sequence (DeepSeek-V3, arXiv:2412.19437
// equations 17 to 20) and the size of the logits (ST-MoE, arXiv:2202.08906 equation 5). The counts
// F have no gradient; that of the summed scores P is g_e = aux sum_b F + seq_aux F.
#include <cmath>

#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kMostExperts = 4096;  // of the rows held on the stack

// One token's scores over all experts, adding up to 1, and the logits' log-sum-exp. Their
// derivatives by the logits are p_e (g_e - sum g p) for softmax and, with sigmoids a that add up to
// `sum`, (g_e - sum g p) / sum * a_e (1 - a_e).
struct Scores {
  float p[kMostExperts];
  float softmax[kMostExperts];
  float log_sum_exp = 0, sum = 1;
  bool sigmoid = false;

  void read(const float* logits, const RouterShape& s) {
    const float max = cpu::row_max(logits, s.experts);
    for (std::int64_t e = 0; e < s.experts; ++e) softmax[e] = cpu::exp_f32(logits[e] - max);
    const float total = cpu::lane_sum<float>(s.experts, [&](std::int64_t e) { return softmax[e]; });
    log_sum_exp = max + std::log(total);
    for (std::int64_t e = 0; e < s.experts; ++e) softmax[e] /= total;
    sigmoid = s.score == RouterScore::sigmoid;
    for (std::int64_t e = 0; e < s.experts; ++e) {
      p[e] = sigmoid ? cpu::sigmoid_f32(logits[e]) : softmax[e];
    }
    if (!sigmoid) return;
    sum = cpu::lane_sum<float>(s.experts, [&](std::int64_t e) { return p[e]; });
    for (std::int64_t e = 0; e < s.experts; ++e) p[e] /= sum;
  }

  [[nodiscard]] float slope(std::int64_t e) const {
    return sigmoid ? p[e] * (1.0F - p[e] * sum) : p[e];
  }
};

void check(View logits, View stats, const RouterShape& s, const RouterRows& at) {
  PLEAT_ASSERT(s.experts > 0 && s.experts <= kMostExperts && logits.cols == s.experts);
  PLEAT_ASSERT(stats.cols == 2 * s.experts + 1 && at.rows > 0 && at.first >= 0);
  PLEAT_ASSERT(at.first + logits.rows <= at.rows * stats.rows);
}

}  // namespace

void CpuKernels::router_stats(View logits, View experts, View stats, const RouterShape& s,
                              const RouterRows& at) {
  check(logits, stats, s, at);
  PLEAT_ASSERT(experts.elements() == logits.rows * s.top_k);
  zero(stats);
  Scores scores;
  for (std::int64_t r = 0; r < logits.rows; ++r) {
    float* row = stats.f32() + (at.first + r) / at.rows * stats.cols;
    scores.read(logits.f32() + r * s.experts, s);
    for (std::int64_t j = 0; j < s.top_k; ++j) row[experts.i32()[r * s.top_k + j]] += 1.0F;
    for (std::int64_t e = 0; e < s.experts; ++e) row[s.experts + e] += scores.p[e];
    row[2 * s.experts] += scores.log_sum_exp * scores.log_sum_exp;
  }
}

void CpuKernels::router_losses(View stats, const RouterLossFactors& f, double scale, View values) {
  PLEAT_ASSERT(values.elements() == 3 && stats.cols % 2 == 1);
  const std::int64_t experts = stats.cols / 2;
  double aux = 0, seq_aux = 0, z = 0;
  for (std::int64_t e = 0; e < experts; ++e) {
    double counts = 0, scores = 0;
    for (std::int64_t b = 0; b < stats.rows; ++b) {
      const double n = stats.f32()[b * stats.cols + e];
      const double p = stats.f32()[b * stats.cols + experts + e];
      counts += n;
      scores += p;
      seq_aux += n * p;
    }
    aux += counts * scores;
  }
  for (std::int64_t b = 0; b < stats.rows; ++b) z += stats.f32()[b * stats.cols + 2 * experts];
  values.f32()[0] += static_cast<float>(scale * f.aux * aux);
  values.f32()[1] += static_cast<float>(scale * f.seq_aux * seq_aux);
  values.f32()[2] += static_cast<float>(scale * f.z * z);
}

void CpuKernels::router_losses_bwd(View logits, View stats, View dlogits, const RouterShape& s,
                                   const RouterRows& at, const RouterLossFactors& f) {
  check(logits, stats, s, at);
  PLEAT_ASSERT(dlogits.rows == logits.rows && dlogits.cols == logits.cols);
  Scores scores;
  float all[kMostExperts], g[kMostExperts];
  for (std::int64_t e = 0; e < s.experts; ++e) {
    all[e] = 0;
    for (std::int64_t b = 0; b < stats.rows; ++b) all[e] += stats.f32()[b * stats.cols + e];
  }
  for (std::int64_t r = 0; r < logits.rows; ++r) {
    const float* counts = stats.f32() + (at.first + r) / at.rows * stats.cols;
    scores.read(logits.f32() + r * s.experts, s);
    for (std::int64_t e = 0; e < s.experts; ++e) {
      g[e] = static_cast<float>(f.aux) * all[e] + static_cast<float>(f.seq_aux) * counts[e];
    }
    const float mean = cpu::dot(g, scores.p, s.experts);
    const float z = 2.0F * static_cast<float>(f.z) * scores.log_sum_exp;
    float* out = dlogits.f32() + r * s.experts;
    for (std::int64_t e = 0; e < s.experts; ++e) {
      out[e] += scores.slope(e) * (g[e] - mean) + z * scores.softmax[e];
    }
  }
}

}  // namespace pleat
