// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat-planner`, which is built without the training backend.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using testing::HasSubstr;

const std::string kPlanner = PLEAT_PLANNER_BINARY;

TEST(PlannerProgram, AnswersAsTheWholeProgram) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"predict", "--model", "tiny-moe", "--cluster", "localhost", "--gpus", "4", "--seq-len",
            "128", "--global-batch", "8", "--json"},
           {"help", "train"},
           {"completion", "bash"},
           {"train", "--steps", "none"},
           {"tune", "--replay", "x", "--lr", "1"}}) {
    const Said planner = run_program(kPlanner, words), whole = run_pleat(words);
    EXPECT_EQ(planner.exit_code, whole.exit_code) << words[0];
    EXPECT_EQ(planner.out, whole.out) << words[0];
    EXPECT_EQ(planner.err, whole.err) << words[0];
  }
}

TEST(PlannerProgram, HandsOverWhatNeedsTheBackend) {
  const std::vector<std::string> words{"data", "tokenize", "In the beginning"};
  const Said planner = run_program(kPlanner, words), whole = run_pleat(words);
  EXPECT_EQ(planner.exit_code, 0) << planner.err;
  EXPECT_EQ(planner.out, whole.out);
  const Said broken = run_program(kPlanner, {"checkpoint", "verify", test_folder() + "/nowhere"});
  EXPECT_EQ(broken.exit_code,
            run_pleat({"checkpoint", "verify", test_folder() + "/nowhere"}).exit_code);
}

TEST(PlannerProgram, SaysHowTheWholeProgramIsBuilt) {
  const std::string alone = made_folder("bin") + "/pleat-planner";
  std::filesystem::copy_file(kPlanner, alone);
  const Said said = run_program(alone, {"train", "--model", "tiny-moe", "--gpus", "4"});
  EXPECT_EQ(said.exit_code, 2);
  EXPECT_THAT(said.err, HasSubstr("train: needs the training backend"));
  EXPECT_THAT(said.err, HasSubstr("hint: ./pleat.sh train builds it"));
  EXPECT_EQ(said.out, "");
}

// pleat.sh builds the whole program for the commands that get the backend's, and for no other.
TEST(PlannerProgram, PleatShKnowsTheCommands) {
  const std::string root = PLEAT_SOURCE_DIR;
  const auto found = [](const std::string& text, const std::string& pattern) {
    std::set<std::string> all;
    const std::regex expression(pattern);
    for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at)
      all.insert(std::regex_replace((*at)[1].str(), std::regex("_"), "-"));
    return all;
  };
  const std::set<std::string> declared = found(read_text(root + "/cli/command_line.cpp"),
                                               R"(add_(\w+)_command\(app, action, backend\))");
  std::smatch words;
  const std::string script = read_text(root + "/pleat.sh");
  ASSERT_TRUE(
      std::regex_search(script, words, std::regex(R"(\n  ([a-z| -]+)\) program=pleat ;;)")));
  EXPECT_EQ(found(words[1], R"(([a-z-]+))"), declared);
  EXPECT_EQ(declared.size(), 7);
}

}  // namespace
}  // namespace pleat::cli_test
