// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Lists with commas between that have an empty entry: refused with the option's name, whatever it
// takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

const Words kPlan{"plan", "--model", "mixtral-8x7b", "--cluster", "h100-sxm", "--gpus", "16",
                  "--seq-len", "4096", "--global-batch", "64"};
const Words kCapacity{"capacity", "--model", "mixtral-8x7b", "--tokens", "1T", "--deadline", "90d"};

void expect_refused(const Words& request, const Words& list, const std::string& message) {
  const Said run = run_pleat(request + list);
  EXPECT_EQ(run.exit_code, 2) << list.front();
  EXPECT_THAT(run.err, HasSubstr(message));
  EXPECT_EQ(run.out, "");
}

TEST(BadList, EmptyEntryAnywhere) {
  for (const std::string list : {"1,,2", "1,", ",1", "[1,,2]", "[1,]"}) {
    expect_refused(kPlan, {"--tp", list}, "error: --tp: '" + list + "' has an empty entry\n"
                                          "  hint: `pleat help plan` lists the options");
  }
  expect_refused(kPlan, {"--tp=1,,2"}, "--tp: '1,,2' has an empty entry");
  expect_refused(kPlan, {"--tp", "1,2", "4,"}, "--tp: '4,' has an empty entry");
  expect_refused(kPlan, {"--tp", "1", "--json", "--pp", "1..4,"},
                 "--pp: '1..4,' has an empty entry");
  EXPECT_EQ(run_pleat(kPlan + Words{"--tp", ","}).exit_code, 2);
}

TEST(BadList, EveryOptionWithAList) {
  const std::vector<std::pair<std::string, std::string>> of_plan{
      {"--documents", "4096,,2048"},        {"--sharding", "zero1,"},
      {"--dispatcher", "alltoall,,deepep"}, {"--schedule", ",1f1b"},
      {"--precision", "bf16,"},             {"--fp8-params", "on,"},
      {"--recompute", "moe_act,,full"},    {"--offload", "core_attn,"},
      {"--offload-layers", "1,,2"}};
  for (const auto& [name, list] : of_plan) {
    expect_refused(kPlan, {name, list}, name + ": '" + list + "' has an empty entry");
  }
  const Words job = kCapacity + Words{"--gpus", "256"};
  expect_refused(job, {"-c", "h100-sxm,"}, "--clusters: 'h100-sxm,' has an empty entry");
  expect_refused(job, {"-ch100-sxm,"}, "--clusters: 'h100-sxm,' has an empty entry");
  for (const auto& [name, list] :
       std::vector<std::pair<std::string, std::string>>{{"--precision", "bf16,"},
                                                        {"--price", "2,,3"},
                                                        {"--mtbf", ",50000"},
                                                        {"--rate", "pue=1.2,"}}) {
    expect_refused(job + Words{"--clusters", "h100-sxm"}, {name, list},
                   name + ": '" + list + "' has an empty entry");
  }
  expect_refused({"validate"}, {"--tier", "A,,B"}, "--tier: 'A,,B' has an empty entry");
  expect_refused(kCapacity + Words{"--clusters", "h100-sxm"}, {"--gpus", "256,,512"},
                 "--gpus: \"\" is not a whole number");
}

// Options that are no lists, and words of other commands, keep their commas.
TEST(BadList, CommasElsewhere) {
  const Said split = run_pleat({"data", "inspect", "--split", "969,,30", "x"});
  EXPECT_THAT(split.err, ::testing::Not(HasSubstr("empty entry")));
  const Said compare = run_pleat(kPlan + Words{"--compare", "tp=1,,ep=8"});
  EXPECT_EQ(compare.exit_code, 2);
  EXPECT_THAT(compare.err, HasSubstr("--compare: '' is not name=value"));
  const Words few{"--ep",          "8", "--dispatcher",      "alltoall",
                  "--micro-batch", "1", "--max-evaluations", "20"};
  EXPECT_EQ(run_pleat(kPlan + few + Words{"--tp", "1,2", "--pp", "1", "2,4"}).exit_code, 0);
}

}  // namespace
}  // namespace pleat::cli_test
