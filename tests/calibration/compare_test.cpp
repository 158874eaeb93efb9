// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Traces joined by key: totals, ratios, and what only one of them has.
#include "calibration/compare.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace pleat {
namespace {

Span span(const std::string& op, int microbatch, int rank, double seconds,
          const std::string& category) {
  Span s;
  s.key.microbatch = microbatch;
  s.key.chunk = 0;
  s.key.layer = 1;
  s.key.op = op;
  s.rank = rank;
  s.duration_s = seconds;
  s.category = category;
  return s;
}

Trace measured() {
  Trace t;
  t.kind = "measured";
  t.model = "tiny";
  t.plan = "TP1";
  t.step_s = 0.010;
  t.peak_bytes = 1000;
  // Two ranks ran fc1: their mean counts.
  t.spans = {span("fc1", 0, 0, 0.002, "mlp"), span("fc1", 0, 1, 0.004, "mlp"),
             span("fc1", 1, 0, 0.002, "mlp"), span("qkv", 0, 0, 0.001, "qkv"),
             span("add", 0, 0, 0.0005, "residual")};
  return t;
}

Trace predicted() {
  Trace t;
  t.kind = "predicted";
  t.step_s = 0.008;
  t.peak_bytes = 1000;
  t.spans = {span("fc1", 0, 0, 0.0015, "mlp"), span("fc1", 1, 0, 0.0015, "mlp"),
             span("qkv", 0, 0, 0.0011, "qkv"), span("norm", 0, 0, 0.0001, "layernorm")};
  return t;
}

TEST(Compare, TotalsByOperationLargestDifferenceFirst) {
  const TraceComparison c = compare(measured(), predicted());
  ASSERT_EQ(c.operations.size(), 2u);
  EXPECT_EQ(c.operations[0].name, "fc1");
  EXPECT_EQ(c.operations[0].category, "mlp");
  EXPECT_EQ(c.operations[0].keys, 2);
  EXPECT_DOUBLE_EQ(c.operations[0].measured_s, 0.005);
  EXPECT_DOUBLE_EQ(c.operations[0].predicted_s, 0.003);
  EXPECT_DOUBLE_EQ(c.operations[0].ratio(), 0.6);
  EXPECT_EQ(c.operations[1].name, "qkv");
  EXPECT_DOUBLE_EQ(c.operations[1].ratio(), 1.1);
  ASSERT_EQ(c.categories.size(), 2u);
  EXPECT_EQ(c.categories[0].name, "mlp");
}

TEST(Compare, OperationsAndTheRestAddUpToTheStep) {
  const TraceComparison c = compare(measured(), predicted());
  EXPECT_EQ(c.stages, 1);
  EXPECT_DOUBLE_EQ(c.measured_rest_s, 0.010 - 0.003 - 0.002 - 0.001 - 0.0005);
  EXPECT_DOUBLE_EQ(c.predicted_rest_s, 0.008 - 0.0015 - 0.0015 - 0.0011 - 0.0001);
  Trace two = measured();
  two.spans.push_back(span("fc1", 0, 2, 0.006, "mlp"));
  two.spans.back().key.stage = 1;
  const TraceComparison stages = compare(two, predicted());
  EXPECT_EQ(stages.stages, 2);
  EXPECT_DOUBLE_EQ(stages.measured_rest_s, 0.020 - 0.0065 - 0.006);
}

TEST(Compare, UnmatchedKeysAreListedAndNotCounted) {
  const TraceComparison c = compare(measured(), predicted());
  ASSERT_EQ(c.only_measured.size(), 1u);
  EXPECT_EQ(c.only_measured[0].op, "add");
  ASSERT_EQ(c.only_predicted.size(), 1u);
  EXPECT_EQ(c.only_predicted[0].op, "norm");
}

TEST(Compare, TheKeyIsMoreThanTheName) {
  Trace other = predicted();
  for (Span& s : other.spans) s.key.pass = Pass::backward;
  const TraceComparison c = compare(measured(), other);
  EXPECT_TRUE(c.operations.empty());
  EXPECT_EQ(c.only_measured.size(), 4u);  // two fc1 keys, qkv, add
}

TEST(Compare, TextAndJsonSayTheSame) {
  const TraceComparison c = compare(measured(), predicted());
  const std::string text = print_comparison(c);
  EXPECT_NE(text.find("0.800"), std::string::npos) << text;  // step ratio
  EXPECT_NE(text.find("only in the measured trace: 1"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(comparison_json(c).dump());
  EXPECT_EQ(json["operations"][0]["name"], "fc1");
  EXPECT_DOUBLE_EQ(json["operations"][0]["ratio"].get<double>(), 0.6);
  EXPECT_EQ(json["only_predicted"].size(), 1u);
  EXPECT_EQ(json["peak_bytes"]["measured"], 1000);
}

TEST(Compare, EmptyTraces) {
  const TraceComparison c = compare({}, {});
  EXPECT_TRUE(c.operations.empty());
  EXPECT_NE(print_comparison(c).find("step"), std::string::npos);
}

}  // namespace
}  // namespace pleat
