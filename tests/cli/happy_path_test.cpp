// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Requests that are right, and JSON that parses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json/parse.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kLocal{"--model", "tiny-moe", "--cluster", "localhost", "--gpus", "4",
                                      "--seq-len", "64", "--global-batch", "8"};

JsonValue json_of(const std::vector<std::string>& arguments) {
  const Said run = run_pleat(arguments);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  return parse_json(run.out, "stdout");
}

std::int64_t integer(const JsonValue& json, const char* key) {
  const JsonValue* value = json.find(key);
  return value != nullptr && value->as_integer() != nullptr ? *value->as_integer() : -1;
}

double number(const JsonValue& json, const char* key) {
  const JsonValue* value = json.find(key);
  return value != nullptr && value->as_double() != nullptr ? *value->as_double() : -1;
}

TEST(HappyPath, Models) {
  const Said run = run_pleat({"models"});
  EXPECT_EQ(run.exit_code, 0);
  for (const char* name : {"deepseek-v3", "qwen3-235b-a22b", "mixtral-8x7b", "llama3-8b", "tiny-moe"}) {
    EXPECT_THAT(run.out, HasSubstr(std::string("\n") + name + " "));
  }
  EXPECT_GE(json_of({"models", "--json"}).as_array()->size(), 10u);
}

TEST(HappyPath, Clusters) {
  EXPECT_THAT(run_pleat({"clusters"}).out, HasSubstr("\ngb300-nvl72 "));
  EXPECT_GE(json_of({"clusters", "--json"}).as_array()->size(), 6u);
}

TEST(HappyPath, ModelDeepSeek) {
  const Said run = run_pleat({"model", "deepseek-v3"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("671.026 B"));
  EXPECT_THAT(run.out, HasSubstr("in the file, not used:\n"));
  const JsonValue json = json_of({"model", "deepseek-v3", "--json"});
  ASSERT_NE(json.find("parameters"), nullptr);
  EXPECT_EQ(integer(*json.find("parameters"), "total"), 671026404352);
  EXPECT_EQ(integer(*json.find("parameters"), "active"), 37552282624);
}

TEST(HappyPath, PredictListsWhatItAssumed) {
  const std::vector<std::string> request = std::vector<std::string>{"predict", "--ep", "4"} + kLocal;
  const Said run = run_pleat(request);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("\nassumed: --runtime pleat, --profile "));
  EXPECT_THAT(run.out, HasSubstr("--tp 1"));
  EXPECT_THAT(run.out, ::testing::Not(HasSubstr("--ep 4")));
  EXPECT_GT(number(json_of(request + std::vector<std::string>{"--json"}), "step_s"), 0);
}

TEST(HappyPath, PlanFileGivesTheSamePrediction) {
  const std::string file = test_folder() + "/plan.json";
  const std::vector<std::string> request = std::vector<std::string>{"predict", "--ep", "4", "--json"} + kLocal;
  const double step = number(json_of(request + std::vector<std::string>{"--out", file}), "step_s");
  EXPECT_EQ(number(json_of({"predict", "--plan", file, "--json"}), "step_s"), step);
}

TEST(HappyPath, PlanLocalhost) {
  const std::string file = test_folder() + "/plan.json";
  const std::vector<std::string> request = std::vector<std::string>{"plan", "--top", "3"} + kLocal;
  const Said run = run_pleat(request);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("against #1:"));
  const JsonValue json = json_of(request + std::vector<std::string>{"--json"});
  ASSERT_EQ(json.find("best")->as_array()->size(), 3u);
  const JsonValue& best = json.find("best")->as_array()->front();
  EXPECT_EQ(run_pleat(request + std::vector<std::string>{"--out", file}).exit_code, 0);
  EXPECT_EQ(number(json_of({"predict", "--plan", file, "--json"}), "step_s"), number(best, "step_s"));
}

TEST(HappyPath, PlanPlacesARecipeAmongTheBest) {
  const std::vector<std::string> request = std::vector<std::string>{"plan", "--json"} + kLocal;
  const JsonValue searched = json_of(request + std::vector<std::string>{"--compare", "ep=1,micro-batch=1,sharding=none"});
  const JsonValue& recipe = searched.find("compared")->as_array()->front();
  const double best = number(searched.find("best")->as_array()->front(), "step_s");
  EXPECT_GE(number(recipe, "step_s"), best);
}

TEST(HappyPath, PinsAreKept) {
  const JsonValue json =
      json_of(std::vector<std::string>{"plan", "--json", "--ep", "2", "--pp", "1"} + kLocal);
  for (const JsonValue& c : *json.find("best")->as_array()) {
    EXPECT_EQ(integer(*c.find("plan")->find("expert"), "ep"), 2);
    EXPECT_EQ(integer(*c.find("plan")->find("attention"), "pp"), 1);
  }
}

TEST(HappyPath, ProgramOfALayer) {
  const Said run = run_pleat({"program", "--model", "tiny-moe", "--ep", "4", "--layer", "1"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  for (const char* op : {"router", "grouped_gemm", "all_to_all", "swiglu"}) EXPECT_THAT(run.out, HasSubstr(op));
  const JsonValue json = json_of({"program", "--model", "tiny-moe", "--ep", "4", "--layer", "1", "--json"});
  EXPECT_EQ(json.find("layers")->as_array()->size(), 1u);
  const Said absent = run_pleat({"program", "--model", "tiny-moe", "--layer", "4"});
  EXPECT_EQ(absent.exit_code, 2);
  EXPECT_THAT(absent.err, HasSubstr("tiny-moe has layers 0 to 3"));
}

TEST(HappyPath, TrainAndCompare) {
  const std::string folder = test_folder();
  write_text(folder + "/text", std::string(4000, 'a') + std::string(4000, 'b'));
  const std::vector<std::string> plan = std::vector<std::string>{"--ep", "4"} + kLocal;
  const std::vector<std::string> train{"train", "--json", "--steps", "3", "--data", folder + "/text",
                                       "--trace", folder + "/measured.json"};
  const JsonValue json = json_of(train + plan);
  const auto& steps = *json.find("steps")->as_array();
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_LT(number(steps[2], "loss"), number(steps[0], "loss"));
  EXPECT_GT(integer(*json.find("measured"), "peak_bytes"), 0);
  json_of(std::vector<std::string>{"predict", "--json", "--trace", folder + "/predicted.json"} + plan);
  const Said joined = run_pleat({"compare", folder + "/measured.json", folder + "/predicted.json"});
  EXPECT_EQ(joined.exit_code, 0) << joined.err;
  EXPECT_THAT(joined.out, HasSubstr("\nexperts.fc1.dgrad "));
  EXPECT_THAT(joined.out, HasSubstr("\nstep "));
  json_of({"compare", folder + "/measured.json", folder + "/predicted.json", "--json"});
}

TEST(HappyPath, MeasuredMemoryOfOneStepIsThePredictedOneToTheByte) {
  write_text(test_folder() + "/text", read_text(std::string(PLEAT_SOURCE_DIR) + "/CMakeLists.txt"));
  const JsonValue json = json_of(std::vector<std::string>{"train", "--json", "--steps", "1", "--ep", "2", "--data",
                                                          test_folder() + "/text"} + kLocal);
  EXPECT_EQ(integer(*json.find("predicted"), "peak_bytes_recorded_routing"),
            integer(*json.find("measured"), "peak_bytes"));
}

}  // namespace
}  // namespace pleat::cli_test
