// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The trace schema: keys as text, the exact file, the round trip, wrong files.
#include "core/trace/trace.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

Trace small_trace() {
  Trace t;
  t.kind = "predicted";
  t.model = "tiny \"moe\"\n";
  t.cluster = "localhost";
  t.plan = "TP1 EP4";
  t.step_s = 0.1;
  t.peak_bytes = 5'000'000'000'000;
  t.spans.push_back({.key = {.stage = 0, .microbatch = 3, .chunk = 0, .layer = 7, .op = "fc1"},
                     .rank = 2,
                     .start_s = 1.0 / 3,
                     .duration_s = 2.5e-7,
                     .category = "experts",
                     .bytes = 4096});
  t.spans.push_back({.key = {.stage = 1, .op = "adamw"},
                     .rank = 5,
                     .stream = Stream::comm,
                     .start_s = 0,
                     .duration_s = 0.25,
                     .category = "optimizer"});
  t.spans[1].key.pass = Pass::backward;
  return t;
}

TEST(OpKey, Text) {
  const OpKey op{.stage = 0, .microbatch = 3, .chunk = 0, .layer = 7, .op = "fc1"};
  EXPECT_EQ(to_text(op), "s0/c0/m3/L7/fwd/fc1");
  OpKey backward = op;
  backward.pass = Pass::backward;
  backward.layer = -1;
  EXPECT_EQ(to_text(backward), "s0/c0/m3/L-1/bwd/fc1");
  EXPECT_EQ(to_text({.stage = 2, .op = "adamw"}), "s2/step/adamw");
  EXPECT_EQ(to_text({.stage = 2, .chunk = 1, .layer = 4, .op = "reduce"}), "s2/step/c1/L4/reduce");
}

TEST(Trace, ExactFile) {
  EXPECT_EQ(write_trace(small_trace()),
            R"({"displayTimeUnit":"ms",
"pleat":{"schema_version":1,"kind":"predicted","model":"tiny \"moe\"\n",)"
R"("cluster":"localhost","plan":"TP1 EP4","step_s":0.1,"peak_bytes":5000000000000},
"traceEvents":[
{"ph":"M","name":"process_name","pid":2,"tid":0,"args":{"name":"rank 2"}},
{"ph":"M","name":"thread_name","pid":2,"tid":0,"args":{"name":"compute"}},
{"ph":"M","name":"thread_name","pid":2,"tid":1,"args":{"name":"comm"}},
{"ph":"M","name":"process_name","pid":5,"tid":0,"args":{"name":"rank 5"}},
{"ph":"M","name":"thread_name","pid":5,"tid":0,"args":{"name":"compute"}},
{"ph":"M","name":"thread_name","pid":5,"tid":1,"args":{"name":"comm"}},
{"ph":"X","name":"fc1","cat":"experts","pid":2,"tid":0,"ts":333333.3333333333,"dur":0.25,)"
R"("args":{"stage":0,"microbatch":3,"chunk":0,"layer":7,"pass":"fwd","op":"fc1",)"
R"("bytes":4096}},
{"ph":"X","name":"adamw","cat":"optimizer","pid":5,"tid":1,"ts":0,"dur":250000,)"
R"("args":{"stage":1,"microbatch":-1,"chunk":-1,"layer":-1,"pass":"bwd","op":"adamw",)"
R"("bytes":0}}
]}
)");
}

TEST(Trace, RoundTrip) {
  const Trace t = small_trace();
  const Trace back = read_trace(write_trace(t), "t.json");
  EXPECT_EQ(back.kind, t.kind);
  EXPECT_EQ(back.model, t.model);
  EXPECT_EQ(back.cluster, t.cluster);
  EXPECT_EQ(back.plan, t.plan);
  EXPECT_EQ(back.step_s, t.step_s);
  EXPECT_EQ(back.peak_bytes, t.peak_bytes);
  ASSERT_EQ(back.spans.size(), t.spans.size());
  for (std::size_t i = 0; i < t.spans.size(); ++i) {
    EXPECT_EQ(back.spans[i].key, t.spans[i].key);
    EXPECT_EQ(back.spans[i].rank, t.spans[i].rank);
    EXPECT_EQ(back.spans[i].stream, t.spans[i].stream);
    EXPECT_DOUBLE_EQ(back.spans[i].start_s, t.spans[i].start_s);  // microseconds in the file: 4 ulp
    EXPECT_DOUBLE_EQ(back.spans[i].duration_s, t.spans[i].duration_s);
    EXPECT_EQ(back.spans[i].category, t.spans[i].category);
    EXPECT_EQ(back.spans[i].bytes, t.spans[i].bytes);
  }
}

TEST(Trace, EmptyRoundTrip) {
  Trace t;
  t.kind = "measured";
  EXPECT_TRUE(read_trace(write_trace(t), "t.json").spans.empty());
}

TEST(Trace, NamesThatAreNoUtf8StayReadable) {
  Trace t = small_trace();
  t.spans[0].key.op = "fc\xff";
  EXPECT_NO_THROW(static_cast<void>(read_trace(write_trace(t), "t.json")));
}

// The written trace with one change, and the message it earns.
void expect_problem(const std::function<void(nlohmann::json&)>& change,
                    const std::string& message) {
  nlohmann::json root = nlohmann::json::parse(write_trace(small_trace()));
  change(root);
  try {
    static_cast<void>(read_trace(root.dump(), "t.json"));
    FAIL() << message;
  } catch (const ConfigError& e) {
    EXPECT_EQ(std::string(e.what()), "error: t.json: " + message);
    EXPECT_EQ(e.exit_code(), ExitCode::bad_file);
  }
}

TEST(Trace, WrongFilesNameTheField) {
  using nlohmann::json;
  expect_problem([](json& j) { j.erase("pleat"); }, "pleat: missing");
  expect_problem([](json& j) { j["pleat"]["kind"] = "guessed"; },
                 "pleat.kind: must be predicted or measured");
  expect_problem([](json& j) { j["pleat"]["schema_version"] = 2; },
                 "pleat.schema_version: this version of Pleat reads 1");
  expect_problem([](json& j) { j["traceEvents"] = 1; }, "traceEvents: must be an array");
  expect_problem([](json& j) { j["traceEvents"][6]["args"].erase("op"); },
                 "traceEvents[6].args.op: missing");
  expect_problem([](json& j) { j["traceEvents"][6]["dur"] = -1; },
                 "traceEvents[6].dur: must be at least 0");
  expect_problem([](json& j) { j["traceEvents"][7]["args"]["pass"] = "forward"; },
                 "traceEvents[7].args.pass: must be fwd or bwd");
  expect_problem([](json& j) { j["traceEvents"][7]["args"]["stage"] = 1e10; },
                 "traceEvents[7].args.stage: must be an integer from 0 to 2147483647");
  expect_problem([](json& j) { j["traceEvents"][7]["tid"] = 4096; },
                 "traceEvents[7].tid: must be an integer from 0 to 4095");
  expect_problem([](json& j) { j["traceEvents"][7] = 5; }, "traceEvents[7]: must be an object");
}

TEST(Trace, SyntaxErrorsCarryLineAndColumn) {
  try {
    static_cast<void>(read_trace("{\n \"pleat\": ,\n}", "t.json"));
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_NE(std::string(e.what()).find("line 2, column 11"), std::string::npos) << e.what();
    EXPECT_EQ(e.exit_code(), ExitCode::bad_file);
  }
}

}  // namespace
}  // namespace pleat
