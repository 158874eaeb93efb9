// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Requests as people write them: "H100", 4k, 4M tokens, 400B-A20B, 63 GPUs, a cluster of one's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json/parse.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

Said said_predict(std::vector<std::string> words) {
  words.insert(words.begin(), "predict");
  return run_pleat(words);
}

TEST(RequestWords, ShortNamesAndTokensMeanTheLongOnes) {
  const Said shorter = said_predict({"-m", "mixtral-8x7b", "-c", "H100", "-n", "64", "-s", "4k",
                                     "-b", "1M", "--ep", "8", "--json"});
  ASSERT_EQ(shorter.exit_code, 0) << shorter.err;
  const Said longer =
      said_predict({"--model", "mixtral-8x7b", "--cluster", "h100-sxm", "--gpus", "64", "--seq-len",
                    "4096", "--global-batch", "256", "--ep", "8", "--json"});
  EXPECT_EQ(shorter.out, longer.out);
}

TEST(RequestWords, WrongOnesSayWhatWouldBeRight) {
  const std::vector<std::string> request{"-m", "mixtral-8x7b", "-n", "64", "--ep", "8"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), request.begin(), request.end());
    const Said said = said_predict(more);
    EXPECT_EQ(said.exit_code, 2);
    return said.err;
  };
  EXPECT_THAT(with({"-c", "gb", "-s", "4k", "-b", "256"}),
              HasSubstr("so begin: gb200-nvl72, gb300-nvl72"));
  EXPECT_THAT(with({"-c", "h100", "-s", "4k", "-b", "5k"}),
              HasSubstr("--global-batch: 5120 tokens are no whole number of sequences of 4096\n"
                        "  hint: 1 or 2 sequences"));
  EXPECT_THAT(with({"-c", "h100", "-s", "4q", "-b", "256"}),
              HasSubstr("--seq-len: 4q is not a whole number from 1 to "));
}

TEST(RequestWords, AllThatIsWrongIsSaidAtOnce) {
  const Said said = said_predict({"-m", "mixtral", "-c", "h9000", "-n", "64"});
  EXPECT_EQ(said.exit_code, 2);
  for (const char* wrong : {"--seq-len: is required", "--global-batch: is required",
                            "--model: no model named \"mixtral\"",
                            "--cluster: no cluster named \"h9000\""}) {
    EXPECT_THAT(said.err, HasSubstr(wrong));
  }
}

TEST(RequestWords, SizesWithoutAPlanHaveNeighboursThatDo) {
  const Said said = run_pleat({"plan", "-m", "mixtral-8x7b", "-c", "h100", "-n", "63", "-s", "4k",
                               "-b", "256"});
  EXPECT_EQ(said.exit_code, 2);
  EXPECT_THAT(said.err, HasSubstr("no valid plan on 63 GPUs"));
  EXPECT_THAT(said.err, HasSubstr("or 64 GPUs have plans"));
}

TEST(RequestWords, ASizeIsATypicalModel) {
  const Said said = said_predict({"-m", "400B-A20B", "-c", "gb300", "-n", "64", "-s", "4k", "-b",
                                  "4M", "--ep", "32", "--precision", "mxfp8"});
  EXPECT_EQ(said.exit_code, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("400B-A20B on 64 x gb300-nvl72"));
  EXPECT_THAT(said.out, HasSubstr("a typical model: "));
}

// Under another name a cluster keeps its GPU's profile: the same step and the same band.
TEST(RequestWords, AClusterOfOnesOwnKeepsTheProfileOfItsGpu) {
  const std::string file = test_folder() + "/ours.json";
  std::string text = read_text(std::string(PLEAT_SOURCE_DIR) + "/configs/clusters/h100-sxm.json");
  const std::string name = "\"name\": \"h100-sxm\"";
  text.replace(text.find(name), name.size(), "\"name\": \"ours\"");
  write_text(file, text);
  const auto priced = [](const std::string& cluster, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"-m", "mixtral-8x7b", "-c", cluster, "-n", "64", "-s", "4096", "-b",
                               "256", "--ep", "8", "--json"});
    const Said said = said_predict(more);
    EXPECT_EQ(said.exit_code, 0) << said.err;
    return parse_json(said.out, "stdout");
  };
  const JsonValue own = priced(file), shipped = priced("h100-sxm");
  for (const char* key : {"step_s", "band_s"}) {
    ASSERT_NE(shipped.find(key), nullptr) << key;
    EXPECT_EQ(*own.find(key), *shipped.find(key)) << key;
  }
  const JsonValue named = priced(file, {"--profile", "h100-sxm-megatron"});
  EXPECT_EQ(*named.find("step_s"), *shipped.find("step_s"));
}

TEST(DryRun, CalibrationMeasuresNothing) {
  const std::string file = test_folder() + "/mine.json";
  const Said said = run_pleat({"calibrate", "--dry-run", "--out", file});
  EXPECT_EQ(said.exit_code, 0) << said.err;
  EXPECT_THAT(said.err,
              HasSubstr("would measure this machine's cores as localhost and write " + file));
  EXPECT_EQ(said.out, "");
  EXPECT_THAT(files_in(test_folder()), Not(Contains(HasSubstr("mine"))));
}

}  // namespace
}  // namespace pleat::cli_test
