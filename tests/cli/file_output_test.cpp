// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Files appear whole or not at all, and a reader that goes away is no crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string> kSmall{"predict",   "--model",        "tiny-moe", "--cluster",
                                      "localhost", "--gpus",         "4",        "--seq-len",
                                      "64",        "--global-batch", "8",        "--out"};

TEST(FileOutput, ReplacesWhatIsThereOnRequest) {
  const std::string folder = made_folder("out");
  write_text(folder + "/plan.json", "old");
  const Said refused = run_pleat(kSmall + std::vector<std::string>{folder + "/plan.json"});
  EXPECT_EQ(refused.exit_code, 7) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("is there already\n  hint: --force replaces it"));
  EXPECT_EQ(read_text(folder + "/plan.json"), "old");
  const std::vector<std::string> forced{folder + "/plan.json", "--force"};
  EXPECT_EQ(run_pleat(kSmall + forced).exit_code, 0);
  EXPECT_THAT(read_text(folder + "/plan.json"), HasSubstr("\"schema_version\""));
  EXPECT_THAT(files_in(folder), ElementsAre("plan.json"));
}

TEST(FileOutput, EveryFileIsNamed) {
  const std::string folder = made_folder("out");
  std::vector<std::string> words = kSmall;
  words.push_back(folder + "/plan.json");
  for (const char* flag : {"--trace", "--memory-timeline", "--html"})
    words.insert(words.end(), {flag, folder + "/" + (flag + 2)});
  const Said run = run_pleat(words);
  EXPECT_EQ(run.exit_code, 0);
  for (const std::string& file : files_in(folder)) {
    EXPECT_THAT(run.err, HasSubstr("wrote " + folder + "/" + file + "\n"));
    EXPECT_THAT(run.out, ::testing::Not(HasSubstr("wrote")));
  }
  EXPECT_EQ(files_in(folder).size(), 4u);
  words.insert(words.end(), {"--dry-run"});
  EXPECT_THAT(run_pleat(words).err, ::testing::Not(HasSubstr("wrote")));
}

TEST(FileOutput, FollowsALink) {
  const std::string folder = made_folder("out");
  write_text(folder + "/real.json", "old");
  std::filesystem::create_symlink("real.json", folder + "/link.json");
  EXPECT_EQ(
      run_pleat(kSmall + std::vector<std::string>{folder + "/link.json", "--force"}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(folder + "/link.json"));
  EXPECT_THAT(read_text(folder + "/real.json"), HasSubstr("\"schema_version\""));
}

TEST(FileOutput, NoFolder) {
  const std::string folder = made_folder("out");
  const Said run = run_pleat(kSmall + std::vector<std::string>{folder + "/none/plan.json"});
  EXPECT_EQ(run.exit_code, 5);
  EXPECT_THAT(run.err, HasSubstr("the folder " + folder + "/none does not exist"));
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(files_in(folder), ElementsAre());
}

TEST(FileOutput, TargetIsAFolder) {
  const std::string folder = made_folder("out");
  EXPECT_EQ(run_pleat(kSmall + std::vector<std::string>{folder}).exit_code, 5);
  EXPECT_THAT(files_in(folder), ElementsAre());
}

TEST(FileOutput, AWrongRequestLeavesTheOldFile) {
  const std::string folder = made_folder("out");
  write_text(folder + "/plan.json", "old");
  const Said run =
      run_pleat(kSmall + std::vector<std::string>{folder + "/plan.json", "--force", "--ep", "3"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(read_text(folder + "/plan.json"), "old");
  EXPECT_THAT(files_in(folder), ElementsAre("plan.json"));
}

TEST(FileOutput, DevicesAreWrittenNotReplaced) {
  const Said run = run_pleat(kSmall + std::vector<std::string>{"/dev/null"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(run_pleat(kSmall + std::vector<std::string>{"/dev/full"}).exit_code, 5);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(FileOutput, StdoutFullOrClosed) {
  const Said full = run_pleat_into("/dev/full", {"models"});
  EXPECT_EQ(full.exit_code, 5);
  EXPECT_EQ(full.err, "error: cannot write to stdout: No space left on device\n");
  const Said closed = run_pleat_into_closed_pipe({"models"});
  EXPECT_EQ(closed.exit_code, 5);
  EXPECT_EQ(closed.err, "");
}

TEST(FileOutput, InterruptedTrainingEndsWith130AndLeavesNoFile) {
  const std::string folder = made_folder("out");
  write_text(test_folder() + "/text", std::string(4000, 'a'));
  const Said run = interrupt_pleat(
      {"train", "--model", "tiny-moe", "--gpus", "2", "--seq-len", "64", "--global-batch", "4",
       "--steps", "1000000", "--data", test_folder() + "/text", "--trace", folder + "/trace.json"},
      "step    3");
  EXPECT_EQ(run.exit_code, 130);
  EXPECT_THAT(run.err, ::testing::MatchesRegex("stopped by SIGINT after step [0-9]+ of 1000000\n"));
  EXPECT_THAT(files_in(folder), ElementsAre());
}

}  // namespace
}  // namespace pleat::cli_test
