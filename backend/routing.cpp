// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/routing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace pleat {
namespace {

void score_row(const float* logits, const RouterShape& s, std::vector<float>& scores) {
  scores.assign(logits, logits + s.experts);
  switch (s.score) {
    case RouterScore::sigmoid:
      for (float& x : scores) x = 1.0F / (1.0F + std::exp(-x));
      return;
    case RouterScore::softmax: {
      const float max = *std::max_element(scores.begin(), scores.end());
      float sum = 0;
      for (float& x : scores) sum += x = std::exp(x - max);
      for (float& x : scores) x /= sum;
      return;
    }
  }
}

}  // namespace

void forced_topk(View logits, std::int64_t first, View probs, View experts, const RouterShape& s,
                 std::vector<float>& scores) {
  for (std::int64_t t = 0; t < logits.rows; ++t) {
    score_row(logits.f32() + t * s.experts, s, scores);
    float* p = probs.f32() + t * s.top_k;
    float sum = 0;
    for (std::int64_t j = 0; j < s.top_k; ++j) {
      const std::int64_t expert = ((first + t) * s.top_k + j) % s.experts;
      experts.i32()[t * s.top_k + j] = static_cast<std::int32_t>(expert);
      p[j] = scores[static_cast<std::size_t>(expert)];
      sum += p[j];
    }
    const float factor = static_cast<float>(s.scaling) / (s.normalize ? sum : 1.0F);
    for (std::int64_t j = 0; j < s.top_k; ++j) p[j] *= factor;
  }
}

double router_margin(View logits, View bias, View experts, const RouterShape& s,
                     std::vector<float>& scores) {
  double margin = std::numeric_limits<double>::infinity();
  const std::int64_t group = s.experts / s.groups;
  for (std::int64_t t = 0; t < logits.rows; ++t) {
    score_row(logits.f32() + t * s.experts, s, scores);
    if (bias.data != nullptr) {
      for (std::int64_t e = 0; e < s.experts; ++e) {
        scores[static_cast<std::size_t>(e)] += bias.f32()[e];
      }
    }
    const std::span<const std::int32_t> chosen(experts.i32() + t * s.top_k,
                                               static_cast<std::size_t>(s.top_k));
    float worst_chosen = std::numeric_limits<float>::infinity();
    for (std::int32_t e : chosen) {
      worst_chosen = std::min(worst_chosen, scores[static_cast<std::size_t>(e)]);
    }
    for (std::int64_t e = 0; e < s.experts; ++e) {
      bool selected = false, eligible = false;
      for (std::int32_t other : chosen) {
        selected = selected || other == e;
        eligible = eligible || other / group == e / group;
      }
      if (selected || !eligible) continue;
      margin = std::min(margin, static_cast<double>(worst_chosen) -
                                    static_cast<double>(scores[static_cast<std::size_t>(e)]));
    }
  }
  return margin;
}

}  // namespace pleat
