// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Loads of experts in the forms in which they are written down.
#include "interop/expert_load_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/diagnostics.hpp"

namespace pleat::interop_test {
namespace {

using interop::parse_expert_loads;
using ::testing::HasSubstr;
using All = std::vector<ExpertLoads>;

ModelSpec small() {
  ModelSpec m;
  m.layers = 3;
  m.mtp_layers = 1;
  m.moe = MoeSpec{.experts = 2, .top_k = 1};
  m.moe_layer = {false, true, true};
  return m;
}

All read_loads(const std::string& text) { return parse_expert_loads(text, "loads", small()); }

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(read_loads(text));
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

TEST(ExpertLoadFile, TheLastStepOfALog) {
  const std::string log = R"({"step":0,"loss":3.1,"expert_loads":{"1":[1,1],"2":[2,2]}})"
                          "\n"
                          R"({"step":1,"loss":3.0,"expert_loads":{"1":[5,3],"2":[4,4],"4":[6,2]}})"
                          "\n"
                          R"({"step":2,"loss":2.9})"
                          "\n";
  EXPECT_EQ(read_loads(log), (All{{1, {5, 3}}, {2, {4, 4}}, {4, {6, 2}}}));
}

TEST(ExpertLoadFile, LayersAsOneObjectOrALineEach) {
  const All want{{1, {5, 3}}, {2, {4, 4.5}}};
  EXPECT_EQ(read_loads(R"({"1": [5, 3], "2": [4, 4.5]})"), want);
  EXPECT_EQ(read_loads("{\n  \"1\": [5, 3],\n  \"2\": [4, 4.5]\n}\n"), want);
  EXPECT_EQ(read_loads(R"({"expert_loads": {"1": [5, 3], "2": [4, 4.5]}})"), want);
  EXPECT_EQ(
      read_loads(R"({"workload": {"seq_len": 8, "expert_loads": {"1": [5, 3], "2": [4, 4.5]}}})"),
      want);
  EXPECT_EQ(read_loads("{\"layer\": 2, \"loads\": [4, 4.5]}\n{\"layer\": 1, \"loads\": [5, 3]}\n"),
            want);
}

// Rows are microbatches; the last iteration counts; prediction layers are numbered by themselves.
TEST(ExpertLoadFile, MegatronsTokensPerExpert) {
  const std::string text =
      R"({"iter": 100, "block": "decoder", "layer": 1, "tpe": [[9, 9]]})"
      "\n"
      R"({"iter": 200, "block": "decoder", "layer": 1, "tpe": [[3, 1], [2, 2]]})"
      "\n"
      R"({"iter": 200, "block": "decoder", "layer": 2, "tpe": [[4, 0]]})"
      "\n"
      R"({"iter": 200, "block": "decoder", "layer": 2, "tpe": [[1, 3]]})"
      "\n"
      R"({"iter": 200, "block": "mtp", "mtp_idx": 0, "layer": 0, "tpe": [[7, 1]]})"
      "\n";
  EXPECT_EQ(read_loads(text), (All{{1, {5, 3}}, {2, {5, 3}}, {4, {7, 1}}}));
}

TEST(ExpertLoadFile, WhatIsWrongIsNamed) {
  EXPECT_THAT(refusal("{}"), HasSubstr("has no loads of experts"));
  EXPECT_THAT(refusal("{\"step\": 1}\n{\"step\": 2}\n"), HasSubstr("has no loads of experts"));
  EXPECT_THAT(refusal(R"({"1": [5, 3], "2": [4]})"), HasSubstr("expert_loads.2"));
  EXPECT_THAT(refusal(R"({"1": [5, -3], "2": [4, 4]})"), HasSubstr("the load of expert 1 is -3"));
  EXPECT_THAT(refusal(R"({"1": [5, 3]})"), HasSubstr("layer 2 has experts and no loads"));
  EXPECT_THAT(refusal("{\"layer\": 1, \"loads\": [5, 3]}\n{\"layer\"\n"),
              HasSubstr("loads:2:9"));
  EXPECT_THAT(refusal("{\"layer\": 1, \"loads\": [5, -3]}\n{\"layer\": 2, \"loads\": [5, 3]}\n"),
              HasSubstr("loads:1:23: expert_loads.1: the load of expert 1"));
  // One rank's file of a run with expert parallelism has the experts of that rank alone.
  EXPECT_THAT(refusal(R"({"layer": 1, "tpe": [[5]]})"), HasSubstr("has 1 loads, the model has 2"));
  EXPECT_THAT(refusal(R"({"layer": 1, "tpe": [[5, 3], [4]]})"), HasSubstr("different lengths"));
  EXPECT_THAT(refusal(R"({"layer": 1, "tpe": [[5, "a"]]})"), HasSubstr("the load of expert 1 is"));
  EXPECT_THAT(refusal("nonsense"), HasSubstr("loads"));
}

}  // namespace
}  // namespace pleat::interop_test
