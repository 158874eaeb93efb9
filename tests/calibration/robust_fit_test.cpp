// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The estimate of few constants: exact where it is linear, unmoved by an odd row.
#include "calibration/learn/robust_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace pleat {
namespace {

FitPrior wide_prior() {
  FitPrior prior;
  prior.deviation.fill(1.0);
  prior.low.fill(-10);
  prior.high.fill(10);
  return prior;
}

constexpr LearnedVector kTruth{0.10, -0.20, 0.30, 0.05};

// Rows with different shares of what the constants price, and this much error each.
std::vector<FitRow> rows_with(const std::vector<double>& errors) {
  std::vector<FitRow> rows;
  for (std::size_t r = 0; r < errors.size(); ++r) {
    const double t = static_cast<double>(r);
    FitRow row;
    row.slopes = {0.4 + 0.3 * std::cos(t), 0.2 + 0.15 * std::sin(2 * t),
                  0.3 + 0.25 * std::sin(t + 1), 0.1 + 0.08 * std::cos(3 * t)};
    for (std::size_t i = 0; i < kLearnedKinds; ++i) row.offset += row.slopes[i] * kTruth[i];
    row.offset += errors[r];
    row.scale = 0.01;
    rows.push_back(row);
  }
  return rows;
}

double worst_error(const FitResult& fit) {
  double worst = 0;
  for (std::size_t i = 0; i < kLearnedKinds; ++i) {
    worst = std::max(worst, std::abs(fit.value[i] - kTruth[i]));
  }
  return worst;
}

TEST(RobustFit, RecoversTheConstantsOfRowsWithoutError) {
  EXPECT_LT(worst_error(fit_robustly(rows_with(std::vector<double>(40, 0.0)), wide_prior())), 0.01);
}

TEST(RobustFit, WithoutRowsTheConstantsStayAndAreAsUnsureAsBefore) {
  const FitResult fit = fit_robustly({}, wide_prior());
  EXPECT_EQ(fit.value, LearnedVector{});
  for (std::size_t i = 0; i < kLearnedKinds; ++i) {
    for (std::size_t j = 0; j < kLearnedKinds; ++j) {
      EXPECT_DOUBLE_EQ(fit.covariance[i][j], i == j ? 1.0 : 0.0);
    }
  }
}

// One row of one constant: (0.1 / 0.05^2) / (1 / 0.05^2 + 1 / 0.1^2), where the weight of a row
// with that residual is put in.
TEST(RobustFit, OneRowIsWeighedAgainstThePrior) {
  FitPrior prior = wide_prior();
  prior.deviation = {0.1, 0, 0, 0};
  const FitResult fit = fit_robustly({{0.1, {1, 0, 0, 0}, 0.05}}, prior);
  const double residual = 0.1 - fit.value[0];
  const double weight = (kTailFreedom + 1) / (kTailFreedom + std::pow(residual / 0.05, 2));
  const double known = (kTailFreedom + 1) / (kTailFreedom + std::pow(fit.value[0] / 0.1, 2));
  const double row = weight / (0.05 * 0.05), before = known / (0.1 * 0.1);
  EXPECT_NEAR(fit.value[0], 0.1 * row / (row + before), 1e-8);
  EXPECT_LT(std::sqrt(fit.covariance[0][0]), 0.1);
  EXPECT_EQ(fit.value[1], 0);  // a constant that may not move
  EXPECT_EQ(fit.covariance[1][1], 0);
}

TEST(RobustFit, AnOddRowHardlyPulls) {
  std::vector<double> errors(40, 0.0);
  const FitResult clean = fit_robustly(rows_with(errors), wide_prior());
  errors[7] = 0.8;
  const FitResult odd = fit_robustly(rows_with(errors), wide_prior());
  for (std::size_t i = 0; i < kLearnedKinds; ++i) {
    EXPECT_NEAR(odd.value[i], clean.value[i], 2 * std::sqrt(clean.covariance[i][i]));
  }
  EXPECT_LT(odd.weights[7], 0.01);
  EXPECT_GT(odd.weights[8], 0.9);
}

TEST(RobustFit, ManyRowsThatAgreeOutweighThePrior) {
  FitPrior prior = wide_prior();
  prior.deviation = {0.03, 0, 0, 0};
  const auto learned = [&](std::size_t count) {
    return fit_robustly(std::vector<FitRow>(count, {0.25, {1, 0, 0, 0}, 0.07}), prior).value[0];
  };
  EXPECT_LT(learned(1), 0.03);  // one run is odd
  EXPECT_GT(learned(5), 0.2);   // five are another cluster
}

TEST(RobustFit, StaysWithinItsLimits) {
  FitPrior prior = wide_prior();
  prior.low[1] = -0.05;
  const FitResult fit = fit_robustly(rows_with(std::vector<double>(40, 0.0)), prior);
  EXPECT_DOUBLE_EQ(fit.value[1], -0.05);
}

TEST(RobustFit, MoreRowsMakeItSurer) {
  double last = 1;
  for (const std::size_t count : {1U, 5U, 20U, 80U}) {
    const double error = std::sqrt(
        fit_robustly(rows_with(std::vector<double>(count, 0.0)), wide_prior()).covariance[0][0]);
    EXPECT_LT(error, last);
    last = error;
  }
}

}  // namespace
}  // namespace pleat
