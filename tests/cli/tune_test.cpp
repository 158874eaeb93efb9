// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The whole loop, short: it measures, plans, trains and compares. Times are the machine's own and
// are not judged here; bytes are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json/parse.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

double number(const JsonValue& json, const char* key) {
  const JsonValue* value = json.find(key);
  if (value == nullptr) return -1;
  return value->as_integer() != nullptr ? static_cast<double>(*value->as_integer())
                                        : *value->as_double();
}

TEST(Tune, TheLoopClosesAndReusesItsProfile) {
  const std::string folder = test_folder() + "/tune";
  write_text(test_folder() + "/text", read_text(std::string(PLEAT_SOURCE_DIR) + "/LICENSE"));
  const std::vector<std::string> request{"tune", "--data", test_folder() + "/text", "--out", folder,
                                         "--steps", "6", "--rounds", "2", "--seq-len", "64",
                                         "--global-batch", "16"};
  const Said run = run_pleat(request + std::vector<std::string>{"--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const JsonValue json = parse_json(run.out, "stdout");
  const auto& losses = json.find("losses")->items();
  ASSERT_EQ(losses.size(), 6u);
  EXPECT_LT(*losses.back().as_double(), *losses.front().as_double());
  const auto& contenders = json.find("contenders")->items();
  ASSERT_EQ(contenders.size(), 3u);
  const double winner = number(contenders.front(), "predicted_step_s");
  EXPECT_GT(number(contenders.back(), "predicted_step_s"), 1.2 * winner);
  for (const JsonValue& c : contenders) {
    EXPECT_EQ(c.find("medians_s")->items().size(), 2u);
    EXPECT_GT(number(c, "measured_step_s"), 0);
    EXPECT_EQ(number(c, "predicted_peak_bytes"), number(c, "measured_peak_bytes"));
  }
  EXPECT_THAT(files_in(folder),
              IsSupersetOf({"measured.json", "plan.json", "predicted.json", "profile.json"}));

  const Said again = run_pleat(request);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("profile.json is less than a day old"));
  EXPECT_THAT(again.out, HasSubstr("\nwinner "));
  EXPECT_EQ(run_pleat({"compare", folder + "/measured.json", folder + "/predicted.json"}).exit_code,
            0);
}

}  // namespace
}  // namespace pleat::cli_test
