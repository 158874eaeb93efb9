// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Predictions of Pleat's own training on an H200 against what was measured there (docs/H200.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <vector>

#include "core/json/parse.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

constexpr std::size_t kFirstSteps = 4;  // cuBLASLt's kernels are timed in them

struct Case {
  const char* model;
  const char* precision;
  const char* micro_batch;
};

double number_of(const JsonValue& object, const char* key) {
  const JsonValue& value = *object.find(key);
  return value.as_double() ? *value.as_double() : static_cast<double>(*value.as_integer());
}

// The median of the steps after the first ones.
double measured_seconds(const std::string& steps) {
  std::istringstream lines(read_text(steps));
  std::vector<double> seconds;
  for (std::string line; std::getline(lines, line);) {
    const JsonValue step = parse_json(line, steps);
    if (step.find("seconds") != nullptr) seconds.push_back(number_of(step, "seconds"));
  }
  seconds.erase(seconds.begin(), seconds.begin() + kFirstSteps);
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

TEST(MeasuredRun, StepsOnAnH200ArePredictedWithin5PercentAndTensorsToThePage) {
  const std::string folder =
      std::string(PLEAT_SOURCE_DIR) + "/docs/measured/h200-2026-11-28-evening/";
  for (const Case& r : {Case{"mixtral", "bf16", "2"},
                        {"mixtral", "fp8", "2"},
                        {"qwen3", "bf16", "4"},
                        {"qwen3", "fp8", "4"}}) {
    SCOPED_TRACE(std::string(r.model) + " " + r.precision);
    const Said said = run_pleat({"predict", "--model", folder + r.model + ".json", "--cluster",
                                 "h200-sxm", "--gpus", "1", "--runtime", "pleat", "--seq-len",
                                 "4096", "--global-batch", "8", "--micro-batch", r.micro_batch,
                                 "--precision", r.precision, "--force", "--json"});
    ASSERT_EQ(said.exit_code, 0) << said.err;
    const JsonValue predicted = parse_json(said.out, "stdout");
    EXPECT_EQ(*predicted.find("profile")->as_string(), "h200-sxm-pleat");
    const std::string name = folder + "train-" + r.model + "-" + r.precision;
    const double seconds = measured_seconds(name + ".steps.jsonl");
    EXPECT_NEAR(number_of(predicted, "step_s"), seconds, 0.05 * seconds);
    const std::string text = read_text(name + ".txt");
    const JsonValue trained = parse_json(text.substr(text.find("\n{") + 1), name);
    EXPECT_NEAR(number_of(predicted, "peak_allocated_bytes"),
                number_of(*trained.find("measured"), "peak_bytes"), 1 << 20);
  }
}

}  // namespace
}  // namespace pleat::cli_test
