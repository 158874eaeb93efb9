// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Laws of a GPU fitted to published measurements of an H200 and to products that a law made.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

#include "calibration/calibrate.hpp"
#include "calibration/fit/gemm_fit.hpp"
#include "calibration/fit/profile_fit.hpp"
#include "core/spec/catalog.hpp"
#include "tests/calibration/fake_bench.hpp"
#include "tests/calibration/residual_of.hpp"

namespace pleat {
namespace {

std::vector<std::vector<std::string>> rows_of(const std::string& file) {
  std::ifstream in(std::string(PLEAT_SOURCE_DIR) + "/tests/calibration/" + file);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream cells(line);
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  rows.erase(rows.begin());  // names of the columns
  return rows;
}

Sample product_sample(const std::string& name, const ProductShape& s, Seconds time) {
  const double bytes = 2 * (s.m * s.k + s.n * s.k + s.m * s.n);
  Sample sample{.name = name, .point = {}, .time = time};
  sample.point = KernelSample{s.groups > 1 ? KernelClass::grouped_gemm : KernelClass::gemm,
                              Flops(2 * s.m * s.n * s.k),
                              Bytes(bytes),
                              1,
                              DType::bf16,
                              s};
  return sample;
}

// `salt` changes the names, and so which points are held out.
std::vector<Sample> h200_products(const std::string& salt) {
  std::vector<Sample> samples;
  for (const auto& row : rows_of("h200_gemm_bf16.csv")) {
    const ProductShape s{.m = std::stod(row[0]), .n = std::stod(row[1]), .k = std::stod(row[2])};
    samples.push_back(product_sample("gemm " + row[0] + "x" + row[1] + "x" + row[2] + salt, s,
                                     Seconds(std::stod(row[3]) * 1e-3)));
  }
  return samples;
}

std::vector<Sample> h200_attention(const std::string& source, const std::string& salt) {
  std::vector<Sample> samples;
  for (const auto& row : rows_of("h200_attention.csv")) {
    if (row[0] != source) continue;
    const bool backward = row[1] == "backward";
    const double seq = std::stod(row[3]), heads = std::stod(row[4]), groups = std::stod(row[5]);
    const double rows = std::stod(row[2]) * seq, each = 128;
    const double flops =
        rows * seq * heads * each * (backward ? 5 : 2);  // 2 products of s / 2 keys
    const double bytes = 2 * rows * (heads + 2 * groups + heads) * each * (backward ? 2 : 1);
    Sample sample{.name = "attention " + row[2] + "x" + row[3] + " " + row[4] + " heads, " +
                          row[5] + " groups" + salt,
                  .point = {},
                  .time = Seconds(std::stod(row[6]) * 1e-3)};
    sample.point = KernelSample{
        backward ? KernelClass::attention_bwd : KernelClass::attention_fwd,
        Flops(flops),
        Bytes(bytes),
        1,
        DType::bf16,
        AttentionSize{
            .rows = rows, .heads = heads, .seq = seq, .value_head = each, .backward = backward}};
    samples.push_back(std::move(sample));
  }
  return samples;
}

ClusterSpec h200() { return load_cluster("h200-sxm"); }

// Goal of a calibration on a GPU: products that the fit has not seen, within 4% in the median.
TEST(LawFit, ProductsOfAnH200ThatWereHeldOut) {
  double laws = 0, curves = 0;  // means of medians
  for (const std::string salt : {"", " 2", " 3", " 4"}) {
    const std::vector<Sample> samples = h200_products(salt);
    ASSERT_EQ(samples.size(), 117U);
    const FittedProfile f = fit(samples, h200());
    const Residual r = test::residual_of(f, "gemm");
    EXPECT_EQ(r.held_out, 29);
    EXPECT_LE(r.held_out_median.value(), 0.04) << salt;
    EXPECT_LE(r.held_out_worst.value(), 0.2) << salt;
    RecordProperty("median" + salt, std::to_string(*r.held_out_median));
    RecordProperty("worst" + salt, std::to_string(*r.held_out_worst));
    const GemmLaw& law = f.profile.gemm.by_math[0];
    EXPECT_TRUE(law.corrections);
    EXPECT_GT(law.rate.base(), 6e14);
    EXPECT_LT(law.rate.base(), 9.9e14);
    ClusterSpec plain = h200();
    plain.gpu.sms = 0;
    const double of_curve = test::residual_of(fit(samples, plain), "gemm").held_out_median.value();
    EXPECT_GT(of_curve, *r.held_out_median);
    laws += *r.held_out_median / 4;
    curves += of_curve / 4;
    RecordProperty("curve" + salt, std::to_string(of_curve));
  }
  EXPECT_LE(laws, 0.03);
  EXPECT_LE(laws, 0.75 * curves);  // of one curve over flops and bytes
}

// Goal: attention within 5%.
TEST(LawFit, AttentionOfAnH200ThatWasHeldOut) {
  for (const char* source : {"aic", "cudnn"}) {
    double forward = 0, backward = 0;
    for (const std::string salt : {"", " 2", " 3", " 4"}) {
      std::vector<Sample> samples = h200_products("");
      samples.resize(12);  // a GPU has laws where products were measured
      for (Sample& s : h200_attention(source, salt)) samples.push_back(std::move(s));
      const FittedProfile f = fit(samples, h200());
      forward += test::residual_of(f, "attention_fwd").held_out_median.value() / 4;
      EXPECT_FALSE(f.profile.attention[0][0][0].empty());
      EXPECT_TRUE(f.profile.attention[1][0][0].empty());  // no MLA was measured
      if (source != std::string("cudnn")) continue;
      backward += test::residual_of(f, "attention_bwd").held_out_median.value() / 4;
    }
    RecordProperty(std::string(source) + " forward", std::to_string(forward));
    RecordProperty(std::string(source) + " backward", std::to_string(backward));
    EXPECT_LE(forward, 0.05) << source;
    EXPECT_LE(backward, 0.05) << source;
  }
}

GemmLaws true_laws() {
  GemmLaws laws;
  laws.tiles = gemm_tiles(h200().gpu);
  laws.by_math[0] = {.rate = FlopsPerSecond(7.5e14),
                     .depth = 120,
                     .fixed = Seconds(3e-6),
                     .bandwidth = BytesPerSecond(3.5e12),
                     .tile_exponent = 0.03,
                     .wave = 0.4,
                     .source = SourceClass::fitted,
                     .table = {},
                     .corrections = {}};
  laws.grouped = {.forward_per_expert = Seconds(5e-7),
                  .backward_per_expert = Seconds(8e-7),
                  .wgrad_per_expert = Seconds(3e-7),
                  .wgrad_rate = 0.8,
                  .row_multiple = 16,
                  .rate = 0.9,
                  .narrow_rate = 1};
  return laws;
}

ProductPoint point_of(const Sample& s) {
  const auto& k = std::get<KernelSample>(s.point);
  return {std::get<ProductShape>(k.shape), k.bytes, s.time};
}

// Samples of the true laws, dense and grouped.
std::vector<Sample> made_products() {
  std::vector<Sample> samples;
  const auto add = [&](const std::string& name, const ProductShape& s) {
    Sample sample = product_sample(name, s, Seconds(1));
    sample.time = predict(true_laws(), point_of(sample), h200().gpu);
    samples.push_back(std::move(sample));
  };
  int number = 0;
  for (const double m : {128, 512, 1024, 2048, 3072, 4096, 16384})
    for (const double n : {1536, 4096, 7168})
      for (const double k : {512, 2048, 8192})
        add("gemm " + std::to_string(++number), {.m = m, .n = n, .k = k});
  for (const double groups : {2, 8, 32}) {
    for (const double each : {64, 512, 2048}) {
      for (const double n : {2048, 4096}) {
        const ProductShape s{.m = each * groups, .n = n, .k = 2048, .groups = groups};
        add("grouped_gemm " + std::to_string(++number), s);
        ProductShape dgrad = s;
        dgrad.backward = true;
        add("grouped_gemm.dgrad " + std::to_string(++number), dgrad);
        const ProductShape wgrad{.m = n,
                                 .n = 2048,
                                 .k = each * groups,
                                 .groups = groups,
                                 .weight_gradient = true,
                                 .backward = true};
        add("grouped_gemm.wgrad " + std::to_string(++number), wgrad);
      }
    }
  }
  return samples;
}

TEST(LawFit, RecoversWhatMadeTheTimes) {
  const FittedProfile f = fit(made_products(), h200());
  const GemmLaw& law = f.profile.gemm.by_math[0];
  EXPECT_NEAR(law.rate / true_laws().by_math[0].rate, 1, 0.03);
  EXPECT_NEAR(law.wave, 0.4, 0.1);
  EXPECT_LT(test::residual_of(f, "gemm").held_out_median.value(), 0.01);
  const GroupedLaw& grouped = f.profile.gemm.grouped;
  EXPECT_NEAR(grouped.rate, 0.9, 0.04);
  EXPECT_NEAR(grouped.wgrad_rate, 0.8, 0.05);
  EXPECT_NEAR(grouped.backward_per_expert.base(), 8e-7, 3e-7);
  EXPECT_LT(test::residual_of(f, "grouped_gemm").held_out_median.value(), 0.02);
  // Each direction is judged.
  EXPECT_EQ(std::count_if(f.residuals.begin(), f.residuals.end(),
                          [](const Residual& r) { return r.kind.starts_with("grouped_gemm"); }),
            3);
}

TEST(LawFit, UnevenRowsAreJudgedAndNotFitted) {
  std::vector<Sample> samples = made_products();
  Sample uneven = samples.back();
  uneven.name += ", zipf";
  auto& kernel = std::get<KernelSample>(uneven.point);
  std::get<ProductShape>(kernel.shape).even = false;
  uneven.time = uneven.time * 2;
  samples.push_back(uneven);
  const FittedProfile f = fit(samples, h200());
  const Residual r = test::residual_of(f, "uneven grouped_gemm");
  EXPECT_EQ(r.in_sample, 0);
  EXPECT_NEAR(r.held_out_median.value(), 0.5, 0.03);
  EXPECT_EQ(f.profile.gemm.grouped, fit(made_products(), h200()).profile.gemm.grouped);
}

TEST(LawFit, NarrowRecipesHaveLawsOfTheirOwn) {
  std::vector<Sample> samples = made_products();
  for (const Sample& s : made_products()) {
    if (!s.name.starts_with("gemm ")) continue;
    for (const auto& [label, math, speed] :
         {std::tuple{"gemm fp8 tensor", GemmMath::fp8, 1.8},
          {"gemm fp8 blocks", GemmMath::fp8_block, 1.4}}) {
      Sample narrow = s;
      narrow.name = label + s.name.substr(4);
      auto& kernel = std::get<KernelSample>(narrow.point);
      kernel.math = DType::fp8;
      std::get<ProductShape>(kernel.shape).math = math;
      narrow.time = Seconds(3e-6) + (s.time - Seconds(3e-6)) / speed;
      samples.push_back(narrow);
    }
  }
  const FittedProfile f = fit(samples, h200());
  const auto rate = [&](GemmMath m) {
    return f.profile.gemm.by_math[static_cast<std::size_t>(m)].rate;
  };
  EXPECT_NEAR(rate(GemmMath::fp8) / rate(GemmMath::bf16), 1.8, 0.1);
  EXPECT_NEAR(rate(GemmMath::fp8_block) / rate(GemmMath::bf16), 1.4, 0.1);
  EXPECT_LT(test::residual_of(f, "gemm fp8 tensor").held_out_median.value(), 0.02);
  EXPECT_LT(test::residual_of(f, "gemm fp8 blocks").held_out_median.value(), 0.02);
  EXPECT_EQ(f.tables.size(), 3U);
}

// Times that no law explains give a profile that can be read all the same.
TEST(LawFit, EveryPointOfThePlanIsTaken) {
  FakeBench bench(0.1);
  const auto ranks = thread_ranks(1);
  CalibrateConfig config;
  config.point_seconds = 1e-9;  // one call each
  config.bench = &bench;
  config.runner = ranks.get();
  const CalibrationResult r = calibrate(h200(), config);
  EXPECT_TRUE(r.failed.empty());
  EXPECT_EQ(r.tables.size(), 3U);
  EXPECT_FALSE(r.profile.attention[1][0][1].empty());  // MLA backward
  EXPECT_NO_THROW(static_cast<void>(read_profile(write_profile(r.profile), "profile")));
  std::set<std::string> families;
  for (const Residual& x : r.residuals) {
    EXPECT_TRUE(families.insert(x.family + "/" + x.kind).second) << x.family << " " << x.kind;
    EXPECT_TRUE(x.held_out_median) << x.family << " " << x.kind;
  }
  for (const char* family : {"gemm/", "gemm fp8 tensor/", "gemm fp8 blocks/", "grouped_gemm/",
                             "grouped_gemm fp8/", "uneven grouped_gemm/", "attention_fwd/",
                             "attention_bwd of pieces/", "quantize/quantize (1x32)", "rope/",
                             "norm/rms_norm", "router_bwd/", "embedding/embedding_bwd"})
    EXPECT_TRUE(families.contains(family)) << family;
}

// What is written is read back, tables and all.
TEST(LawFit, ProfilesWithTablesAreReadBack) {
  std::vector<Sample> samples = h200_products("");
  for (Sample& s : h200_attention("cudnn", "")) samples.push_back(std::move(s));
  FittedProfile f = fit(samples, h200());
  f.profile.collectives = datasheet_profile("h200-sxm", 2, Runtime::pleat).collectives;
  f.profile.cluster = f.profile.name = f.profile.provenance = "h200-sxm";
  Profile back = read_profile(write_profile(f.profile), "profile");
  ASSERT_EQ(f.tables.count(back.gemm.by_math[0].table), 1U);
  back.gemm.by_math[0].corrections.pointer = std::make_shared<const GemmTable>(
      parse_gemm_table(f.tables.at(back.gemm.by_math[0].table), "table"));
  EXPECT_EQ(back, f.profile);
}

}  // namespace
}  // namespace pleat
