// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Tables of a profile: values worked out by hand, what is refused, and that the shipped ones load.
#include "core/spec/kernel_tables.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/diagnostics.hpp"
#include "core/spec/catalog.hpp"

namespace pleat {
namespace {

const char* const kTable =
    "# a remark\n"
    "extra,1e-6,2e-12\n"
    "m,n,16,64\n"
    "1,1,0,100\n1,100,0,100\n"
    "100,1,200,300\n100,100,200,300\n"
    "shape,100,1000\n"
    "50,10,20\n1000,30,40\n";

TEST(GemmTable, IsTrilinearInTheLogarithms) {
  const GemmTable t = parse_gemm_table(kTable, "t.csv");
  EXPECT_EQ(t.extra_fixed, Seconds(1e-6));
  EXPECT_EQ(t.extra_per_element, Seconds(2e-12));
  EXPECT_NEAR(correction_at(t, 1, 1, 16).log, 0.0, 1e-7);
  EXPECT_NEAR(correction_at(t, 100, 10, 64).log, 0.3, 1e-7);
  EXPECT_NEAR(correction_at(t, 10, 10, 32).log, 0.1 + 0.05, 1e-7);  // half way in m and in k
  EXPECT_NEAR(correction_at(t, 1e6, 10, 1e6).log, 0.3, 1e-7);       // constant outside
  EXPECT_NEAR(correction_at(t, 1e-3, 10, 1).log, 0.0, 1e-7);
}

TEST(GemmTable, OffsetsHoldForMeasuredShapesAlone) {
  const GemmTable t = parse_gemm_table(kTable, "t.csv");
  const double grid = 0.2 * std::log(50.0) / std::log(100.0);
  const Correction on = correction_at(t, 50, 100, 16);
  EXPECT_NEAR(on.log, grid + 0.010, 1e-7);
  EXPECT_EQ(on.source, SourceClass::measured);
  EXPECT_EQ(correction_at(t, 50, 100, 20).source, SourceClass::interpolated);
  const double m = 50 * std::exp(kShapeReach / 2);  // half of it is left
  const Correction near = correction_at(t, m, 100, 16);
  EXPECT_NEAR(near.log, 0.2 * std::log(m) / std::log(100.0) + 0.005, 1e-7);
  EXPECT_EQ(near.source, SourceClass::interpolated);
  EXPECT_NEAR(correction_at(t, 60, 100, 16).log, 0.2 * std::log(60.0) / std::log(100.0), 1e-7);
  EXPECT_NEAR(correction_at(t, 1000, 1000, 16).log, 0.2 + 0.04, 1e-7);
}

TEST(GemmTable, BadTablesAreRefusedWithTheLine) {
  const auto message = [](const std::string& text) {
    try {
      (void)parse_gemm_table(text, "t.csv");
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("read");
  };
  EXPECT_NE(message("").find("expected m,n,k1,k2"), std::string::npos);
  EXPECT_NE(message("m,n,16,64\n1,1,0,x\n").find("t.csv:2"), std::string::npos);
  EXPECT_NE(message("m,n,64,16\n").find("does not ascend"), std::string::npos);
  EXPECT_NE(message("m,n,16,64\n1,1,0\n").find("values, not 2"), std::string::npos);
  EXPECT_NE(message("m,n,16,64\n1,1,0,0\n1,2,0,0\n2,1,0,0\n").find("not complete"),
            std::string::npos);
  EXPECT_NE(message("m,n,16,64\n1,1,0,nan\n").find("no number"), std::string::npos);
}

TEST(CollectiveTable, TimesBetweenAndBeyondTheSizes) {
  const CollectiveTable t = parse_collective_table(
      "collective,ranks,bytes,us\nall_gather,2,1000,10\nall_gather,2,3000,30\n"
      "all_gather,8,1000,20\nall_gather,8,2000,25\n",
      "t.csv");
  const auto* two = nearest_series(t, 0, 4);
  ASSERT_NE(two, nullptr);
  EXPECT_EQ(two->ranks, 2);
  EXPECT_EQ(nearest_series(t, 0, 64)->ranks, 8);
  EXPECT_EQ(nearest_series(t, 1, 8), nullptr);
  EXPECT_NEAR(time_at(*two, Bytes(1000)).time.base(), 10e-6, 1e-12);
  EXPECT_EQ(time_at(*two, Bytes(1000)).source, SourceClass::measured);
  EXPECT_NEAR(time_at(*two, Bytes(1500)).time.base(), 15e-6, 1e-12);
  EXPECT_EQ(time_at(*two, Bytes(1500)).source, SourceClass::interpolated);
  EXPECT_NEAR(time_at(*two, Bytes(10)).time.base(), 10e-6, 1e-12);
  EXPECT_NEAR(time_at(*two, Bytes(9000)).time.base(), 90e-6, 1e-12);
}

TEST(CollectiveTable, BadTablesAreRefused) {
  const std::string head = "collective,ranks,bytes,us\n";
  for (const char* row :
       {"gather,2,1,1\n", "all_gather,2,1,1\n", "all_gather,2,2,1\nall_gather,2,1,1\n",
        "all_gather,2,1,0\nall_gather,2,2,1\n", "all_gather,2,1\n"}) {
    EXPECT_THROW((void)parse_collective_table(head + row, "t.csv"), ConfigError) << row;
  }
}

// Every shipped profile is of a shipped cluster that says its processors, and its tables load.
TEST(ShippedProfiles, LoadWithTheirTables) {
  int tables = 0, found = 0;
  for (const char* name : {"a100-sxm", "h100-sxm", "h200-sxm", "h800-sxm", "b200", "b300",
                           "gb200-nvl72", "gb300-nvl72"}) {
    const Profile p = load_profile(std::string(PLEAT_SOURCE_DIR) + "/configs/profiles/" + name +
                                   "-megatron.json");
    const ClusterSpec cluster = load_cluster(name);
    EXPECT_EQ(p.cluster, cluster.name);
    EXPECT_GT(cluster.gpu.sms, 100) << name;
    EXPECT_EQ(p.collectives.size(), cluster.tiers.size()) << name;
    EXPECT_NE(p.gemm.find(GemmMath::nvfp4), nullptr) << name;  // some law stands in
    for (const GemmLaw& law : p.gemm.by_math) tables += law.corrections ? 1 : 0;
    tables += p.collective_times ? 1 : 0;
    ++found;
  }
  EXPECT_EQ(found, 8);
  EXPECT_EQ(tables, 18 + 3 + 4 + 5 + 1);  // own, h800's, b300's; collectives, b300's
}

}  // namespace
}  // namespace pleat
