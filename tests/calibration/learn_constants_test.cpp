// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which fields a learned constant moves, and how far.
#include <gtest/gtest.h>

#include <cmath>

#include "calibration/learn/constants.hpp"
#include "core/spec/catalog.hpp"

namespace pleat {
namespace {

constexpr std::size_t kCompute = 0, kMemory = 1, kExchange = 2, kHost = 3;

Profile datasheet() { return datasheet_profile("ours", 2, Runtime::megatron); }

LearnedVector only(std::size_t kind, double log) {
  LearnedVector v{};
  v[kind] = log;
  return v;
}

TEST(LearnedConstants, NothingMovesAtZero) {
  const Profile shipped = load_profile("h100-sxm-megatron");
  EXPECT_EQ(moved_profile(shipped, LearnedVector{}), shipped);
}

TEST(LearnedConstants, EachMovesItsOwnFields) {
  const Profile p = datasheet();
  const double log = std::log(1.25);
  const Profile compute = moved_profile(p, only(kCompute, log));
  EXPECT_DOUBLE_EQ(compute.sustained_clock.attention, 0.9 / 1.25);
  EXPECT_EQ(compute.kernels, p.kernels);
  const Profile memory = moved_profile(p, only(kMemory, log));
  EXPECT_DOUBLE_EQ(memory.kernel(KernelClass::norm).memory_efficiency, 0.8 / 1.25);
  EXPECT_EQ(memory.sustained_clock, p.sustained_clock);
  const Profile exchange = moved_profile(p, only(kExchange, log));
  EXPECT_DOUBLE_EQ(exchange.exchange_rate_nccl, 1 / 1.25);
  EXPECT_DOUBLE_EQ(exchange.collective(0, Collective::all_gather).efficiency, 0.75 / 1.25);
  const Profile host = moved_profile(p, only(kHost, log));
  EXPECT_DOUBLE_EQ(host.host_per_op.base(), 5e-6 * 1.25);
  EXPECT_DOUBLE_EQ(host.step_overhead.base(), 5e-3 * 1.25);
}

TEST(LearnedConstants, ErasMoveAlike) {
  const Profile shipped = load_profile("h100-sxm-megatron");
  const Profile moved = moved_profile(shipped, only(kCompute, 0.1));
  ASSERT_FALSE(shipped.eras.empty());
  for (std::size_t i = 0; i < shipped.eras.size(); ++i) {
    EXPECT_DOUBLE_EQ(moved.eras[i].run.sustained_clock.gemm_bf16,
                     shipped.eras[i].run.sustained_clock.gemm_bf16 / std::exp(0.1));
  }
}

// A clock of 0.9 goes up to 1; what is left of a factor of 1.25 is the curve's.
TEST(LearnedConstants, BeyondTheClockTheCurvesOfADatasheetGiveWay) {
  const Profile p = moved_profile(datasheet(), only(kCompute, -std::log(1.25)));
  EXPECT_DOUBLE_EQ(p.sustained_clock.gemm_bf16, 1.0);
  EXPECT_NEAR(p.kernel(KernelClass::gemm).max_efficiency, 0.7 * 1.25 * 0.9, 1e-12);
  EXPECT_NEAR(limits_of(datasheet()).low[kCompute], std::log(0.9 * 0.7), 1e-12);
}

TEST(LearnedConstants, WithMeasuredLawsTheClockIsTheLimit) {
  const Profile shipped = load_profile("h100-sxm-megatron");
  const Profile p = moved_profile(shipped, only(kCompute, -1.0));
  EXPECT_DOUBLE_EQ(p.sustained_clock.gemm_bf16, 1.0);
  EXPECT_EQ(p.kernels, shipped.kernels);
}

TEST(LearnedConstants, TheWiderTheBandTheLessIsKnown) {
  Profile p = datasheet();
  const double wide = prior_of(p).deviation[kCompute];
  p.relative_band = 0.075;
  EXPECT_LT(prior_of(p).deviation[kCompute], wide);
  EXPECT_DOUBLE_EQ(run_noise(p), 0.07);
}

TEST(LearnedConstants, SaysWhichFieldsMoved) {
  const Profile p = datasheet();
  const auto fields = moved_fields(LearnedKind::host, p, moved_profile(p, only(kHost, 0.7)));
  ASSERT_EQ(fields.size(), 2U);  // the others are 0
  EXPECT_EQ(fields[0].name, "host_per_op");
  EXPECT_EQ(fields[0].before, "5 us");
  EXPECT_EQ(fields[0].after, "10.07 us");
  EXPECT_TRUE(moved_fields(LearnedKind::memory, p, p).empty());
}

}  // namespace
}  // namespace pleat
