// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// nccl-tests in the formats of several versions, and what is made of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"
#include "interop/nccl_tests.hpp"
#include "tests/interop/data_file.hpp"

namespace pleat::interop_test {
namespace {

using namespace interop;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST(NcclTests, NewFormatNamesTheCollective) {
  const NcclRun run = parse_nccl_tests(test::data_file("all_reduce_new.txt"), "f", "", 0);
  EXPECT_EQ(run.collective, Collective::all_reduce);
  EXPECT_EQ(run.ranks, 8);
  EXPECT_EQ(run.nodes, 1);
  EXPECT_EQ(run.device, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(run.version, "2.17.6");
  ASSERT_THAT(run.points, SizeIs(18));
  EXPECT_EQ(run.points.front().bytes, 8192);
  EXPECT_NEAR(run.points.front().seconds, 22.04e-6, 1e-9);  // out of place
}

TEST(NcclTests, OldFormatWithoutARootColumnOrAName) {
  const std::string text = test::data_file("reduce_scatter_old.txt");
  EXPECT_THROW(static_cast<void>(parse_nccl_tests(text, "f", "", 0)), ConfigError);
  const NcclRun run = parse_nccl_tests(text, "f", "reduce_scatter_old.txt", 0);
  EXPECT_EQ(run.collective, Collective::reduce_scatter);
  EXPECT_EQ(run.ranks, 16);
  EXPECT_EQ(run.nodes, 2);
  EXPECT_EQ(run.device, "A100-SXM4-80GB");
  EXPECT_THAT(run.points, SizeIs(18));
}

TEST(NcclTests, ErrorsThatWereNotCounted) {
  EXPECT_EQ(parse_nccl_tests(test::data_file("alltoall_new.txt"), "f", "", 0).collective,
            Collective::all_to_all);
}

TEST(NcclTests, RowsWithoutAHeader) {
  const NcclRun run = parse_nccl_tests(
      "  1048576  262144  float  sum  -1  20.00  52.43  91.75  0  20.10  52.17  91.29  0\n"
      "  2097152  524288  float  sum  -1  30.00  69.91  122.3  0  30.10  69.67  121.9  0\n",
      "f", "all_reduce", 8);
  ASSERT_THAT(run.points, SizeIs(2));
  EXPECT_DOUBLE_EQ(run.points[0].seconds, 20e-6);
}

std::string complaint(const std::string& text) {
  try {
    static_cast<void>(parse_nccl_tests(text, "f.txt", "all_reduce", 8));
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::bad_file);
    return e.what();
  }
  return "";
}

TEST(NcclTests, BadRowsAreNamed) {
  EXPECT_THAT(complaint("1048576 262144 float sum -1 20.0 52.43 91.8 7 20.1 52.2 91.3 0\n"),
              HasSubstr("f.txt:1: 7 wrong results"));
  EXPECT_THAT(complaint("1048576 262144 float sum -1 20.0 12.43 91.8 0 20.1 52.2 91.3 0\n"),
              HasSubstr("1048576 bytes in 20 us are 52.43 GB/s, not 12.43"));
  EXPECT_THAT(complaint("1048576 262144 float sum -1 nan 12.43 91.8 0 20.1 52.2 91.3 0\n"),
              HasSubstr("'nan' is no time"));
  EXPECT_THAT(complaint("no rows\n"), HasSubstr("has 0 rows of times"));
}

TEST(NcclTests, CsvIsOurTable) {
  const NcclRun run = parse_nccl_tests(test::data_file("all_reduce_new.txt"), "f", "", 0);
  const std::string csv = collective_csv({run}, "nccl-tests, f");
  EXPECT_THAT(csv,
              StartsWith("# nccl-tests, f\ncollective,ranks,bytes,us\nall_reduce,8,8192,22.04\n"));
  const CollectiveTable table = parse_collective_table(csv, "t.csv");
  const CollectiveSeries* series =
      nearest_series(table, static_cast<std::size_t>(Collective::all_reduce), 8);
  ASSERT_NE(series, nullptr);
  EXPECT_THAT(series->bytes, SizeIs(18));
}

// The fixture is 22 us + bytes * 1.75 / 370 GB/s: the fit finds both again.
TEST(NcclTests, TheFitFindsTheCurve) {
  const NcclRun run = parse_nccl_tests(test::data_file("all_reduce_new.txt"), "f", "", 0);
  const CollectiveCurve curve = fit_collective(run, BytesPerSecond(450e9));
  EXPECT_NEAR(curve.efficiency, 370.0 / 450.0, 0.01);
  EXPECT_NEAR(curve.latency.base(), 22e-6, 0.2e-6);
  EXPECT_LT(curve.slow_start.base(), 2e4);
}

}  // namespace
}  // namespace pleat::interop_test
