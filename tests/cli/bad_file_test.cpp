// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Files that are not what they should be: exit code 3 with line and column, 5 when they cannot be
// read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/spec/profile.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::HasSubstr;

// A valid plan file, written by the program itself.
std::string fallback_by_time() {
  const std::string file = test_folder() + "/plan.json";
  const Said run =
      run_pleat({"predict", "--model", "tiny-moe", "--cluster", "localhost", "--gpus", "4",
                 "--seq-len", "64", "--global-batch", "8", "--ep", "4", "--force", "--out", file});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return file;
}

std::string localhost_profile() {
  Profile profile = datasheet_profile("localhost", 1, Runtime::pleat);
  profile.name = "localhost-test";
  const std::string file = test_folder() + "/profile.json";
  write_text(file, write_profile(profile));
  return file;
}

Said predict_edited(const std::string& from, const std::string& to) {
  const std::string file = fallback_by_time();
  std::string text = read_text(file);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  write_text(file, text.replace(at, from.size(), to));
  return run_pleat({"predict", "--plan", file});
}

TEST(BadFile, NotANumber) {
  for (const char* word : {"NaN", "Infinity", "1e400"}) {
    const Said run = predict_edited("\"vpp\": 1", std::string("\"vpp\": ") + word);
    EXPECT_EQ(run.exit_code, 3) << word;
    EXPECT_THAT(run.err, ::testing::ContainsRegex("plan.json:[0-9]+:[0-9]+: .*not a JSON number"))
        << word;
  }
}

TEST(BadFile, DuplicateKeyNamesBothPlaces) {
  const Said run = predict_edited("\"vpp\": 1", "\"vpp\": 1, \"vpp\": 2");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err,
              ::testing::ContainsRegex("plan.json:[0-9]+:[0-9]+: plan.vpp: duplicate key"));
  EXPECT_THAT(run.err, ::testing::ContainsRegex("first at line [0-9]+, column [0-9]+"));
}

TEST(BadFile, UnknownFieldSuggests) {
  const Said run = predict_edited("\"expert\":", "\"expret\":");
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("did you mean expert?"));
}

TEST(BadFile, PlanThatBreaksARuleIsABadRequest) {
  const Said run = predict_edited("\"ep\": 4", "\"ep\": 3");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("plan.json"));
  EXPECT_THAT(run.err, HasSubstr("8 experts cannot be split over EP 3"));
}

TEST(BadFile, NegativeBandwidth) {
  const std::string name = "/configs/clusters/localhost.json";
  std::string text = read_text(std::string(PLEAT_SOURCE_DIR) + name);
  const std::string before = "\"bandwidth\": {\n        \"value\": ";
  const std::size_t at = text.find(before);
  ASSERT_NE(at, std::string::npos);
  const std::size_t begin = at + before.size(), size = text.find(',', begin) - begin;
  const std::string file = test_folder() + "/cluster.json";
  for (const char* bad : {"\"-5 GB/s\"", "\"0 GB/s\"", "\"1e30 GB/s\""}) {
    std::string edited = text;
    write_text(file, edited.replace(begin, size, bad));
    const Said run = run_pleat({"predict", "--model", "tiny-moe", "--cluster", file, "--gpus", "4",
                               "--seq-len", "64", "--global-batch", "8"});
    EXPECT_EQ(run.exit_code, 3) << bad;
    EXPECT_THAT(run.err, HasSubstr("bandwidth")) << bad;
    EXPECT_THAT(run.err, HasSubstr("range")) << bad;
  }
}

// A shipped file with what stands after `key` replaced; where the value ends is counted.
std::string shipped_with(const std::string& name, const std::string& key,
                         const std::string& value) {
  std::string text = read_text(std::string(PLEAT_SOURCE_DIR) + "/configs/" + name);
  const std::size_t at = text.find("\"" + key + "\": ");
  EXPECT_NE(at, std::string::npos) << key;
  const std::size_t begin = at + key.size() + 4;
  std::size_t end = begin;
  for (int depth = 0; end < text.size(); ++end) {
    if (text[end] == '{' || text[end] == '[') ++depth;
    if (depth == 0 && (text[end] == ',' || text[end] == '\n')) break;
    if ((text[end] == '}' || text[end] == ']') && --depth == 0) {
      ++end;
      break;
    }
  }
  const std::string file = test_folder() + "/edited.json";
  write_text(file, text.replace(begin, end - begin, value));
  return file;
}

TEST(BadFile, AValueWhereAnObjectBelongs) {
  for (const char* value : {"7", "\"text\"", "[1]", "true"}) {
    const Said rates =
        run_pleat({"capacity", "--rates", shipped_with("rates/default.json", "clusters", value),
                   "--model", "tiny-moe", "--tokens", "1e9", "--seq-len", "64", "--global-batch",
                   "8", "--clusters", "h100-sxm", "--deadline", "60d"});
    EXPECT_EQ(rates.exit_code, 3) << value << rates.err;
    EXPECT_THAT(rates.err, HasSubstr("clusters")) << value;
    const Said eras =
        run_pleat({"predict", "--model", "mixtral-8x7b", "--cluster", "b200", "--gpus", "8",
                   "--profile", shipped_with("profiles/b200-megatron.json", "eras", value),
                   "--seq-len", "4096", "--global-batch", "8"});
    EXPECT_EQ(eras.exit_code, 3) << value << eras.err;
    EXPECT_THAT(eras.err, HasSubstr("eras")) << value;
  }
}

TEST(BadFile, RatesThatNoMachineHas) {
  for (const char* rate : {"\"1e-320 TFLOP/s\"", "\"1e-30 TFLOP/s\"", "\"1e30 TFLOP/s\""}) {
    const Said run =
        run_pleat({"predict", "--model", "mixtral-8x7b", "--cluster", "b200", "--profile",
                   shipped_with("profiles/b200-megatron.json", "rate", rate), "--gpus", "8",
                   "--seq-len", "4096", "--global-batch", "8"});
    EXPECT_EQ(run.exit_code, 3) << rate << run.err;
    EXPECT_THAT(run.err, HasSubstr("rate")) << rate;
  }
}

TEST(BadFile, AModelWithoutTheWidthOfItsLayers) {
  const std::string file = fallback_by_time();
  std::string text = read_text(file);
  const std::size_t at = text.find("\"ffn\": ", text.find("\"resolved\""));
  ASSERT_NE(at, std::string::npos);
  const std::size_t begin = at + 7, end = text.find_first_of(",\n", begin);
  write_text(file, text.replace(begin, end - begin, "0"));
  const Said run =
      run_pleat({"predict", "--plan", file, "--memory-timeline", test_folder() + "/memory.json"});
  EXPECT_TRUE(run.exit_code == 0 || run.exit_code == 3) << run.exit_code << run.err;
}

TEST(BadFile, TruncatedEmptyAndForeign) {
  const std::string file = test_folder() + "/x.json";
  for (const char* text : {"", "{", "{\"a\": 1", "[]", "hello"}) {
    write_text(file, text);
    EXPECT_EQ(run_pleat({"predict", "--plan", file}).exit_code, 3) << text;
    EXPECT_EQ(run_pleat({"model", file}).exit_code, 3) << text;
    EXPECT_EQ(run_pleat({"compare", file, file}).exit_code, 3) << text;
  }
}

TEST(BadFile, DeepNestingEndsSoon) {
  const std::string file = test_folder() + "/deep.json";
  write_text(file, std::string(2'000'000, '['));
  EXPECT_EQ(run_pleat({"model", file}).exit_code, 3);
}

TEST(BadFile, MissingFolderAndPipe) {
  const std::string folder = test_folder();
  EXPECT_EQ(run_pleat({"model", folder + "/none.json"}).exit_code, 5);
  EXPECT_EQ(run_pleat({"model", folder + "/"}).exit_code, 5);
  const std::string fifo = folder + "/fifo.json";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(run_pleat({"model", fifo}).exit_code, 5);
  EXPECT_EQ(run_pleat({"predict", "--plan", folder + "/none.json"}).exit_code, 5);
}

TEST(BadFile, PlanOfAnotherClusterIsAMismatch) {
  const std::string plan = fallback_by_time();
  const Said other = run_pleat({"predict", "--plan", plan, "--cluster", "h100-sxm"});
  EXPECT_EQ(other.exit_code, 6);
  EXPECT_THAT(other.err, HasSubstr("the plan was made for localhost, not for h100-sxm"));
  EXPECT_EQ(run_pleat({"predict", "--plan", plan, "--cluster", "localhost"}).exit_code, 0);
  EXPECT_EQ(run_pleat({"predict", "--plan", plan, "--cluster", "h100-sxm", "--accept-mismatch"})
                .exit_code,
            0);
  const Said profile =
      run_pleat({"predict", "--model", "tiny-moe", "--cluster", "h100-sxm", "--gpus", "4",
                 "--seq-len", "64", "--global-batch", "8", "--profile", localhost_profile()});
  EXPECT_EQ(profile.exit_code, 6);
  EXPECT_THAT(profile.err, HasSubstr("localhost-test describes localhost, not h100-sxm"));
  const Said flag = run_pleat({"predict", "--plan", plan, "--tp", "2"});
  EXPECT_EQ(flag.exit_code, 2);
  EXPECT_THAT(flag.err, HasSubstr("--tp: cannot be given beside --plan"));
}

}  // namespace
}  // namespace pleat::cli_test
