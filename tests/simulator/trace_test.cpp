// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The file of a predicted trace against the rules of the Chrome trace event format: slices of a
// thread are nested or apart, flows have one start and one end within slices, names are there; and
// against the estimate: slots fill the step, memory has its peak.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "simulator/trace_drawing.hpp"
#include "tests/simulator/random_cases.hpp"

namespace pleat::test {
namespace {

using nlohmann::json;
using Thread = std::pair<int, int>;  // pid, tid

struct Slice {
  double start = 0, end = 0;
  std::string name;
};

struct File {
  json root;
  std::map<Thread, std::vector<Slice>> slices;  // by start, the longer first
  double step = 0;                              // microseconds
};

File file_of(const RandomCase& c, int microbatches = 4) {
  File f;
  f.root = json::parse(write_trace(
      predicted_trace(c.program(), c.platform.cluster, c.platform.profile, microbatches)));
  f.step = f.root["pleat"]["step_s"].get<double>() * 1e6;
  for (const json& e : f.root["traceEvents"]) {
    if (e["ph"] != "X") continue;
    const double start = e["ts"], duration = e["dur"];
    EXPECT_GE(start, 0);
    EXPECT_GE(duration, 0);
    f.slices[{e["pid"], e["tid"]}].push_back({start, start + duration, e["name"]});
  }
  for (auto& [thread, list] : f.slices) {
    std::ranges::stable_sort(list, [](const Slice& a, const Slice& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
  }
  return f;
}

constexpr unsigned kTraces = 60;
constexpr double kNanosecond = 1e-3;  // in microseconds: what viewers resolve

TEST(PredictedTrace, SlicesOfAThreadAreNestedOrApart) {
  for (unsigned seed = 1; seed <= kTraces; ++seed) {
    const RandomCase c = random_case(seed);
    SCOPED_TRACE(c.name());
    const File f = file_of(c);
    for (const auto& [thread, list] : f.slices) {
      std::vector<double> open;
      for (const Slice& s : list) {
        while (!open.empty() && open.back() <= s.start + kNanosecond) open.pop_back();
        if (!open.empty()) {
          ASSERT_LE(s.end, open.back() + kNanosecond) << s.name << " on " << thread.second;
        }
        open.push_back(s.end);
        ASSERT_LE(s.end, f.step * (1 + 1e-12)) << s.name;
      }
    }
  }
}

TEST(PredictedTrace, SlotsAndIdleTimeFillTheStepOfEveryStage) {
  for (unsigned seed = 1; seed <= kTraces; ++seed) {
    const RandomCase c = random_case(seed);
    SCOPED_TRACE(c.name());
    const File f = file_of(c, 0);  // without layers nothing is nested
    int stages = 0;
    for (const auto& [thread, list] : f.slices) {
      if (thread.second != kSlotsTrack) continue;
      ++stages;
      double sum = 0, now = 0;
      std::multiset<std::string> names;
      for (const Slice& s : list) {
        EXPECT_NEAR(s.start, now, kNanosecond) << s.name;
        now = s.end;
        sum += s.end - s.start;
        names.insert(s.name);
      }
      EXPECT_NEAR(sum, f.step, 1e-9 * f.step);
      // Every pass of every microbatch is there, alone or in a pair.
      const auto microbatches = c.plan.microbatches(c.workload.global_batch);
      std::int64_t passes = 0;
      for (const std::string& name : names) {
        if (!name.starts_with("F m") && !name.starts_with("B m")) continue;
        passes += name.find(" + ") == std::string::npos ? 1 : 2;
      }
      // DualPipe's two chunks share the microbatches; weight gradients of their own come on top.
      EXPECT_EQ(passes, 2 * microbatches * c.plan.vpp);
    }
    EXPECT_EQ(stages, c.plan.attention.pp);
  }
}

TEST(PredictedTrace, FlowsStartAndEndOnceInsideSlices) {
  std::size_t seen = 0, between_ranks = 0;
  for (unsigned seed = 1; seed <= kTraces; ++seed) {
    const RandomCase c = random_case(seed);
    SCOPED_TRACE(c.name());
    const File f = file_of(c);
    std::map<int, std::vector<json>> flows;
    for (const json& e : f.root["traceEvents"]) {
      const std::string phase = e["ph"];
      if (phase == "s" || phase == "t" || phase == "f") flows[e["id"]].push_back(e);
    }
    for (const auto& [id, points] : flows) {
      ASSERT_GE(points.size(), 2u);
      for (std::size_t i = 0; i < points.size(); ++i) {
        const json& p = points[i];
        EXPECT_EQ(p["ph"], i == 0 ? "s" : i + 1 == points.size() ? "f" : "t");
        EXPECT_EQ(p["name"], points[0]["name"]);
        EXPECT_EQ(p["cat"], points[0]["cat"]);
        if (i > 0) {
          EXPECT_GE(p["ts"].get<double>() + kNanosecond, points[i - 1]["ts"].get<double>());
        }
        const double at = p["ts"];
        const auto thread = f.slices.find({p["pid"], p["tid"]});
        ASSERT_NE(thread, f.slices.end());
        EXPECT_TRUE(std::ranges::any_of(thread->second, [&](const Slice& s) {
          return s.start <= at && at <= s.end;
        })) << p.dump();
      }
      EXPECT_EQ(points.back()["bp"], "e");
      between_ranks += points.front()["pid"] != points.back()["pid"] ? 1 : 0;
    }
    seen += flows.size();
    // A send that leaves a stage for each receive of another, in each direction.
    if (c.plan.attention.pp > 1) {
      const auto shown = std::min<std::int64_t>(4, c.plan.microbatches(c.workload.global_batch));
      std::size_t transfers = 0;
      for (const auto& [id, points] : flows)
        transfers += points.size() == 3 && points[0]["tid"] >= kSendTrack;
      const auto boundaries = c.plan.attention.pp * c.plan.vpp - 1;
      const bool straight = c.plan.schedule == PipelineSchedule::one_f_one_b ||
                            c.plan.schedule == PipelineSchedule::zb_h1;  // no turn of a V
      if (!c.plan.overlap.expert_parallel && straight) {
        EXPECT_EQ(transfers, static_cast<std::size_t>(2 * boundaries * shown));
      }
    }
  }
  EXPECT_GT(seen, 400u);
  EXPECT_GT(between_ranks, 300u);
}

TEST(PredictedTrace, EveryThreadAndProcessHasAName) {
  for (unsigned seed = 1; seed <= kTraces; ++seed) {
    const RandomCase c = random_case(seed);
    SCOPED_TRACE(c.name());
    const File f = file_of(c, 1);
    std::map<Thread, std::string> threads;
    std::map<int, std::string> processes;
    for (const json& e : f.root["traceEvents"]) {
      if (e["ph"] != "M") continue;
      if (e["name"] == "thread_name") threads[{e["pid"], e["tid"]}] = e["args"]["name"];
      if (e["name"] == "process_name") processes[e["pid"]] = e["args"]["name"];
    }
    for (const auto& [thread, list] : f.slices) {
      EXPECT_TRUE(threads.contains(thread)) << thread.first << " " << thread.second;
      EXPECT_TRUE(processes.contains(thread.first));
    }
    EXPECT_EQ(processes.size(), static_cast<std::size_t>(c.plan.attention.pp));
  }
}

TEST(PredictedTrace, MemoryHasTheEstimatesPeakOnEveryStage) {
  for (unsigned seed = 1; seed <= kTraces; ++seed) {
    const RandomCase c = random_case(seed);
    SCOPED_TRACE(c.name());
    const File f = file_of(c, 0);
    std::map<int, std::int64_t> peaks;
    std::map<int, double> last;
    for (const json& e : f.root["traceEvents"]) {
      if (e["ph"] != "C") continue;
      std::int64_t& peak = peaks[e["pid"]];
      peak = std::max(peak, e["args"]["bytes"].get<std::int64_t>());
      EXPECT_GE(e["ts"].get<double>() + kNanosecond, last[e["pid"]]);
      last[e["pid"]] = e["ts"];
    }
    const StepEstimate e = c.price();
    ASSERT_EQ(peaks.size(), e.memory.size());
    std::size_t s = 0;
    for (const auto& [rank, peak] : peaks) EXPECT_EQ(peak, e.memory[s++].peak) << "rank " << rank;
  }
}

TEST(PredictedTrace, ReadsBackItsOperationsOnly) {
  const RandomCase c = random_case(7);
  const Trace trace = predicted_trace(c.program(), c.platform.cluster, c.platform.profile, 2);
  const Trace back = read_trace(write_trace(trace), "t.json");
  ASSERT_EQ(back.spans.size(), trace.spans.size());
  for (std::size_t i = 0; i < trace.spans.size(); ++i) {
    EXPECT_EQ(back.spans[i].key, trace.spans[i].key);
    EXPECT_EQ(back.spans[i].track, trace.spans[i].track);
    EXPECT_EQ(back.spans[i].stream, trace.spans[i].stream);
  }
  EXPECT_FALSE(trace.slices.empty());
}

}  // namespace
}  // namespace pleat::test
