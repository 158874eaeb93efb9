// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Held-out points are of every kind that a plan measures, and so are those that a fit sees.
#include "calibration/fit/family.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "calibration/fit/profile_fit.hpp"
#include "calibration/plan.hpp"
#include "tests/calibration/fake_bench.hpp"

namespace pleat {
namespace {

TEST(HoldOut, KindIsTheNameWithoutSizes) {
  for (const auto& [name, kind] : std::map<std::string, std::string>{
           {"gemm 512x4096x4096", "gemm"},
           {"gemm.wgrad 512x4096x4096", "gemm.wgrad"},
           {"gemm fp8 blocks 512x4096x4096", "gemm fp8 blocks"},
           {"grouped_gemm.dgrad 8192x4096x7168 16 experts, zipf", "grouped_gemm.dgrad, zipf"},
           {"grouped_gemm 64x256x128 2 experts", "grouped_gemm"},
           {"attention.bwd 8x1024 32 heads of 128, 8 groups", "attention.bwd"},
           {"quantize (1x128) 64x4096", "quantize (1x128)"},
           {"adamw of 16384 elements", "adamw"},
           {"fp8 in blocks codes of 256x128", "fp8 in blocks codes"},
           {"bf16 to fp32 256x128", "bf16 to fp32"},
           {"swiglu_bwd with probabilities 256x512", "swiglu_bwd with probabilities"},
           {"all_gather 1024 B, 2 of 8 ranks, 4 apart", "all_gather"},
           {"launch, 100 calls", "launch"}}) {
    EXPECT_EQ(kind_of(name), kind) << name;
  }
}

TEST(HoldOut, IsAQuarterOfEveryKindInAnyOrder) {
  std::vector<std::string> names{"alone 8"};
  for (int i = 0; i < 40; ++i) {
    names.push_back("a " + std::to_string(i));
    names.push_back("b " + std::to_string(i));
  }
  const auto chosen = [](const std::vector<std::string>& list) {
    const std::vector<bool> out = held_out(list);
    std::vector<std::string> some;
    for (std::size_t i = 0; i < list.size(); ++i)
      if (out[i]) some.push_back(list[i]);
    std::sort(some.begin(), some.end());
    return some;
  };
  const std::vector<std::string> forwards = chosen(names);
  ASSERT_EQ(forwards.size(), 20U);
  EXPECT_EQ(std::count_if(forwards.begin(), forwards.end(),
                          [](const std::string& n) { return n.starts_with("a "); }),
            10);
  std::reverse(names.begin(), names.end());
  EXPECT_EQ(chosen(names), forwards);
}

// Points of each fitted family by kind: how many are seen, and how many held out.
using Counts = std::map<std::string, std::map<std::string, std::pair<int, int>>>;

Counts counts_of(const std::vector<PlannedPoint>& points) {
  std::map<std::string, std::vector<std::string>> names;
  for (const PlannedPoint& p : points) {
    const Sample s = p.sample({.seconds = {1}, .repeats = 1});
    if (const auto* k = std::get_if<KernelSample>(&s.point)) {
      if (k->threads > 1 || sees_all_keys(*k) || !k->judged.empty()) continue;
      const bool narrow = counts_flops(k->kernel) && is_quantized(k->math);
      names[name_of(k->kernel) + std::string(narrow ? " fp8" : "")].push_back(s.name);
    } else if (const auto* c = std::get_if<CollectiveSample>(&s.point)) {
      if (!c->judged.empty()) continue;
      // Groups side by side are not fitted.
      if (2 * c->group <= c->ranks && c->collective != Collective::send_recv) continue;
      names[name_of(c->collective)].push_back(s.name);
    }
  }
  Counts counts;
  for (const auto& [family, some] : names) {
    const std::vector<bool> out = held_out(some);
    for (std::size_t i = 0; i < some.size(); ++i) {
      auto& [seen, unseen] = counts[family][kind_of(some[i])];
      ++(out[i] ? unseen : seen);
    }
  }
  return counts;
}

void expect_both(const Counts& counts) {
  for (const auto& [family, kinds] : counts) {
    int all = 0;
    for (const auto& [kind, n] : kinds) {
      EXPECT_GT(n.first, 0) << kind << " of " << family << " is not fitted";
      EXPECT_GT(n.second, 0) << kind << " of " << family << " is not judged";
      EXPECT_GE(n.first, n.second) << kind;
      all += n.second;
    }
    EXPECT_GE(all, 2) << family;
  }
}

TEST(HoldOut, OfAGpusPlanEveryKindIsFittedAndJudged) {
  FakeBench bench;
  const auto ranks = thread_ranks(8);
  const Counts counts = counts_of(plan_points(bench, PointSet::gpu, *ranks, {}));
  expect_both(counts);
  EXPECT_EQ(counts.at("gemm").size(), 3U);  // forward, dgrad, wgrad
  EXPECT_EQ(counts.at("gemm fp8").size(), 2U);
  EXPECT_EQ(counts.at("grouped_gemm").size(), 12U);  // each with four ways of the rows
  EXPECT_EQ(counts.at("attention_fwd").size(), 4U);  // and MLA, windows, packed sequences
  EXPECT_EQ(counts.at("attention_bwd").size(), 4U);
  EXPECT_EQ(counts.at("quantize").size(), 6U);  // one copy in four recipes, both, of SwiGLU
  EXPECT_EQ(counts.at("rope").size(), 1U);
}

TEST(HoldOut, OfACpusPlanEveryKindIsFittedAndJudged) {
  FakeBench bench;
  const auto ranks = thread_ranks(4);
  const Counts counts = counts_of(plan_points(bench, PointSet::cpu, *ranks, {}));
  EXPECT_EQ(counts.size(), kKernelClasses + kCollectives);
  expect_both(counts);
}

TEST(Residuals, WithoutHeldOutPointsNothingIsKnown) {
  std::vector<Residual> r;
  append_residuals("rope", {{"rope 1", false, 0.1}, {"rope 2", false, 0.3}}, true, r);
  ASSERT_EQ(r.size(), 1U);
  EXPECT_EQ(r[0].in_sample_median, 0.2);
  EXPECT_FALSE(r[0].held_out_median.has_value());
  EXPECT_FALSE(r[0].held_out_worst.has_value());
}

TEST(Residuals, AreOfTheFamilyAndOfEachKind) {
  std::vector<Residual> r;
  append_residuals("norm",
                   {{"rms_norm 1", false, 0.1}, {"rms_norm 2", true, 0.2}, {"bwd 1", true, 0.6}},
                   true, r);
  ASSERT_EQ(r.size(), 3U);
  EXPECT_EQ(r[0].kind, "");
  EXPECT_EQ(r[0].held_out_median, 0.4);
  EXPECT_EQ(r[0].held_out_worst, 0.6);
  EXPECT_EQ(r[1].kind, "bwd");
  EXPECT_EQ(r[1].family, "norm");
  EXPECT_EQ(r[1].in_sample, 0);
  EXPECT_EQ(r[2].kind, "rms_norm");
  EXPECT_EQ(r[2].held_out_median, 0.2);
}

}  // namespace
}  // namespace pleat
