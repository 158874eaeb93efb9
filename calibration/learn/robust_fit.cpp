// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Reweighted least squares. Four unknowns: elimination by hand. Eigen stays in `kernels`, whose
// instruction set no other target shares.
#include "calibration/learn/robust_fit.hpp"

#include <algorithm>
#include <cmath>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

double residual_of(const FitRow& row, const LearnedVector& x) {
  double r = row.offset;
  for (std::size_t i = 0; i < kLearnedKinds; ++i) r -= row.slopes[i] * x[i];
  return r;
}

// Of Student's t, over the one of a row without error.
double weight_of(double residual, double scale) {
  const double z = residual / scale;
  return kTailFreedom / (kTailFreedom + z * z);
}

bool is_free(const FitPrior& prior, std::size_t i) { return prior.deviation[i] > 0; }

// The weight of the prior at these values, over that at 0 of a normal one.
double weight_of(const FitPrior& prior, const LearnedVector& x) {
  double distance = 0;
  for (std::size_t i = 0; i < kLearnedKinds; ++i) {
    if (is_free(prior, i)) distance += std::pow(x[i] / prior.deviation[i], 2);
  }
  return (kTailFreedom + 1) / (kTailFreedom + distance);
}

struct Normal {  // matrix x = right
  LearnedMatrix matrix{};
  LearnedVector right{};
};

// `share`: of the weight of a row without error; `known`: of the prior.
Normal normal_equations(const std::vector<FitRow>& rows, const std::vector<double>& weights,
                        const FitPrior& prior, double widening, double share, double known) {
  Normal n;
  for (std::size_t i = 0; i < kLearnedKinds; ++i) {
    n.matrix[i][i] = is_free(prior, i) ? known / (prior.deviation[i] * prior.deviation[i]) : 1;
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double scale = rows[r].scale * widening;
    const double w = share * weights[r] / (scale * scale);
    for (std::size_t i = 0; i < kLearnedKinds; ++i) {
      if (!is_free(prior, i)) continue;
      n.right[i] += w * rows[r].slopes[i] * rows[r].offset;
      for (std::size_t j = 0; j < kLearnedKinds; ++j) {
        if (is_free(prior, j)) n.matrix[i][j] += w * rows[r].slopes[i] * rows[r].slopes[j];
      }
    }
  }
  return n;
}

// One coordinate after the other: exact within limits, since the function is strictly convex.
void solve_within(const Normal& n, const FitPrior& prior, LearnedVector& x) {
  constexpr int kSweeps = 500;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    double moved = 0;
    for (std::size_t i = 0; i < kLearnedKinds; ++i) {
      if (!is_free(prior, i)) continue;
      double right = n.right[i];
      for (std::size_t j = 0; j < kLearnedKinds; ++j) {
        if (j != i) right -= n.matrix[i][j] * x[j];
      }
      const double next = std::clamp(right / n.matrix[i][i], prior.low[i], prior.high[i]);
      moved = std::max(moved, std::abs(next - x[i]));
      x[i] = next;
    }
    if (moved < 1e-12) return;
  }
}

// Of a symmetric, positive definite matrix (the prior makes it one), by Gauss and Jordan.
LearnedMatrix inverse(LearnedMatrix a) {
  LearnedMatrix b{};
  for (std::size_t i = 0; i < kLearnedKinds; ++i) b[i][i] = 1;
  for (std::size_t i = 0; i < kLearnedKinds; ++i) {
    PLEAT_ASSERT(a[i][i] > 0);
    const double pivot = a[i][i];
    for (std::size_t j = 0; j < kLearnedKinds; ++j) {
      a[i][j] /= pivot;
      b[i][j] /= pivot;
    }
    for (std::size_t k = 0; k < kLearnedKinds; ++k) {
      if (k == i) continue;
      const double factor = a[k][i];
      for (std::size_t j = 0; j < kLearnedKinds; ++j) {
        a[k][j] -= factor * a[i][j];
        b[k][j] -= factor * b[i][j];
      }
    }
  }
  return b;
}

// With the information that a row of Student's t carries on average. Symmetric to the bit.
LearnedMatrix covariance_of(const std::vector<FitRow>& rows, const std::vector<double>& weights,
                            const FitPrior& prior) {
  constexpr double kInformation = (kTailFreedom + 1) / (kTailFreedom + 3);
  LearnedMatrix m = inverse(normal_equations(rows, weights, prior, 1, kInformation, 1).matrix);
  for (std::size_t i = 0; i < kLearnedKinds; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const bool known = is_free(prior, i) && is_free(prior, j);
      m[i][j] = m[j][i] = known ? (m[i][j] + m[j][i]) / 2 : 0;
    }
  }
  return m;
}

}  // namespace

FitResult fit_robustly(const std::vector<FitRow>& rows, const FitPrior& prior) {
  constexpr double kWeight = (kTailFreedom + 1) / kTailFreedom;  // of a row without error
  constexpr int kRounds = 60;
  FitResult result;
  result.weights.assign(rows.size(), 1.0);
  for (const double widening : {8.0, 4.0, 2.0, 1.0}) {
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t r = 0; r < rows.size(); ++r) {
        result.weights[r] = weight_of(residual_of(rows[r], result.value), rows[r].scale * widening);
      }
      const LearnedVector before = result.value;
      const Normal equations = normal_equations(rows, result.weights, prior, widening, kWeight,
                                                weight_of(prior, before));
      solve_within(equations, prior, result.value);
      double moved = 0;
      for (std::size_t i = 0; i < kLearnedKinds; ++i) {
        moved = std::max(moved, std::abs(result.value[i] - before[i]));
      }
      if (moved < 1e-10) break;
    }
  }
  for (const FitRow& row : rows) result.residuals.push_back(residual_of(row, result.value));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    result.weights[r] = weight_of(result.residuals[r], rows[r].scale);
  }
  result.covariance = covariance_of(rows, result.weights, prior);
  return result;
}

}  // namespace pleat
