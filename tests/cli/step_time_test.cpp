// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Predicted step times against measured ones, on this machine: calibrated anew, a dozen plans in
// turns. Runs alone, and judges nothing where other programs had the cores.
#include <gtest/gtest.h>

#include "core/json/parse.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

constexpr double kMedianError = 0.15, kRankedShare = 0.9;
constexpr double kDisturbed = 0.05;  // share of the cores that others had

TEST(StepTime, MedianErrorWithin15PercentAndNineOfTenDistantPairsRanked) {
  const Said run = run_pleat({"tune", "--plans", "12", "--rounds", "5", "--recalibrate", "--steps",
                              "5", "--out", test_folder() + "/tune", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const JsonValue json = parse_json(run.out, "stdout");
  ASSERT_EQ(json.find("contenders")->items().size(), 12u);
  const JsonValue& accuracy = *json.find("accuracy");
  const double others = *accuracy.find("cores_of_others")->as_double();
  if (others > kDisturbed) {
    GTEST_SKIP() << "other programs had " << 100 * others << " % of the cores";
  }
  EXPECT_LE(*accuracy.find("median_error")->as_double(), kMedianError) << run.out;
  const auto pairs = *accuracy.find("pairs")->as_integer();
  EXPECT_GE(pairs, 20) << "predicted more than 20 % apart";
  EXPECT_GE(static_cast<double>(*accuracy.find("ranked")->as_integer()),
            kRankedShare * static_cast<double>(pairs))
      << run.out;
}

}  // namespace
}  // namespace pleat::cli_test
