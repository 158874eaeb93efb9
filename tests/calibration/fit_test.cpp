// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Fits recover the constants that made synthetic measurements; held-out points are not looked at.
#include <gtest/gtest.h>

#include <cmath>

#include "calibration/fit/curve_fit.hpp"
#include "calibration/fit/family.hpp"
#include "calibration/fit/profile_fit.hpp"

namespace pleat {
namespace {

ClusterSpec machine() {
  ClusterSpec c;
  c.name = "localhost";
  c.gpu.peak_fp32 = FlopsPerSecond(2e11);
  c.gpu.memory_bandwidth = BytesPerSecond(5e10);
  c.shared_cores = 2;
  c.tiers.push_back({"memory", 0, BytesPerSecond(5e10), Seconds(1e-6)});
  return c;
}

EfficiencyCurve truth() {
  EfficiencyCurve c;
  c.max_efficiency = 0.4;
  c.half_work = Flops(2e6);
  c.memory_efficiency = 0.25;
  c.fixed = Seconds(3e-6);
  return c;
}

// Work from latency-bound to compute-bound, at two intensities.
std::vector<WorkPoint> sweep() {
  std::vector<WorkPoint> points;
  for (int i = 0; i < 24; ++i) {
    const double flops = 1e4 * std::pow(2.0, i * 0.7);
    WorkPoint p{Flops(flops), Bytes(i % 2 == 0 ? flops / 50 : flops * 2), Seconds{}};
    p.time = predict(truth(), p, machine().gpu);
    points.push_back(p);
  }
  return points;
}

TEST(KernelFit, PredictionIsTheFormulaOfTheProfile) {
  // 3 us + max((8e6 + 2e6) / (2e11 * 0.4), 1e5 / (5e10 * 0.25)) = 3 + max(125, 8) us
  const WorkPoint compute{Flops(8e6), Bytes(1e5), Seconds{}};
  EXPECT_NEAR(predict(truth(), compute, machine().gpu).base(), 128e-6, 1e-12);
  // No flops: no arithmetic term. 3 us + 1e6 / 1.25e10.
  const WorkPoint memory{Flops{}, Bytes(1e6), Seconds{}};
  EXPECT_NEAR(predict(truth(), memory, machine().gpu).base(), 83e-6, 1e-12);
}

TEST(KernelFit, RecoversTheConstants) {
  const EfficiencyCurve c = fit_kernel(sweep(), machine().gpu);
  EXPECT_NEAR(c.max_efficiency, 0.4, 0.4 * 0.02);
  EXPECT_NEAR(c.memory_efficiency, 0.25, 0.25 * 0.02);
  // Fixed time and half work act alike on small products; their sum is what is determined.
  const double fitted = c.fixed.base() + c.half_work.base() / (2e11 * c.max_efficiency);
  EXPECT_NEAR(fitted, 3e-6 + 2e6 / (2e11 * 0.4), 28e-6 * 0.05);
  for (const WorkPoint& p : sweep()) {
    EXPECT_NEAR(predict(c, p, machine().gpu) / p.time, 1, 0.03);
  }
}

TEST(KernelFit, OutliersDoNotBendTheCurve) {
  std::vector<WorkPoint> points = sweep();
  points[3].time *= 5;
  points[17].time *= 5;
  const EfficiencyCurve c = fit_kernel(points, machine().gpu);
  EXPECT_NEAR(c.max_efficiency, 0.4, 0.4 * 0.05);
  EXPECT_NEAR(c.memory_efficiency, 0.25, 0.25 * 0.05);
}

TEST(KernelFit, MemoryBoundKernelsLeaveArithmeticAlone) {
  std::vector<WorkPoint> points;
  for (double bytes = 1e3; bytes < 1e8; bytes *= 3) {
    WorkPoint p{Flops{}, Bytes(bytes), Seconds{}};
    p.time = predict(truth(), p, machine().gpu);
    points.push_back(p);
  }
  const EfficiencyCurve c = fit_kernel(points, machine().gpu);
  EXPECT_EQ(c.max_efficiency, 1.0);
  EXPECT_EQ(c.half_work, Flops{});
  EXPECT_NEAR(c.memory_efficiency, 0.25, 0.25 * 0.01);
  EXPECT_NEAR(c.fixed.base(), 3e-6, 3e-8);
}

TEST(KernelFit, EfficiencyIsAtMostOne) {
  // Four times as fast as the datasheet: a cache, not the memory.
  const std::vector<WorkPoint> points = {{Flops{}, Bytes(1e6), Seconds(5e-6)},
                                         {Flops{}, Bytes(2e6), Seconds(10e-6)}};
  EXPECT_LE(fit_kernel(points, machine().gpu).memory_efficiency, 1.0);
}

std::vector<WirePoint> wire_points(const CollectiveCurve& curve, std::vector<int> groups) {
  std::vector<WirePoint> points;
  for (int n : groups) {
    for (double bytes = 1e3; bytes < 5e6; bytes *= 4) {
      WirePoint p{n, Bytes(bytes), Seconds{}};
      p.time = predict(curve, p, BytesPerSecond(5e10));
      points.push_back(p);
    }
  }
  return points;
}

TEST(CollectiveFit, RecoversTheConstants) {
  CollectiveCurve curve;
  curve.latency = Seconds(7e-6);
  curve.latency_per_rank = Seconds(2e-6);
  curve.efficiency = 0.12;
  const CollectiveCurve c = fit_collective(wire_points(curve, {2, 4}), BytesPerSecond(5e10));
  EXPECT_NEAR(c.latency.base(), 7e-6, 1e-11);
  EXPECT_NEAR(c.latency_per_rank.base(), 2e-6, 1e-11);
  EXPECT_NEAR(c.efficiency, 0.12, 1e-8);
  EXPECT_EQ(c.source, SourceClass::fitted);
}

TEST(CollectiveFit, OneGroupSizeHasOneLatency) {
  CollectiveCurve curve;
  curve.latency = Seconds(7e-6);
  curve.efficiency = 0.5;
  const CollectiveCurve c = fit_collective(wire_points(curve, {2}), BytesPerSecond(5e10));
  EXPECT_NEAR(c.latency.base(), 7e-6, 1e-11);
  EXPECT_EQ(c.latency_per_rank, Seconds{});
  EXPECT_NEAR(c.efficiency, 0.5, 1e-8);
}

TEST(CollectiveFit, NoConstantIsNegative) {
  // Larger groups are faster here: a per-rank latency would have to be negative.
  const std::vector<WirePoint> points = {{2, Bytes(1e3), Seconds(20e-6)},
                                         {2, Bytes(1e6), Seconds(70e-6)},
                                         {4, Bytes(1e3), Seconds(10e-6)},
                                         {4, Bytes(1e6), Seconds(60e-6)}};
  const CollectiveCurve c = fit_collective(points, BytesPerSecond(5e10));
  EXPECT_GT(c.latency.base(), 0);
  EXPECT_EQ(c.latency_per_rank, Seconds{});
  EXPECT_GT(c.efficiency, 0);
  EXPECT_LE(c.efficiency, 1);
}

Sample kernel_sample(int i, int threads, double seconds) {
  Sample s;
  s.name = "gemm " + std::to_string(i);
  const WorkPoint p = sweep()[static_cast<std::size_t>(i)];
  s.point = KernelSample{KernelClass::gemm, p.flops, p.bytes, threads};
  s.time = Seconds(seconds);
  return s;
}

TEST(ProfileFit, SharingPenaltyCollectivesAndResiduals) {
  std::vector<Sample> samples;
  const auto points = sweep();
  for (int i = 0; i < 24; ++i) {
    const double alone = points[static_cast<std::size_t>(i)].time.base();
    samples.push_back(kernel_sample(i, 1, alone));
    // Four threads on two cores, 30% worse than half speed each.
    if (i % 3 == 0) samples.push_back(kernel_sample(i, 4, alone * 2 * 1.3));
  }
  CollectiveCurve curve;
  curve.latency = Seconds(7e-6);
  curve.latency_per_rank = Seconds(2e-6);
  curve.efficiency = 0.12;
  for (const WirePoint& p : wire_points(curve, {2, 4})) {
    Sample s;
    s.name = "all_gather";
    s.point = CollectiveSample{Collective::all_gather, p.group, p.group, p.wire};
    s.time = p.time * (p.group == 4 ? 2 * 1.3 : 1.0);  // as the simulator multiplies it
    samples.push_back(s);
  }
  const FittedProfile f = fit(samples, machine());
  EXPECT_NEAR(f.profile.sharing_penalty, 1.3, 1e-9);
  EXPECT_NEAR(f.profile.kernel(KernelClass::gemm).contention, 1.3, 1e-9);
  EXPECT_EQ(f.profile.kernel(KernelClass::norm).contention, 0);  // nobody measured it
  EXPECT_NEAR(f.profile.kernel(KernelClass::gemm).max_efficiency, 0.4, 0.4 * 0.02);
  EXPECT_NEAR(f.profile.collective(0, Collective::all_gather).efficiency, 0.12, 1e-6);
  ASSERT_EQ(f.residuals.size(), 3u);
  EXPECT_EQ(f.residuals[0].family, "gemm");
  EXPECT_EQ(f.residuals[0].in_sample, 18);
  EXPECT_EQ(f.residuals[0].held_out, 6);
  EXPECT_LT(f.residuals[0].held_out_median.value(), 0.03);
  EXPECT_EQ(f.residuals[1].family, "shared by 4 threads");
  EXPECT_EQ(f.residuals[2].family, "all_gather");
  EXPECT_EQ(f.profile.relative_band, 0.1);  // a perfect fit still gets the smallest band
}

// What windows spare is in the samples; the fit is of collectives as a run without them has them.
TEST(ProfileFit, CollectivesInWindowsEnterNoFit) {
  CollectiveCurve curve;
  curve.latency = Seconds(7e-6);
  curve.latency_per_rank = Seconds(2e-6);
  curve.efficiency = 0.12;
  std::vector<Sample> plain;
  for (const WirePoint& p : wire_points(curve, {2, 4})) {
    Sample s;
    s.name = "all_gather " + std::to_string(plain.size());
    s.point = CollectiveSample{Collective::all_gather, p.group, p.group, p.wire};
    s.time = p.time;
    plain.push_back(s);
  }
  std::vector<Sample> both = plain;
  for (Sample s : plain) {
    s.name += ", in windows";
    std::get<CollectiveSample>(s.point).windows = true;
    s.time = s.time / 3;
    both.push_back(s);
  }
  const FittedProfile without = fit(plain, machine()), with = fit(both, machine());
  EXPECT_EQ(with.profile.collectives, without.profile.collectives);
  ASSERT_EQ(with.residuals.size(), 1u);
  EXPECT_EQ(with.residuals[0].in_sample + with.residuals[0].held_out,
            static_cast<int>(plain.size()));
}

TEST(ProfileFit, HeldOutPointsDoNotEnterTheFit) {
  std::vector<Sample> clean;
  const auto points = sweep();
  std::vector<std::string> names;
  for (int i = 0; i < 24; ++i) {
    clean.push_back(kernel_sample(i, 1, points[static_cast<std::size_t>(i)].time.base()));
    names.push_back(clean.back().name);
  }
  std::vector<Sample> disturbed = clean;
  const std::vector<bool> out = held_out(names);
  for (std::size_t i = 0; i < 24; ++i)
    if (out[i]) disturbed[i].time *= 3;
  const FittedProfile a = fit(clean, machine()), b = fit(disturbed, machine());
  EXPECT_EQ(a.profile.kernels, b.profile.kernels);
  EXPECT_NEAR(b.residuals[0].held_out_median.value(), 2.0 / 3, 0.02);
}

}  // namespace
}  // namespace pleat
