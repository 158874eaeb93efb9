// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Router losses by their definitions, their gradients by finite differences with the counts held
// fixed; loads and biases.
#include <cmath>

#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

constexpr RouterLossFactors kFactors{.aux = 0.01, .seq_aux = 0.02, .z = 0.03};

struct Values {
  double aux = 0, seq_aux = 0, z = 0;
};

// Of all rows, `rows` a sequence; experts[t * k + j].
Values losses(const Matrix& logits, const std::vector<std::int32_t>& experts, const RouterShape& s,
              std::int64_t rows) {
  const std::int64_t sequences = logits.rows / rows;
  Matrix counts(sequences, s.experts), scores(sequences, s.experts);
  Values out;
  for (std::int64_t t = 0; t < logits.rows; ++t) {
    double sum = 0, exps = 0;
    const auto a = [&](std::int64_t e) {
      const double x = std::exp(logits(t, e));
      return s.score == RouterScore::sigmoid ? x / (1 + x) : x;
    };
    for (std::int64_t e = 0; e < s.experts; ++e) sum += a(e), exps += std::exp(logits(t, e));
    for (std::int64_t e = 0; e < s.experts; ++e) scores(t / rows, e) += a(e) / sum;
    for (std::int64_t j = 0; j < s.top_k; ++j) {
      counts(t / rows, experts[static_cast<std::size_t>(t * s.top_k + j)]) += 1;
    }
    out.z += kFactors.z * std::pow(std::log(exps), 2);
  }
  for (std::int64_t e = 0; e < s.experts; ++e) {
    double f = 0, p = 0;
    for (std::int64_t b = 0; b < sequences; ++b) {
      f += counts(b, e);
      p += scores(b, e);
      out.seq_aux += kFactors.seq_aux * counts(b, e) * scores(b, e);
    }
    out.aux += kFactors.aux * f * p;
  }
  return out;
}

TEST_P(KernelConformance, RouterLossesAndTheirGradient) {
  for (const RouterScore score : {RouterScore::softmax, RouterScore::sigmoid}) {
    const RouterShape s{.experts = 6, .top_k = 2, .score = score};
    const Matrix logits = random_matrix(12, 6, 1, 2);
    std::vector<std::int32_t> experts;
    for (int t = 0; t < 12; ++t) experts.insert(experts.end(), {t % 3, 3 + t % 2});
    const RouterRows rows{.first = 0, .rows = 4};
    const View vl = in(logits), stats = out(3, 13), values = inout(Matrix(1, 3, 1));
    k().router_stats(vl, in_i32(experts, 12, 2), stats, s, rows);
    k().router_losses(stats, kFactors, 0.5, values);
    const Values want = losses(logits, experts, s, 4);
    EXPECT_NEAR(get(values)(0, 0), 1 + 0.5 * want.aux, 1e-5);
    EXPECT_NEAR(get(values)(0, 1), 1 + 0.5 * want.seq_aux, 1e-5);
    EXPECT_NEAR(get(values)(0, 2), 1 + 0.5 * want.z, 1e-5);

    const Matrix before = random_matrix(12, 6, 2);
    const View dlogits = inout(before);
    k().router_losses_bwd(vl, stats, dlogits, s, rows, kFactors);
    const Matrix slope = numeric_gradient(logits, Matrix(1, 1, 1), [&](const Matrix& l) {
      const Values v = losses(l, experts, s, 4);
      return Matrix(1, 1, v.aux + v.seq_aux + v.z);
    });
    expect_close(get(dlogits), plus(before, slope), "dlogits");
  }
}

// Ranks that split a sequence count into the same row; their sums are the whole's.
TEST_P(KernelConformance, RouterStatsOfConsecutiveRows) {
  const RouterShape s{.experts = 4, .top_k = 1};
  const Matrix logits = random_matrix(6, 4, 1);
  const std::vector<std::int32_t> experts{0, 1, 2, 3, 0, 0};
  const View whole = out(2, 9), first = out(2, 9), second = out(2, 9);
  k().router_stats(in(logits), in_i32(experts, 6, 1), whole, s, {.first = 0, .rows = 3});
  Matrix top(2, 4), rest(4, 4);
  std::copy_n(logits.values.begin(), 8, top.values.begin());
  std::copy_n(logits.values.begin() + 8, 16, rest.values.begin());
  k().router_stats(in(top), in_i32({0, 1}, 2, 1), first, s, {.first = 0, .rows = 3});
  k().router_stats(in(rest), in_i32({2, 3, 0, 0}, 4, 1), second, s, {.first = 2, .rows = 3});
  expect_close(plus(get(first), get(second)), get(whole), "stats", 1e-6);
  EXPECT_EQ(get(whole)(1, 0), 2);  // tokens 4 and 5 chose expert 0
}

TEST_P(KernelConformance, BiasFollowsTheLoad) {
  const View load = inout(Matrix(1, 6, 300));
  std::vector<std::int32_t> picks(701, 1);
  picks[350] = 2;
  k().count_load(in_i32(picks, 701, 1), load);
  const Matrix counted = get(load);
  EXPECT_EQ(counted.values, (std::vector<double>{300, 1000, 301, 300, 300, 300}));
  const View bias = inout(Matrix(1, 6, 0.5));
  k().update_bias(load, bias, 3, 0.125);
  // The first three: mean 533.67. The others are at their mean.
  EXPECT_EQ(get(bias).values, (std::vector<double>{0.625, 0.375, 0.625, 0.5, 0.5, 0.5}));
}

}  // namespace
}  // namespace pleat::conformance
