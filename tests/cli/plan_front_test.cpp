// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What pleat plan tells beside its list, step time against memory and by size, agrees with the
// list.
#include <gtest/gtest.h>

#include "core/json/parse.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using Words = std::vector<std::string>;

// Layers of the pipelines do not divide: layouts other than the searched ones are better.
JsonValue front_plan(const Words& more) {
  const Said run = run_pleat(
      Words{"plan", "--model", "qwen3-30b-a3b", "--cluster", "h100-sxm", "--gpus", "16",
            "--seq-len", "4096", "--global-batch", "512", "--tp", "1", "--pp", "1,2", "--ep", "8",
            "--vpp", "1,4,6", "--dispatcher", "deepep", "--cuda-graph", "partial", "--sharding",
            "zero1", "--json"} +
      more);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return parse_json(run.out, "stdout");
}

double front_number(const JsonValue& of, const char* name) { return *of.find(name)->as_double(); }
std::int64_t peak(const JsonValue& of) { return *of.find("peak_bytes")->as_integer(); }
const JsonValue::Array& list(const JsonValue& of, const char* name) {
  return of.find(name)->items();
}

void expect_rising(const JsonValue::Array& front, const char* value) {
  for (std::size_t i = 1; i < front.size(); ++i) {
    EXPECT_GT(front_number(front[i], value), front_number(front[i - 1], value));
    EXPECT_LT(peak(front[i]), peak(front[i - 1]));
  }
}

TEST(PlanFront, BeginsWithTheBestOfTheListAndNoListedPlanBeatsARow) {
  for (const char* value : {"step_s", "high_s"}) {
    SCOPED_TRACE(value);
    const bool robust = std::string(value) == "high_s";
    const JsonValue found = front_plan(robust ? Words{"--pareto", "--robust"} : Words{"--pareto"});
    const JsonValue::Array &best = list(found, "best"), &front = list(found, "front");
    EXPECT_EQ(front_number(front.front(), value), front_number(best.front(), value));
    EXPECT_EQ(peak(front.front()), peak(best.front()));
    EXPECT_GT(front.size(), 1u);
    expect_rising(front, value);
    for (const JsonValue& row : front) {
      for (const JsonValue& c : best) {
        EXPECT_FALSE(front_number(c, value) < front_number(row, value) && peak(c) <= peak(row));
      }
    }
  }
}

TEST(PlanFront, HeadroomListsTheFrontsLast) {
  const JsonValue found = front_plan({"--objective", "memory-headroom"});
  const JsonValue::Array& front = list(found, "front");
  expect_rising(front, "step_s");
  EXPECT_EQ(front_number(list(found, "best").front(), "step_s"),
            front_number(front.back(), "step_s"));
  EXPECT_EQ(peak(list(found, "best").front()), peak(front.back()));
}

TEST(PlanFront, TheWinnersSizeHasItsStep) {
  for (const char* objective : {"cost", "time-to-train"}) {
    const JsonValue found = front_plan({"--objective", objective, "--min-gpus", "16"});
    EXPECT_EQ(front_number(list(found, "sizes").front(), "step_s"),
              front_number(list(found, "best").front(), "step_s"));
  }
}

// No search was made of the smaller sizes: nothing is proven of them.
TEST(PlanFront, SizesBehindALimitAreNotReached) {
  const JsonValue found = front_plan({"--objective", "cost", "--max-evaluations", "20"});
  const JsonValue::Array& sizes = list(found, "sizes");
  ASSERT_EQ(sizes.size(), 5u);  // 16, 8, 4, 2, 1
  EXPECT_EQ(*sizes.back().find("problem")->as_string(), "not reached");
  const JsonValue& certificate = *found.find("certificate");
  EXPECT_FALSE(*certificate.find("optimal")->as_bool());
  EXPECT_EQ(*certificate.find("objective")->as_string(), "gpu-time");
  EXPECT_EQ(front_number(certificate, "bound_s"), 0);
}

TEST(PlanFront, TheCertificateIsOfTheObjective) {
  const auto said = [](const char* objective) {
    return run_pleat({"plan", "--model", "gpt-1.7b", "--cluster", "h100-sxm", "--gpus", "4",
                      "--seq-len", "2048", "--global-batch", "64", "--objective", objective})
        .out;
  };
  EXPECT_NE(said("throughput").find("no plan of the space is faster"), std::string::npos);
  EXPECT_NE(said("time-to-train").find("no plan on any of the sizes is faster"), std::string::npos);
  EXPECT_NE(said("cost").find("no plan on any of the sizes takes fewer GPU-hours"),
            std::string::npos);
}

}  // namespace
}  // namespace pleat::cli_test
