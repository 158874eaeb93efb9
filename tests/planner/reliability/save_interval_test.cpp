// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Checkpoint intervals: published formulas at published points, and the exact optimum.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "planner/reliability/checkpoint.hpp"
#include "planner/reliability/renewal.hpp"
#include "planner/reliability/spares.hpp"
#include "tests/planner/reliability/published_formulas.hpp"

namespace pleat {
namespace {

struct Vector {
  double stall, mtbf, restart;                       // s
  double young, daly, availability, goodput_at_young;
};
// Worked by hand from the formulas of Young, Daly, arXiv:2410.18124 and arXiv:2410.21680.
constexpr Vector kVectors[] = {{10, 6000, 600, 346.4, 339.8, 373.5, 0.847},
                               {5, 10800, 300, 328.6, 325.3, 338.2, 0.943},
                               {60, 10800, 900, 1138.4, 1098.8, 1246.4, 0.821},
                               {60, 43200, 600, 2276.8, 2237.0, 2353.4, 0.935},
                               {120, 21600, 600, 2276.8, 2197.5, 2431.4, 0.873}};

TEST(SaveInterval, PublishedVectors) {
  for (const Vector& v : kVectors) {
    const Seconds stall(v.stall), mtbf(v.mtbf), restart(v.restart);
    EXPECT_NEAR(young_interval(stall, mtbf).base(), v.young, 0.05);
    EXPECT_NEAR(daly_interval(stall, mtbf).base(), v.daly, 0.05);
    EXPECT_NEAR(test::availability_interval(stall, mtbf, restart).base(), v.availability, 0.05);
    EXPECT_NEAR(test::small_loss_goodput(stall, mtbf, restart, young_interval(stall, mtbf)),
                v.goodput_at_young, 0.0005);
  }
}

TEST(SaveInterval, StepsBetweenSavesWhenRestartsCount) {
  // changlan.org: sqrt(2 (6000 + 600) 10) / 15 s a step.
  EXPECT_NEAR(young_interval(Seconds(10), Seconds(6600)) / Seconds(15), 24.2, 0.05);
}

TEST(SaveInterval, RecoveryPressureAndTheClamp) {
  EXPECT_DOUBLE_EQ(recovery_pressure(Seconds(6000), Seconds(600), Seconds(1800)), 0.25);
  EXPECT_EQ(test::small_loss_goodput(Seconds(1), Seconds(100), Seconds(200), Seconds(10)), 0);
}

TEST(SaveInterval, RenewalIsTheMinimumOfTheExactTime) {
  for (const double mtbf : {100.0, 1000.0, 1e5, 1e8}) {
    for (const double stall : {0.01, 1.0, 60.0}) {
      const auto time_of_work = [&](Seconds work) {
        const SaveCycle c{work, Seconds(stall), Seconds(0), Seconds(300), Seconds(mtbf)};
        return expected_cycle(c).total() / work;
      };
      const Seconds best = renewal_interval(Seconds(stall), Seconds(mtbf));
      EXPECT_GT(best.base(), 0);
      EXPECT_LT(best, young_interval(Seconds(stall), Seconds(mtbf)));
      EXPECT_LT(time_of_work(best), time_of_work(best * 1.02)) << mtbf << " " << stall;
      EXPECT_LT(time_of_work(best), time_of_work(best * 0.98)) << mtbf << " " << stall;
    }
  }
}

TEST(SaveInterval, RenewalNearDalyWhereFailuresAreRare) {
  const Seconds stall(60), mtbf(43200);
  EXPECT_NEAR(renewal_interval(stall, mtbf) / daly_interval(stall, mtbf), 1, 1e-4);
  EXPECT_TRUE(std::isinf(
      renewal_interval(stall, Seconds(std::numeric_limits<double>::infinity())).base()));
  EXPECT_EQ(renewal_interval(Seconds(0), mtbf), Seconds(0));
}

TEST(Checkpoint, BytesOfAParameter) {
  EXPECT_EQ(checkpoint_bytes_per_parameter(Precision::bf16, {}), 14);
  EXPECT_EQ(checkpoint_bytes_per_parameter(Precision::mxfp8, {}), 14);
  EXPECT_EQ(checkpoint_bytes_per_parameter(Precision::fp32, {}), 12);
  const OptimizerPlan narrow{.exp_avg = DType::bf16, .exp_avg_sq = DType::fp8, .grad_reduce = {}};
  EXPECT_EQ(checkpoint_bytes_per_parameter(Precision::bf16, narrow), 2 + 4 + 2 + 1);
}

TEST(Checkpoint, StallOfBlockingAndBackgroundSaves) {
  const SaveTimes blocking = blocking_save(Bytes(1e13), BytesPerSecond(1e11), Seconds(2));
  EXPECT_DOUBLE_EQ(blocking.stall.base(), 102);
  EXPECT_EQ(blocking.upload, Seconds(0));
  const SaveTimes background =
      background_save(Bytes(1e13), 1000, BytesPerSecond(5e10), BytesPerSecond(1e11), Seconds(2));
  EXPECT_DOUBLE_EQ(background.stall.base(), 2.2);  // 10 GB a GPU at 50 GB/s
  EXPECT_DOUBLE_EQ(background.upload.base(), 100);
}

TEST(Spares, PoissonQuantile) {
  EXPECT_NEAR(poisson_cdf(3, 2), std::exp(-3.0) * (1 + 3 + 4.5), 1e-14);
  EXPECT_EQ(poisson_cdf(3, -1), 0);
  EXPECT_EQ(poisson_quantile(0, 0.99), 0);
  EXPECT_EQ(poisson_quantile(0.005, 0.99), 0);  // P(0) = 0.995
  EXPECT_EQ(poisson_quantile(1, 0.99), 4);      // P(<= 3) = 0.981, P(<= 4) = 0.996
  EXPECT_EQ(poisson_quantile(10, 0.99), 18);    // tables: 0.9857 at 17, 0.9928 at 18
  for (const double mean : {0.1, 2.0, 40.0, 1e4}) {
    const int spares = poisson_quantile(mean, 0.999);
    EXPECT_GE(poisson_cdf(mean, spares), 0.999);
    EXPECT_LT(poisson_cdf(mean, spares - 1), 0.999);
  }
}

}  // namespace
}  // namespace pleat
