// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Learning from synthetic runs whose constants are known: a profile comes closer to them, one odd
// run is named and moves nothing.
#include "calibration/learn/learn.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "calibration/learn/constants.hpp"
#include "core/diagnostics.hpp"

namespace pleat {
namespace {

using ::testing::HasSubstr;

Profile begin() {
  Profile p = datasheet_profile("ours", 2, Runtime::megatron);
  p.band_terms.experts = 0.1;
  p.eras.push_back({"nemo-25.11", p});
  p.eras.back().run.sustained_clock.gemm_bf16 = 0.8;
  return p;
}

// A step of so many seconds of each kind at the rates of `begin`.
StepEstimate price(const LearnedVector& seconds, const Profile& p) {
  const Profile base = begin();
  StepEstimate e;
  auto& parts = e.parts;
  const auto part = [&](CostClass c, double s) {
    parts[static_cast<std::size_t>(c)] = Seconds(s);
    e.step += Seconds(s);
  };
  const auto rate = [](const Profile& q) {
    return q.sustained_clock.gemm_bf16 * q.kernel(KernelClass::gemm).max_efficiency;
  };
  const auto memory = [](const Profile& q) {
    return q.kernel(KernelClass::norm).memory_efficiency;
  };
  part(CostClass::gemm, seconds[0] * rate(base) / rate(p));
  part(CostClass::memory_bound, seconds[1] * memory(base) / memory(p));
  part(CostClass::ep_comm, seconds[2] * base.exchange_rate_nccl / p.exchange_rate_nccl);
  part(CostClass::host, seconds[3] * (p.host_per_op / base.host_per_op));
  e.relative_band = std::hypot(p.relative_band, learned_band(parts, p));
  return e;
}

RunToLearn run_of(const std::string& name, const LearnedVector& seconds, const Profile& truth,
                  double error = 0) {
  RunToLearn run;
  run.file = "runs.jsonl";
  run.name = name;
  run.what = "a run";
  run.gpus = 64;
  run.use.experts = true;
  run.price = [seconds](const Profile& p) { return price(seconds, p); };
  run.measured = run.price(truth).step.base() * std::exp(error);
  return run;
}

const LearnedVector kTrueLogs{0.15, 0.10, 0.20, 0.10};

std::vector<RunToLearn> five_runs(const std::vector<double>& errors) {
  const Profile truth = moved_profile(begin(), kTrueLogs);
  const std::vector<LearnedVector> seconds{
      {5, 2, 1, 0.5}, {8, 1, 1, 0.2}, {3, 3, 2, 0.5}, {6, 2, 3, 0.1}, {4, 1, 1, 2.0}};
  std::vector<RunToLearn> runs;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    runs.push_back(run_of("run " + std::to_string(i), seconds[i], truth, errors[i]));
  }
  return runs;
}

const std::vector<double> kNoise{0.01, -0.02, 0.015, -0.01, 0.005};

// |ln| of a run that was not given.
double error_of(const Profile& p) {
  const RunToLearn other = run_of("other", {6, 2, 1, 0.4}, moved_profile(begin(), kTrueLogs));
  return std::abs(std::log(other.price(p).step.base() / other.measured));
}

TEST(Learn, ARunThatWasNotGivenIsPredictedBetter) {
  const Profile learned = learn_from_runs(begin(), five_runs(kNoise));
  EXPECT_GT(error_of(begin()), 0.13);
  EXPECT_LT(error_of(learned), 0.04);
  ASSERT_TRUE(learned.learned);
  EXPECT_EQ(learned.learned->from, begin().name);
  EXPECT_EQ(learned.learned->runs.size(), 5U);
}

TEST(Learn, ErasMoveWithTheProfile) {
  const Profile learned = learn_from_runs(begin(), five_runs(kNoise));
  const double factor = learned.learned->constants[0].time_factor;
  EXPECT_GT(factor, 1.0);
  EXPECT_DOUBLE_EQ(learned.sustained_clock.gemm_bf16, 0.9 / factor);
  EXPECT_DOUBLE_EQ(learned.eras.front().run.sustained_clock.gemm_bf16, 0.8 / factor);
}

TEST(Learn, OneOddRunOfFiveIsNamedAndMovesNothing) {
  std::vector<double> errors = kNoise;
  const Profile clean = learn_from_runs(begin(), five_runs(errors));
  errors[2] = std::log(2.0);
  const Profile odd = learn_from_runs(begin(), five_runs(errors));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(odd.learned->runs[i].outlier, i == 2) << i;
  EXPECT_LT(odd.learned->runs[2].weight, 0.2);
  const RunToLearn other = run_of("other", {6, 2, 1, 0.4}, begin());
  EXPECT_NEAR(std::log(other.price(odd).step / other.price(clean).step), 0, odd.learned->noise);
}

TEST(Learn, TheBandNarrowsTheMoreRunsThereAre) {
  const std::vector<RunToLearn> all = five_runs(kNoise);
  const RunToLearn other = run_of("other", {6, 2, 1, 0.4}, begin());
  double last = other.price(begin()).relative_band;
  for (const std::size_t count : {1U, 2U, 5U}) {
    const Profile learned =
        learn_from_runs(begin(), {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)});
    const double band = other.price(learned).relative_band;
    EXPECT_LT(band, last) << count;
    EXPECT_GE(band, learned.learned->noise);
    EXPECT_LT(learned.band_terms.experts, 0.1);
    last = band;
  }
}

TEST(Learn, TheBandIsNarrowerWhereThePlanIsAlike) {
  const Profile learned = learn_from_runs(begin(), five_runs(kNoise));
  const double alike = price({5, 2, 1, 0.5}, learned).relative_band;
  const double other = price({0.1, 0.1, 0.1, 5}, learned).relative_band;  // all of it host time
  EXPECT_LT(alike, other);
}

TEST(Learn, RatesStayWithinTheirFields) {
  const Profile truth = moved_profile(begin(), {-0.3, -0.2, 0, 0});
  const Profile learned = learn_from_runs(begin(), {run_of("fast", {8, 1, 0.1, 0.1}, truth),
                                                    run_of("faster", {7, 1, 0.1, 0.1}, truth)});
  EXPECT_LE(learned.sustained_clock.gemm_bf16, 1.0);
  EXPECT_LE(learned.kernel(KernelClass::gemm).max_efficiency, 1.0);
  EXPECT_GT(learned.kernel(KernelClass::gemm).max_efficiency, 0.7);  // what the clock cannot
}

std::string refusal_of(const Profile& profile, const std::vector<RunToLearn>& runs) {
  try {
    (void)learn_from_runs(profile, runs);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

TEST(Learn, WhatCannotBeLearnedFromIsRefused) {
  EXPECT_THAT(refusal_of(begin(), {}), HasSubstr("no run can be used"));
  const Profile learned = learn_from_runs(begin(), five_runs(kNoise));
  EXPECT_THAT(refusal_of(learned, five_runs(kNoise)), HasSubstr("has learned from runs before"));
  const Profile truth = begin();
  EXPECT_THAT(refusal_of(begin(), {run_of("slow", {5, 2, 1, 1}, truth, std::log(8.0)),
                                   run_of("fast", {5, 2, 1, 1}, truth, -std::log(8.0))}),
              HasSubstr("2 of 2 runs are further from the profile"));
}

TEST(Learn, AProfileThatLearnedReadsBackTheSame) {
  const Profile learned = learn_from_runs(begin(), five_runs(kNoise));
  EXPECT_EQ(read_profile(write_profile(learned), "learned.json"), learned);
}

}  // namespace
}  // namespace pleat
