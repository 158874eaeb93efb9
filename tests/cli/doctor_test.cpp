// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat doctor: what is there, what is not, and what mends it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json/parse.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

JsonValue check_of(const JsonValue& root, const std::string& name) {
  for (const JsonValue& check : root.find("checks")->items()) {
    if (*check.find("name")->as_string() == name) return check;
  }
  ADD_FAILURE() << "no check " << name;
  return JsonValue::object();
}

TEST(Doctor, ShippedFilesAreThere) {
  const Said run = run_pleat({"doctor", "--json"});
  const JsonValue root = parse_json(run.out, "stdout");
  EXPECT_EQ(*root.find("schema_version")->as_integer(), 1);
  EXPECT_EQ(run.exit_code, *root.find("well")->as_bool() ? 0 : 5);
  for (const char* name : {"configurations", "defaults", "cache"}) {
    EXPECT_EQ(*check_of(root, name).find("there")->as_bool(), true) << name;
    EXPECT_EQ(*check_of(root, name).find("mend")->as_string(), "") << name;
  }
  const JsonValue cpu = check_of(root, "profile of the CPU");  // the test's cache has none
  EXPECT_EQ(*cpu.find("there")->as_bool(), false);
  EXPECT_EQ(*cpu.find("needed")->as_bool(), false);
  EXPECT_EQ(*cpu.find("mend")->as_string(), "pleat calibrate");
}

TEST(Doctor, MissingConfigurations) {
  const Said run = run_pleat_with({"PLEAT_CONFIG_DIR=" + test_folder() + "/nowhere"}, {"doctor"});
  EXPECT_EQ(run.exit_code, 5);
  EXPECT_THAT(run.out, AllOf(HasSubstr("MISSING    configurations"), HasSubstr("/nowhere (from"),
                             HasSubstr("mend it: unset PLEAT_CONFIG_DIR"),
                             HasSubstr("Needed and missing: configurations\n")));
}

TEST(Doctor, WrongDefaults) {
  write_text(test_folder() + "/config.toml", "clutser = 1\n");
  const Said run = run_pleat_with({"PLEAT_CONFIG=" + test_folder() + "/config.toml"}, {"doctor"});
  EXPECT_EQ(run.exit_code, 5);
  EXPECT_THAT(run.out, AllOf(HasSubstr("MISSING    defaults"), HasSubstr("clutser: "),
                             HasSubstr("mend it: pleat config\n")));
}

TEST(Doctor, ChartsAreNotNeeded) {
  const Said run = run_pleat_with({"PLEAT_PLOTLY=" + test_folder() + "/none.js"}, {"doctor"});
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("not there  charts"), HasSubstr("mend it: ./pleat.sh setup")));
}

TEST(Doctor, Help) {
  EXPECT_THAT(run_pleat({"help", "doctor"}).out, HasSubstr("Exits with 5 if something is missing"));
}

}  // namespace
}  // namespace pleat::cli_test
