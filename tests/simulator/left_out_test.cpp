// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The shipped laws and tables against measurements they have not seen: a sample of the matrix
// products left out of every fit (tests/validation, written by calibration/tables/check_tables.py),
// and measured collectives predicted from their neighbours. All of the points are looked at by the
// script; docs/VALIDATION.md has its figures.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "core/spec/catalog.hpp"
#include "simulator/cost/op_work.hpp"

namespace pleat {
namespace {

std::string source_file(const std::string& path) {
  return std::string(PLEAT_SOURCE_DIR) + "/" + path;
}

Profile shipped(const std::string& cluster) {
  return load_profile(source_file("configs/profiles/" + cluster + "-megatron.json"));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.at(values.size() / 2);
}

GemmMath math_named(const std::string& name) {
  const std::vector<std::string> names = {"bf16", "fp8", "fp8_block", "mxfp8", "nvfp4"};
  const auto found = std::find(names.begin(), names.end(), name);
  EXPECT_NE(found, names.end()) << name;
  return static_cast<GemmMath>(found - names.begin());
}

double element_bytes(GemmMath math) {
  return math == GemmMath::bf16 ? 2.0 : math == GemmMath::nvfp4 ? 0.5625 : 1.0;
}

struct Measured {
  std::string cluster;
  GemmMath math = GemmMath::bf16;
  double m = 0, n = 0, k = 0, seconds = 0;
};

std::vector<Measured> left_out_products() {
  std::vector<Measured> points;
  std::ifstream file(source_file("tests/validation/gemm_left_out.csv"));
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#' || line.starts_with("cluster,")) continue;
    std::istringstream cells(line);
    std::string cell;
    std::vector<std::string> c;
    while (std::getline(cells, cell, ',')) c.push_back(cell);
    points.push_back({c.at(0), math_named(c.at(1)), std::stod(c.at(2)), std::stod(c.at(3)),
                      std::stod(c.at(4)), std::stod(c.at(5)) * 1e-6});
  }
  return points;
}

// The law's bare product and what the measurement adds to it.
double predicted(const Measured& p, const Profile& profile, int sms, bool corrected) {
  const GemmLaw& law = profile.gemm.by_math[static_cast<std::size_t>(p.math)];
  const Bytes bytes(element_bytes(p.math) * (p.m * p.k + p.n * p.k) + 2 * p.m * p.n);
  double time = law_time(law, profile.gemm.tiles, sms, {.m = p.m, .n = p.n, .k = p.k}, bytes, 1.0)
                    .base();
  if (corrected) time *= std::exp(correction_at(*law.corrections, p.m, p.n, p.k).log);
  return time + (law.corrections->extra_fixed +
                 law.corrections->extra_per_element * (p.m * p.k)).base();
}

TEST(LeftOut, MatrixProducts) {
  std::map<std::string, Profile> profiles;
  std::map<std::string, int> sms;
  std::map<std::string, std::vector<double>> table, law;  // errors by cluster and arithmetic
  std::map<GemmMath, std::vector<double>> by_math;
  for (const Measured& p : left_out_products()) {
    if (!profiles.contains(p.cluster)) {
      profiles[p.cluster] = shipped(p.cluster);
      sms[p.cluster] = load_cluster(p.cluster).gpu.sms;
    }
    ASSERT_TRUE(p.m >= 512 && p.n >= 256 && p.k >= 256);
    const std::string key = p.cluster + " " + std::to_string(static_cast<int>(p.math));
    const auto error = [&](bool corrected) {
      return std::abs(predicted(p, profiles[p.cluster], sms[p.cluster], corrected) / p.seconds - 1);
    };
    table[key].push_back(error(true));
    law[key].push_back(error(false));
    by_math[p.math].push_back(error(true));
  }
  ASSERT_EQ(table.size(), 18U);
  for (const auto& [key, errors] : table) {
    EXPECT_EQ(errors.size(), 60U);
    // 60 points: looser than the bar, which the pooled ones below have to meet.
    EXPECT_LE(median(errors), 0.045) << key;
    EXPECT_LT(median(errors), median(law[key])) << key << ": the table has to improve on the law";
  }
  EXPECT_LE(median(by_math[GemmMath::bf16]), 0.035);
  EXPECT_LE(median(by_math[GemmMath::fp8]), 0.035);
  EXPECT_LE(median(by_math[GemmMath::fp8_block]), 0.05);
  EXPECT_LE(median(by_math[GemmMath::mxfp8]), 0.035);
  EXPECT_LE(median(by_math[GemmMath::nvfp4]), 0.035);
}

TEST(LeftOut, CollectivesOfAMegabyteAndMore) {
  for (const char* cluster : {"h100-sxm", "h200-sxm", "b200", "gb200-nvl72", "gb300-nvl72"}) {
    const Profile profile = shipped(cluster);
    std::vector<double> errors;
    for (const auto& by_ranks : profile.collective_times->series) {
      for (const CollectiveSeries& whole : by_ranks) {
        for (std::size_t i = 1; i + 1 < whole.bytes.size(); ++i) {
          if (whole.bytes[i] < 1 << 20) continue;
          CollectiveSeries rest = whole;
          rest.bytes.erase(rest.bytes.begin() + static_cast<std::ptrdiff_t>(i));
          rest.seconds.erase(rest.seconds.begin() + static_cast<std::ptrdiff_t>(i));
          const double time = time_at(rest, Bytes(whole.bytes[i])).time.base();
          errors.push_back(std::abs(time / whole.seconds[i] - 1));
        }
      }
    }
    EXPECT_GE(errors.size(), 72U) << cluster;
    EXPECT_LE(median(errors), 0.035) << cluster;
  }
}

}  // namespace
}  // namespace pleat
