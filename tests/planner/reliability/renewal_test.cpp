// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Expected times and finish times against a simulation that knows none of the formulas.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "planner/reliability/checkpoint.hpp"
#include "planner/reliability/finish_time.hpp"
#include "tests/planner/reliability/published_formulas.hpp"
#include "tests/planner/reliability/simulated_run.hpp"

namespace pleat {
namespace {

using namespace test;

SaveCycle cycle(double work, double stall, double upload, double restart, double mtbf) {
  return {Seconds(work), Seconds(stall), Seconds(upload), Seconds(restart), Seconds(mtbf)};
}
constexpr double kNever = std::numeric_limits<double>::infinity();

// Rare failures, frequent ones, hopeless ones; with and without uploads.
const SaveCycle kCycles[] = {cycle(1800, 30, 0, 600, 50'000), cycle(600, 5, 300, 900, 6'000),
                             cycle(300, 60, 0, 900, 1'000), cycle(900, 10, 900, 1200, 1'400)};

TEST(Renewal, DalysClosedForm) {
  // mtbf exp(restart / mtbf) (exp((work + stall) / mtbf) - 1), Daly 2006.
  const CycleTime t = expected_cycle(cycle(1138, 60, 0, 900, 10800));
  EXPECT_NEAR(t.total().base(), 10800 * std::exp(900.0 / 10800) * std::expm1(1198.0 / 10800), 1e-9);
}

TEST(Renewal, PartsAddUpToTheWhole) {
  for (const SaveCycle& c : kCycles) {
    const CycleTime t = expected_cycle(c);
    const double whole = c.mtbf.base() * std::exp((c.restart + c.upload) / c.mtbf) *
                         std::expm1((c.work + c.stall) / c.mtbf);
    EXPECT_NEAR(t.total().base() / whole, 1, 1e-12);
    EXPECT_NEAR((t.work + t.stall + t.lost + t.restart) / t.total(), 1, 1e-12);
    EXPECT_NEAR(t.failures, t.total() / c.mtbf, 1e-9 * t.failures);  // failures come at their rate
  }
}

TEST(Renewal, NothingFails) {
  const CycleTime t = expected_cycle(cycle(1800, 30, 0, 600, kNever));
  EXPECT_EQ(t.total(), Seconds(1830));
  EXPECT_EQ(t.failures, 0);
  EXPECT_EQ(cycle_variance(cycle(1800, 30, 0, 600, kNever)), 0);
}

TEST(Renewal, NoProgress) {
  const CycleTime t = expected_cycle(cycle(1800, 30, 0, 600, 1));
  EXPECT_TRUE(std::isinf(t.total().base()));
  EXPECT_EQ(t.goodput(), 0);
}

TEST(Renewal, AgreesWithASimulation) {
  std::mt19937_64 random(20260401);
  for (const SaveCycle& c : kCycles) {
    constexpr int kRuns = 4000, kSaves = 200;
    std::vector<double> totals;
    double lost = 0, restart = 0, failures = 0;
    for (int i = 0; i < kRuns; ++i) {
      const SimulatedRun run = simulate_run(c, kSaves, random);
      totals.push_back(run.total);
      lost += run.lost / kRuns;
      restart += run.restart / kRuns;
      failures += static_cast<double>(run.failures) / kRuns;
    }
    const Sample sample = sample_of(totals);
    const CycleTime t = expected_cycle(c);
    const double error = 4 * std::sqrt(sample.variance / kRuns);
    // The upload of the last save is not waited for, and the first run starts without a failure.
    const double edge = c.upload.base() * 2;
    EXPECT_NEAR(sample.mean, kSaves * t.total().base(), error + edge);
    EXPECT_NEAR(lost / (kSaves * t.lost.base()), 1, 0.02);
    EXPECT_NEAR(restart / (kSaves * t.restart.base()), 1, 0.02);
    EXPECT_NEAR(failures / (kSaves * t.failures), 1, 0.02);
    EXPECT_NEAR(sample.variance / (kSaves * cycle_variance(c)), 1, 0.1);
  }
}

TEST(Renewal, VarianceIsSmoothWhereItsFormsMeet) {
  const auto at = [](double mtbf) { return cycle_variance(cycle(100, 1, 20, 50, mtbf)); };
  // 171 s of cycle, upload and restart: the forms meet at 171e5 s.
  EXPECT_NEAR(at(1.70e7) * 1.70 / (at(1.72e7) * 1.72), 1, 1e-4);
}

TEST(Renewal, SmallLossFormulaHoldsInsideAndBreaksOutside) {
  const Seconds stall(10), restart(600);
  const auto ratio = [&](double mtbf) {
    const Seconds tau = young_interval(stall, Seconds(mtbf));
    const SaveCycle c{tau, stall, Seconds(0), restart, Seconds(mtbf)};
    return test::small_loss_goodput(stall, c.mtbf, restart, tau) / expected_cycle(c).goodput();
  };
  EXPECT_NEAR(ratio(36'000), 1, 0.002);
  EXPECT_LT(ratio(1'000), 0.75);  // recovery pressure 0.67: useless
}

TEST(FinishTime, QuantilesOfASimulation) {
  std::mt19937_64 random(7);
  for (const SaveCycle& c : {cycle(1800, 30, 0, 600, 50'000), cycle(600, 5, 300, 900, 6'000)}) {
    constexpr int kRuns = 20'000, kSaves = 100;
    std::vector<double> totals;
    for (int i = 0; i < kRuns; ++i) totals.push_back(simulate_run(c, kSaves, random).total);
    const Sample sample = sample_of(totals);
    const FinishTime t = finish_time({.cycle = c, .cycles = kSaves, .start = Seconds(0)});
    const double overhead = sample.mean - kSaves * (c.work + c.stall).base();
    EXPECT_NEAR(t.expected.base(), sample.mean, 0.01 * overhead + 600);
    EXPECT_NEAR(t.p50.base(), sample.quantile(0.5), 0.02 * overhead + 300);
    EXPECT_NEAR(t.p90.base(), sample.quantile(0.9), 0.02 * overhead + 300);
  }
}

TEST(FinishTime, QuantilesWithStepTimeAndMtbfUncertain) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  const SaveCycle c = cycle(1200, 10, 0, 900, 11'000);
  const TrainingRun run{.cycle = c, .cycles = 150, .start = Seconds(900), .step_factor = 1.12,
                .mtbf_factor = 1.7};
  std::vector<double> totals;
  for (int i = 0; i < 20'000; ++i) {
    SaveCycle drawn = c;
    drawn.work *= std::exp(std::log(1.12) / kNormal90 * normal(random));
    drawn.mtbf *= std::exp(-std::log(1.7) / kNormal90 * normal(random));
    totals.push_back(900 + simulate_run(drawn, 150, random).total);
  }
  const Sample sample = sample_of(totals);
  const FinishTime t = finish_time(run);
  EXPECT_NEAR(t.p50.base() / sample.quantile(0.5), 1, 0.005);
  EXPECT_NEAR(t.p90.base() / sample.quantile(0.9), 1, 0.01);
}

TEST(FinishTime, AKnownRunThatNeverFails) {
  const TrainingRun run{
      .cycle = cycle(1000, 0, 0, 600, kNever), .cycles = 12.5, .start = Seconds(60)};
  EXPECT_DOUBLE_EQ(finish_time(run).expected.base(), 12'560);
  EXPECT_NEAR(finish_time(run).p50.base(), 12'560, 1e-6);
  EXPECT_NEAR(finish_time(run).p90.base(), 12'560, 1e-6);
}

TEST(FinishTime, P90OfTheStepTimeAlone) {
  const TrainingRun run{.cycle = cycle(1000, 0, 0, 600, kNever), .cycles = 100, .start = Seconds(0),
                .step_factor = 1.12};
  EXPECT_NEAR(finish_time(run).p50.base() / 1e5, 1, 0.002);
  EXPECT_NEAR(finish_time(run).p90.base() / 1e5, 1.12, 0.002);
}

TEST(FinishTime, MoreMtbfIsNeverSlower) {
  for (const double factor : {1.0, 1.7, 3.6}) {
    FinishTime slower{Seconds(kNever), Seconds(kNever), Seconds(kNever)};
    for (double mtbf = 300; mtbf < 1e9; mtbf *= 1.13) {
      const TrainingRun run{.cycle = cycle(600, 5, 300, 900, mtbf),
                            .cycles = 300,
                            .start = Seconds(900),
                            .step_factor = 1.05,
                            .mtbf_factor = factor};
      const FinishTime now = finish_time(run);
      EXPECT_LE(now.expected, slower.expected);
      EXPECT_LE(now.p50, slower.p50) << mtbf;
      EXPECT_LE(now.p90, slower.p90) << mtbf;
      EXPECT_LE(now.p50, now.p90);
      slower = now;
    }
  }
}

}  // namespace
}  // namespace pleat
