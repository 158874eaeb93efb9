// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/conformance/router_reference.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pleat::conformance {
namespace {

// Scores of all experts of one token, before selection.
std::vector<double> scores_of(const Matrix& logits, std::int64_t token, const RouterShape& s) {
  std::vector<double> score;
  double sum = 0;
  for (std::int64_t e = 0; e < s.experts; ++e) {
    const double l = logits(token, e);
    score.push_back(s.score == RouterScore::sigmoid ? 1 / (1 + std::exp(-l)) : std::exp(l));
    sum += score.back();
  }
  if (s.score == RouterScore::softmax) {
    for (double& v : score) v /= sum;
  }
  return score;
}

std::vector<std::int64_t> best(const std::vector<double>& score, std::int64_t count) {
  std::vector<std::int64_t> order(score.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return score[static_cast<std::size_t>(a)] > score[static_cast<std::size_t>(b)];
  });
  order.resize(static_cast<std::size_t>(count));
  return order;
}

void mask_groups(std::vector<double>& selection, bool top_two, const RouterShape& s) {
  const auto width = static_cast<std::size_t>(s.experts / s.groups);
  std::vector<double> group_score;
  for (std::size_t first = 0; first < selection.size(); first += width) {
    std::vector<double> members(selection.begin() + static_cast<std::ptrdiff_t>(first),
                                selection.begin() + static_cast<std::ptrdiff_t>(first + width));
    std::sort(members.rbegin(), members.rend());
    group_score.push_back(members[0] + (top_two && width > 1 ? members[1] : 0));
  }
  const auto open = best(group_score, s.top_groups);
  for (std::size_t e = 0; e < selection.size(); ++e) {
    if (std::count(open.begin(), open.end(), static_cast<std::int64_t>(e / width)) == 0) {
      selection[e] = -INFINITY;
    }
  }
}

}  // namespace

Matrix probabilities_of(const Matrix& logits, const std::vector<std::int32_t>& experts,
                        const RouterShape& s) {
  Matrix probs(logits.rows, s.top_k);
  for (std::int64_t t = 0; t < logits.rows; ++t) {
    const std::vector<double> score = scores_of(logits, t, s);
    double sum = s.score == RouterScore::sigmoid ? 1e-20 : 0;
    for (std::int64_t j = 0; j < s.top_k; ++j) {
      probs(t, j) =
          score[static_cast<std::size_t>(experts[static_cast<std::size_t>(t * s.top_k + j)])];
      sum += probs(t, j);
    }
    for (std::int64_t j = 0; j < s.top_k; ++j) probs(t, j) *= s.scaling / (s.normalize ? sum : 1);
  }
  return probs;
}

Routed route(const Matrix& logits, const Matrix* bias, const RouterShape& s) {
  Routed out;
  for (std::int64_t t = 0; t < logits.rows; ++t) {
    std::vector<double> selection = scores_of(logits, t, s);
    for (std::size_t e = 0; bias != nullptr && e < selection.size(); ++e) {
      selection[e] += bias->values[e];
    }
    const bool top_two = s.score == RouterScore::sigmoid || bias != nullptr;
    if (s.groups > 1) mask_groups(selection, top_two, s);
    for (const std::int64_t e : best(selection, s.top_k)) {
      out.experts.push_back(static_cast<std::int32_t>(e));
    }
  }
  out.probs = probabilities_of(logits, out.experts, s);
  return out;
}

}  // namespace pleat::conformance
