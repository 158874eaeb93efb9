// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What is judged changes no constant of a profile, and its families say how far the fit is off
// there.
#include <gtest/gtest.h>

#include <algorithm>

#include "calibration/calibrate.hpp"
#include "calibration/fit/curve_fit.hpp"
#include "calibration/fit/gemm_fit.hpp"
#include "calibration/fit/profile_fit.hpp"
#include "core/spec/catalog.hpp"
#include "tests/calibration/fake_bench.hpp"
#include "tests/calibration/residual_of.hpp"

namespace pleat {
namespace {

constexpr double kLatency = 1e-5, kRate = 1e11;

// Two domains of two; a GPU with laws.
ClusterSpec two_domains() {
  ClusterSpec c = load_cluster("h200-sxm");
  c.tiers.clear();
  c.tiers.push_back({"nvlink", 2, BytesPerSecond(4e11), Seconds(1e-6)});
  c.tiers.push_back({"rail", 0, BytesPerSecond(2e11), Seconds(3e-6)});
  return c;
}

Sample collective(const CollectivePoint& p, double times) {
  Sample s = sample_of(p, {.seconds = {1}, .repeats = 1});
  const auto& c = std::get<CollectiveSample>(s.point);
  s.time = Seconds(times * (kLatency + c.wire.base() / kRate));
  return s;
}

std::vector<Sample> fitted_samples() {
  FakeBench bench(0.1);
  const auto ranks = thread_ranks(1);
  CalibrateConfig config{.point_seconds = 1e-9, .bench = &bench, .runner = ranks.get()};
  std::vector<Sample> samples = calibrate(two_domains(), config).samples;
  std::erase_if(samples, [](const Sample& s) {
    const auto* k = std::get_if<KernelSample>(&s.point);
    return k != nullptr && (sees_all_keys(*k) || !k->judged.empty());
  });
  for (const int n : {2, 4})
    for (const CollectivePoint& p : collective_points(n)) samples.push_back(collective(p, 1));
  for (const CollectivePoint& p : concurrent_points(4, 1 << 30U))
    samples.push_back(collective(p, 1));
  return samples;
}

TEST(JudgedFit, ChangesNoConstant) {
  const std::vector<Sample> samples = fitted_samples();
  const FittedProfile plain = fit(samples, two_domains());
  std::vector<Sample> more = samples;
  for (const int n : {2, 4}) {
    for (const CollectivePoint& p : judged_points(n, 1 << 24U)) more.push_back(collective(p, 5));
    for (const CollectivePoint& p : both_ways_points(n)) more.push_back(collective(p, 5));
    for (const CollectivePoint& p : odd_group_points(n)) more.push_back(collective(p, 5));
  }
  std::size_t attention = 0;
  std::vector<KernelPoint> pieces = attention_piece_points();
  for (const KernelPoint& p : mla_piece_points()) pieces.push_back(p);
  for (const KernelPoint& p : pieces) {
    Sample s = sample_of(p, 1, {.seconds = {100}, .repeats = 1});
    if (!sees_all_keys(std::get<KernelSample>(s.point))) continue;
    more.push_back(s);
    ++attention;
  }
  EXPECT_EQ(attention, 16U);
  for (const KernelPoint& p : judged_kernel_points())
    more.push_back(sample_of(p, 1, {.seconds = {100}, .repeats = 1}));
  const FittedProfile f = fit(more, two_domains());
  EXPECT_EQ(f.profile, plain.profile);
  EXPECT_EQ(f.tables, plain.tables);
  // What was judged before is judged as before.
  for (const Residual& r : plain.residuals)
    EXPECT_NE(std::find(f.residuals.begin(), f.residuals.end(), r), f.residuals.end()) << r.family;
  EXPECT_EQ(test::residual_of(f, "attention_fwd of all keys").held_out, 4);
  EXPECT_EQ(test::residual_of(f, "attention_bwd of all keys").in_sample, 0);
  EXPECT_EQ(test::residual_of(f, "attention_fwd of all keys, MLA").held_out, 4);
  EXPECT_EQ(test::residual_of(f, "attention_bwd of all keys, MLA").in_sample, 0);
  for (const auto& [family, points] : {std::pair{"quantize, columns", 6},
                                       {"quantize, with norms", 12},
                                       {"gemm, transposed codes", 4},
                                       {"router, statistics and losses", 10}}) {
    EXPECT_EQ(test::residual_of(f, family).held_out, points) << family;
    EXPECT_EQ(test::residual_of(f, family).in_sample, 0) << family;
  }
}

// The curve is exact, so that only what the judged samples take more is left.
TEST(JudgedFit, FamiliesSayHowFarTheCurveIsOff) {
  std::vector<Sample> samples = fitted_samples();
  for (const int n : {2, 4}) {
    for (const CollectivePoint& p : judged_points(n, 1 << 24U))
      samples.push_back(collective(p, p.rows == RowShares::zipf ? 4 : 2));
    for (const CollectivePoint& p : both_ways_points(n)) samples.push_back(collective(p, 1.25));
    for (const CollectivePoint& p : odd_group_points(n)) samples.push_back(collective(p, 1.6));
  }
  const FittedProfile f = fit(samples, two_domains());
  for (const char* family : {"all_reduce, below 1 KB", "all_reduce over rail, below 1 KB",
                             "reduce_scatter, bf16", "all_to_all over rail, uneven rows"}) {
    const Residual r = test::residual_of(f, family);
    EXPECT_EQ(r.in_sample, 0) << family;
    EXPECT_NEAR(r.held_out_median.value(), 0.5, 0.01) << family;
  }
  EXPECT_NEAR(test::residual_of(f, "send_recv, both ways").held_out_median.value(), 0.2, 0.01);
  EXPECT_NEAR(test::residual_of(f, "send_recv over rail, pairs both ways").held_out_median.value(),
              0.2, 0.01);
  EXPECT_NEAR(test::residual_of(f, "all_gather over rail, 3 or 6 ranks").held_out_median.value(),
              0.375, 0.02);
  const auto zipf = std::find_if(f.residuals.begin(), f.residuals.end(), [](const Residual& r) {
    return r.kind == "all_to_all (zipf)" && r.family == "all_to_all, uneven rows";
  });
  ASSERT_NE(zipf, f.residuals.end());
  EXPECT_NEAR(zipf->held_out_median.value(), 0.75, 0.01);
}

// Against the profile's own curves: a norm that quantises by both, and a product by its law.
TEST(JudgedFit, KernelsAreOffByWhatTheyTakeMore) {
  std::vector<Sample> samples = fitted_samples();
  const ClusterSpec cluster = two_domains();
  const Profile plain = fit(samples, cluster).profile;
  const auto time = [&](KernelClass kernel, double bytes) {
    return predict(plain.kernel(kernel), WorkPoint{Flops(0), Bytes(bytes), {}}, cluster.gpu);
  };
  for (const KernelPoint& p : judged_kernel_points()) {
    Sample s = sample_of(p, 1, {.seconds = {1}, .repeats = 1});
    if (p.kernel == KernelClass::gemm) {
      s.time = 2 * predict(plain.gemm,
                           ProductPoint{std::get<ProductShape>(p.shape), Bytes(p.bytes), {}},
                           cluster.gpu);
    } else {
      s.time = time(p.kernel, p.bytes);
      if (p.judged == "with norms") s.time += time(KernelClass::norm, p.norm_bytes);
      if (p.judged == "columns") s.time = 4 * s.time;
    }
    samples.push_back(s);
  }
  const FittedProfile f = fit(samples, cluster);
  for (const auto& [family, error] : {std::pair{"quantize, columns", 0.75},
                                      {"quantize, with norms", 0.0},
                                      {"gemm, transposed codes", 0.5},
                                      {"router, statistics and losses", 0.0}})
    EXPECT_NEAR(test::residual_of(f, family).held_out_worst.value(), error, 1e-9) << family;
}

// A tier on which nothing was fitted has no curve to be judged by.
TEST(JudgedFit, NotWhereNothingWasFitted) {
  std::vector<Sample> samples = fitted_samples();
  std::erase_if(samples,
                [](const Sample& s) { return std::get_if<CollectiveSample>(&s.point) != nullptr; });
  for (const CollectivePoint& p : judged_points(4, 1 << 20U)) samples.push_back(collective(p, 2));
  for (const Residual& r : fit(samples, two_domains()).residuals)
    EXPECT_EQ(r.family.find("all_"), std::string::npos) << r.family;
}

}  // namespace
}  // namespace pleat
