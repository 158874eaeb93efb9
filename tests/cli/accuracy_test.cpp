// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Guards against regressions of accuracy on the published runs that ship. The figures themselves
// are in docs/VALIDATION.md; the limits here are those figures and some room.
#include <gtest/gtest.h>

#include <stdexcept>

#include "core/json/parse.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

JsonValue summary_of(const std::string& rows) {
  const Said run =
      run_pleat({"validate", "--rows",
                 std::string(PLEAT_SOURCE_DIR) + "/configs/validation/" + rows, "--json"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return *parse_json(run.out, rows).find("summary");
}

double error_number(const JsonValue& errors, const char* key) {
  const JsonValue& value = *errors.find(key);
  return value.as_double() ? *value.as_double() : static_cast<double>(*value.as_integer());
}

// Errors of one line of the summary: by "goal" or "tier".
const JsonValue& errors_of(const JsonValue& summary, const char* by, const std::string& name) {
  for (const JsonValue& g : summary.find("by")->find(by)->items()) {
    if (*g.find("value")->as_string() == name) return *g.find("error");
  }
  throw std::runtime_error("no " + name);
}

TEST(Accuracy, PublishedMegatronRuns) {
  const JsonValue summary = summary_of("runs.jsonl");
  EXPECT_EQ(error_number(summary, "missed"), 0);
  const JsonValue& a = errors_of(summary, "goal", "tier A");
  EXPECT_GE(error_number(a, "count"), 137);
  EXPECT_LE(error_number(a, "median"), 0.027);
  EXPECT_LE(error_number(a, "p90"), 0.085);
  const JsonValue& late = errors_of(summary, "goal", "tiers A and B, nemo-25.09 on");
  EXPECT_LE(error_number(late, "median"), 0.033);
  EXPECT_LE(error_number(late, "p90"), 0.140);
  EXPECT_LE(error_number(errors_of(summary, "tier", "B"), "p90"), 0.130);
  EXPECT_LE(error_number(errors_of(summary, "tier", "C"), "p90"), 0.270);
  EXPECT_LE(error_number(errors_of(summary, "tier", "H"), "median"), 0.080);
}

TEST(Accuracy, RunsOfMlperfUpToTenThousandGpus) {
  const JsonValue summary = summary_of("mlperf.jsonl");
  EXPECT_EQ(error_number(summary, "missed"), 0);
  const JsonValue& a = errors_of(summary, "tier", "A");
  EXPECT_GE(error_number(a, "count"), 18);
  EXPECT_LE(error_number(a, "median"), 0.04);
  EXPECT_LE(error_number(errors_of(summary, "tier", "B"), "p90"), 0.18);
}

TEST(Accuracy, RunsOfVtrainAndChoosingAmongThem) {
  const JsonValue summary = summary_of("vtrain.jsonl");
  EXPECT_EQ(error_number(summary, "missed"), 0);
  const JsonValue& node = errors_of(summary, "goal", "vTrain, 2-8 GPUs");
  EXPECT_EQ(error_number(node, "count"), 900);
  EXPECT_LE(error_number(node, "mean"), 0.068);
  const JsonValue& nodes = errors_of(summary, "goal", "vTrain, 64-512 GPUs");
  EXPECT_EQ(error_number(nodes, "count"), 47);
  EXPECT_LE(error_number(nodes, "mean"), 0.075);
  const JsonValue& choosing = *summary.find("choosing");
  EXPECT_EQ(error_number(choosing, "groups"), 91);
  EXPECT_EQ(error_number(choosing, "pairs"), 7201);
  EXPECT_LE(error_number(choosing, "mean_regret"), 0.032);
  EXPECT_GE(error_number(choosing, "concordance"), 0.900);
}

TEST(Accuracy, PeakMemoryOfSimuMaxRuns) {
  const JsonValue summary = summary_of("simumax_b200.jsonl");
  const JsonValue& memory = *summary.find("memory_error");
  EXPECT_GE(error_number(memory, "count"), 43);
  EXPECT_LE(error_number(memory, "mean"), 0.004);
  EXPECT_LE(error_number(memory, "worst"), 0.010);
}

}  // namespace
}  // namespace pleat::cli_test
