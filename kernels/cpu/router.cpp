// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The router on the CPU: the choice of experts with its gradient, and the bias that balances load.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace pleat {

// Top-k routing: softmax or sigmoid scores, a bias that only selects, group-limited selection
// (DeepSeek-V3, arXiv:2412.19437 section 2.1.2), and the gradient of the chosen probabilities.

namespace {

constexpr std::int64_t kMaxExperts = 4096, kMaxGroups = 256;  // of the rows held on the stack
constexpr float kTiny = 1e-20F;  // added to a sum of sigmoids before dividing by it

// The next index after `last` in the order of descending score, ties by ascending index, among
// those that `eligible` admits; -1 if there is none.
template <class Eligible>
std::int64_t next_best(const float* score, std::int64_t n, std::int64_t last, Eligible eligible) {
  std::int64_t best = -1;
  for (std::int64_t i = 0; i < n; ++i) {
    if (!eligible(i)) continue;
    const bool left = last < 0 || score[i] < score[last] || (score[i] == score[last] && i > last);
    if (left && (best < 0 || score[i] > score[best])) best = i;
  }
  return best;
}

// max over all and the sum of exp(logit - max).
struct Softmax {
  float max, sum;
  Softmax(const float* logits, std::int64_t n) : max(cpu::row_max(logits, n)) {
    const float top = max;
    sum = cpu::lane_sum<float>(n, [=](std::int64_t i) { return cpu::exp_f32(logits[i] - top); });
  }
  [[nodiscard]] float of(float logit) const { return cpu::exp_f32(logit - max) / sum; }
};

// What experts are compared by. A softmax without bias keeps the order of its logits, which unlike
// its probabilities cannot underflow to a tie. NaN comes last, so that k experts are always found.
void selection_scores(const float* logits, const float* bias, const RouterShape& s, float* score) {
  for (std::int64_t e = 0; e < s.experts; ++e) {
    score[e] = s.score == RouterScore::sigmoid ? cpu::sigmoid_f32(logits[e]) : logits[e];
  }
  if (s.score == RouterScore::softmax && bias != nullptr) {
    const Softmax softmax(logits, s.experts);
    for (std::int64_t e = 0; e < s.experts; ++e) score[e] = softmax.of(logits[e]);
  }
  for (std::int64_t e = 0; e < s.experts; ++e) {
    if (bias != nullptr) score[e] += bias[e];
    if (std::isnan(score[e])) score[e] = -std::numeric_limits<float>::infinity();
  }
}

// A group counts as its best score, or with sigmoid or bias as the sum of its best two.
float group_score(const float* score, std::int64_t n, bool top_two) {
  const auto all = [](std::int64_t) { return true; };
  const std::int64_t first = next_best(score, n, -1, all);
  if (!top_two || n == 1) return score[first];
  return score[first] + score[next_best(score, n, first, all)];
}

void select_experts(const float* score, bool top_two, const RouterShape& s, std::int32_t* chosen) {
  const std::int64_t width = s.experts / s.groups;
  float of_group[kMaxGroups];
  bool open[kMaxGroups] = {};
  for (std::int64_t g = 0; g < s.groups; ++g) {
    of_group[g] = s.groups == 1 ? 0.0F : group_score(score + g * width, width, top_two);
  }
  std::int64_t last = -1;
  for (std::int64_t i = 0; i < s.top_groups; ++i) {
    last = next_best(of_group, s.groups, last, [](std::int64_t) { return true; });
    open[last] = true;
  }
  last = -1;
  for (std::int64_t j = 0; j < s.top_k; ++j) {
    last = next_best(score, s.experts, last, [&](std::int64_t e) { return open[e / width]; });
    chosen[j] = static_cast<std::int32_t>(last);
  }
}

void check(const RouterShape& s) {
  PLEAT_ASSERT(s.experts > 0 && s.experts <= kMaxExperts && s.groups > 0);
  PLEAT_ASSERT(s.groups <= kMaxGroups && s.experts % s.groups == 0);
  PLEAT_ASSERT(s.top_groups > 0 && s.top_groups <= s.groups);
  PLEAT_ASSERT(s.top_k > 0 && s.top_k <= s.top_groups * (s.experts / s.groups));
}

}  // namespace

void CpuKernels::router_topk(View logits, View bias, View probs, View experts,
                             const RouterShape& s) {
  check(s);
  PLEAT_ASSERT(logits.cols == s.experts && experts.elements() == logits.rows * s.top_k);
  PLEAT_ASSERT(probs.elements() == experts.elements());
  PLEAT_ASSERT(bias.data == nullptr || bias.elements() == s.experts);
  const bool sigmoid = s.score == RouterScore::sigmoid;
  const bool top_two = sigmoid || bias.data != nullptr;
  const auto scaling = static_cast<float>(s.scaling);
  float score[kMaxExperts];
  for (std::int64_t t = 0; t < logits.rows; ++t) {
    const float* row = logits.f32() + t * s.experts;
    float* p = probs.f32() + t * s.top_k;
    std::int32_t* chosen = experts.i32() + t * s.top_k;
    selection_scores(row, bias.f32(), s, score);
    select_experts(score, top_two, s, chosen);
    float sum = 0;
    if (sigmoid) {
      for (std::int64_t j = 0; j < s.top_k; ++j) sum += p[j] = cpu::sigmoid_f32(row[chosen[j]]);
      sum += kTiny;
    } else {
      const Softmax softmax(row, s.experts);
      for (std::int64_t j = 0; j < s.top_k; ++j) sum += p[j] = softmax.of(row[chosen[j]]);
    }
    for (std::int64_t j = 0; j < s.top_k; ++j) {
      p[j] = (s.normalize ? p[j] / sum : p[j]) * scaling;
    }
  }
}

namespace {

// Gradient of one token's probabilities g[k] with respect to its logits, which start at zero.
// softmax, w_j = s p_j:             dl_e = s p_e ([e chosen] g_e - sum g_i p_i)
// softmax normalised, s p_j / P:    the softmax over the chosen alone: dl_j = w_j (g_j - sum g_i
// w_i / s) sigmoid, w_j = s a_j:             dl_j = s g_j a_j (1 - a_j) sigmoid normalised, s a_j /
// A:    dl_j = s (g_j - sum g_i a_i / A) / A * a_j (1 - a_j)
void softmax_bwd(const float* g, const float* logits, const float* w, const std::int32_t* chosen,
                 float* dlogits, const RouterShape& s) {
  const auto scaling = static_cast<float>(s.scaling);
  float mean = 0;
  if (s.normalize) {
    for (std::int64_t j = 0; j < s.top_k; ++j) mean += g[j] * (w[j] / scaling);
    for (std::int64_t j = 0; j < s.top_k; ++j) dlogits[chosen[j]] = w[j] * (g[j] - mean);
    return;
  }
  const Softmax softmax(logits, s.experts);
  for (std::int64_t j = 0; j < s.top_k; ++j) mean += g[j] * softmax.of(logits[chosen[j]]);
  for (std::int64_t e = 0; e < s.experts; ++e) {
    dlogits[e] = -scaling * softmax.of(logits[e]) * mean;
  }
  for (std::int64_t j = 0; j < s.top_k; ++j) {
    dlogits[chosen[j]] = scaling * softmax.of(logits[chosen[j]]) * (g[j] - mean);
  }
}

void sigmoid_bwd(const float* g, const float* logits, const std::int32_t* chosen, float* dlogits,
                 const RouterShape& s) {
  float sum = 0, mean = 0;
  if (s.normalize) {
    for (std::int64_t j = 0; j < s.top_k; ++j) sum += cpu::sigmoid_f32(logits[chosen[j]]);
    sum += kTiny;
    for (std::int64_t j = 0; j < s.top_k; ++j) {
      mean += g[j] * (cpu::sigmoid_f32(logits[chosen[j]]) / sum);
    }
  } else {
    sum = 1;
  }
  const auto scaling = static_cast<float>(s.scaling);
  for (std::int64_t j = 0; j < s.top_k; ++j) {
    const float a = cpu::sigmoid_f32(logits[chosen[j]]);
    dlogits[chosen[j]] = scaling * (g[j] - mean) / sum * a * (1.0F - a);
  }
}

}  // namespace

void CpuKernels::router_topk_bwd(View dprobs, View logits, View probs, View experts, View dlogits,
                                 const RouterShape& s) {
  check(s);
  PLEAT_ASSERT(logits.cols == s.experts && dlogits.cols == s.experts);
  PLEAT_ASSERT(dlogits.rows == logits.rows && experts.elements() == logits.rows * s.top_k);
  PLEAT_ASSERT(dprobs.elements() == experts.elements() && probs.elements() == experts.elements());
  zero(dlogits);
  for (std::int64_t t = 0; t < logits.rows; ++t) {
    const std::int64_t at = t * s.top_k, row = t * s.experts;
    if (s.score == RouterScore::sigmoid) {
      sigmoid_bwd(dprobs.f32() + at, logits.f32() + row, experts.i32() + at, dlogits.f32() + row,
                  s);
    } else {
      softmax_bwd(dprobs.f32() + at, logits.f32() + row, probs.f32() + at, experts.i32() + at,
                  dlogits.f32() + row, s);
    }
  }
}

// Sorts the copies' numbers in `kept`, then turns the order into every copy's place in it: no
// memory but the results'.
void CpuKernels::drop_tokens(View probs, View experts, std::int64_t capacity, View kept,
                             View counts) {
  const auto n = static_cast<std::int32_t>(experts.elements());
  PLEAT_ASSERT(probs.elements() == n && kept.elements() == n && capacity >= 0);
  expert_counts(experts, counts);
  const std::int32_t* expert = experts.i32();
  const auto p = [from = probs.f32()](std::int32_t i) {  // NaN has no order
    return from[i] == from[i] ? from[i] : -1.0F;
  };
  std::int32_t* place = kept.i32();
  for (std::int32_t i = 0; i < n; ++i) place[i] = i;
  std::sort(place, place + n, [=](std::int32_t a, std::int32_t b) {
    if (expert[a] != expert[b]) return expert[a] < expert[b];
    return p(a) != p(b) ? p(a) > p(b) : a < b;
  });
  for (std::int32_t i = 0; i < n; ++i) {  // cycle by cycle; what is done is complemented
    if (place[i] < 0) continue;
    std::int32_t from = i, to = place[i];
    do {
      const std::int32_t next = place[to];
      place[to] = ~from;
      from = to;
      to = next;
    } while (from != i);
  }
  std::int32_t begin = 0;  // of each expert in the order, in place of its count
  for (std::int64_t e = 0; e < counts.elements(); ++e) {
    begin += std::exchange(counts.i32()[e], begin);
  }
  for (std::int32_t i = 0; i < n; ++i) {
    const bool keeps = ~place[i] - counts.i32()[expert[i]] < capacity;
    place[i] = keeps ? expert[i] : -1;
  }
  for (std::int64_t e = counts.elements() - 1; e >= 0; --e) {
    const std::int32_t rows = std::exchange(begin, counts.i32()[e]) - counts.i32()[e];
    counts.i32()[e] = static_cast<std::int32_t>(std::min<std::int64_t>(rows, capacity));
  }
}

void CpuKernels::place_experts(View experts, View table, std::int64_t first, View slots) {
  PLEAT_ASSERT(slots.elements() == experts.elements());
  for (std::int64_t t = 0; t < experts.rows; ++t) {
    for (std::int64_t j = 0; j < experts.cols; ++j) {
      const std::int64_t i = t * experts.cols + j, e = experts.i32()[i];
      slots.i32()[i] = -1;
      if (e < 0) continue;  // a copy that was dropped
      PLEAT_ASSERT(e < table.rows);
      const std::int32_t* const row = table.i32() + e * table.cols;
      slots.i32()[i] = row[1 + (first + t) % row[0]];
    }
  }
}

void CpuKernels::expert_counts(View experts, View counts) {
  zero(counts);
  for (std::int64_t i = 0; i < experts.elements(); ++i) {
    const std::int32_t e = experts.i32()[i];
    PLEAT_ASSERT(e < counts.elements());
    if (e >= 0) ++counts.i32()[e];
  }
}

// The load of each expert over a step, and the bias that follows it (DeepSeek-V3, arXiv:2412.19437
// section 2.1.2): up by a step where there was less than the mean, down where there was more.

void CpuKernels::count_load(View experts, View load) {
  for (std::int64_t i = 0; i < experts.elements(); ++i) {
    const std::int32_t e = experts.i32()[i];
    PLEAT_ASSERT(e >= 0 && e < load.elements());
    load.f32()[e] += 1.0F;
  }
}

void CpuKernels::update_bias(View load, View bias, std::int64_t experts, double step) {
  PLEAT_ASSERT(load.elements() == bias.elements() && load.elements() % experts == 0);
  const auto u = static_cast<float>(step);
  for (std::int64_t first = 0; first < load.elements(); first += experts) {
    const float* counts = load.f32() + first;
    double sum = 0;  // of whole numbers: exact
    for (std::int64_t e = 0; e < experts; ++e) sum += static_cast<double>(counts[e]);
    for (std::int64_t e = 0; e < experts; ++e) {
      const double under = sum - static_cast<double>(experts) * static_cast<double>(counts[e]);
      bias.f32()[first + e] += under > 0 ? u : under < 0 ? -u : 0.0F;
    }
  }
}

}  // namespace pleat
