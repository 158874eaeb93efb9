// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Exact small pipeline timelines against closed forms and timelines drawn by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "simulator/schedule_table.hpp"

namespace pleat {
namespace {

struct ChunkTimes {
  Seconds forward, backward;
};
using StageTimes = std::vector<std::vector<ChunkTimes>>;  // [stage][chunk]

struct Timeline {
  Seconds end;
  std::vector<Seconds> finish, busy;        // by stage
  std::vector<std::vector<double>> starts;  // by stage, of its slots in order
};

// `pair`: the time of every pair of chunks, for schedules that pair.
Timeline simulate(const Schedule& schedule, const StageTimes& times, Seconds transfer,
             Seconds pair = {}, std::vector<Seconds> start = {}) {
  const ScheduleTable table = tabulate(schedule);
  std::vector<Seconds> durations;
  for (const auto& stage : times) {
    for (const ChunkTimes& chunk : stage) durations.push_back(chunk.forward);
    for (const ChunkTimes& chunk : stage) durations.push_back(chunk.backward);
    for (int i = 2 * schedule.vpp; i < table.kinds(); ++i) durations.push_back(pair);
  }
  if (start.empty()) start.resize(times.size());
  const TableTiming t = time_table(table, durations, start, transfer, {.starts = true});
  Timeline run{t.end, t.finish, t.busy, std::vector<std::vector<double>>(times.size())};
  for (std::size_t i = 0; i < table.steps.size(); ++i) {
    run.starts[static_cast<std::size_t>(table.steps[i].stage)].push_back(t.starts[i].base());
  }
  return run;
}

StageTimes uniform(int pp, int vpp, double f, double b) {
  return StageTimes(
      static_cast<std::size_t>(pp),
      std::vector<ChunkTimes>(static_cast<std::size_t>(vpp), {Seconds(f), Seconds(b)}));
}

// Of uniform stages, F = 2 and B = 3, with transfers of 1.
double end_of(const Schedule& schedule, bool waits_for_sends) {
  ScheduleTable table = tabulate(schedule);
  table.waits_for_sends = waits_for_sends;
  std::vector<Seconds> durations;
  for (int s = 0; s < schedule.pp; ++s) {
    durations.insert(durations.end(), static_cast<std::size_t>(schedule.vpp), Seconds(2));
    durations.insert(durations.end(), static_cast<std::size_t>(schedule.vpp), Seconds(3));
  }
  const std::vector<Seconds> start(static_cast<std::size_t>(schedule.pp));
  return time_table(table, durations, start, Seconds(1)).end.base();
}

// One walk finds what two would, whether stages wait for what they send or not.
TEST(Pipeline, EndWithoutTransfersIsThatOfAWalkWithout) {
  for (const bool waits : {false, true}) {
    for (const auto& [pp, vpp] : {std::pair{4, 1}, {4, 2}, {3, 3}}) {
      ScheduleTable table = tabulate({.pp = pp, .vpp = vpp, .microbatches = 12});
      table.waits_for_sends = waits;
      std::vector<Seconds> durations, start;
      for (int i = 0; i < pp * table.kinds(); ++i) durations.push_back(Seconds(1 + i % 5));
      for (int s = 0; s < pp; ++s) start.push_back(Seconds(0.25 * s));
      const TableTiming both = time_table(table, durations, start, Seconds(0.5),
                                          {.end_without_transfer = true});
      const TableTiming with = time_table(table, durations, start, Seconds(0.5));
      EXPECT_EQ(both.end, with.end);
      EXPECT_EQ(both.finish, with.finish);
      EXPECT_EQ(both.end_without_transfer, time_table(table, durations, start, Seconds(0)).end);
      EXPECT_LT(both.end_without_transfer, both.end);
    }
  }
}

// By hand. Stage 0: F 0-2, sends until 3, F 3-5, sends until 6, B 9-12, B 15-18.
//          Stage 1: F 3-5, B 5-8, sends until 9, F 9-11, B 11-14, sends until 15.
TEST(Pipeline, PlainStagesWaitForWhatTheySend) {
  const Schedule schedule{.pp = 2, .vpp = 1, .microbatches = 2};
  EXPECT_DOUBLE_EQ(end_of(schedule, false), 17);
  EXPECT_DOUBLE_EQ(end_of(schedule, true), 18);
}

TEST(Pipeline, InterleavedStagesWaitInWarmUpAndCoolDownAlone) {
  const auto longer = [](bool waits) {
    return end_of({.pp = 2, .vpp = 2, .microbatches = 40}, waits) -
           end_of({.pp = 2, .vpp = 2, .microbatches = 20}, waits);
  };
  EXPECT_DOUBLE_EQ(longer(true), longer(false));
}

TEST(Pipeline, OneStageIsTheSum) {
  const Schedule schedule{.pp = 1, .vpp = 1, .microbatches = 5};
  const Timeline t = simulate(schedule, uniform(1, 1, 1, 2), Seconds(100));
  EXPECT_DOUBLE_EQ(t.end.base(), 15);  // no transfer within a rank
  EXPECT_DOUBLE_EQ(t.busy[0].base(), 15);
}

class Uniform1F1B : public testing::TestWithParam<std::pair<int, int>> {};
TEST_P(Uniform1F1B, ClosedForm) {  // (m + p - 1)(tF + tB)
  const auto [p, m] = GetParam();
  const Schedule schedule{.pp = p, .vpp = 1, .microbatches = m};
  const Timeline t = simulate(schedule, uniform(p, 1, 2, 3), Seconds(0));
  EXPECT_DOUBLE_EQ(t.end.base(), (m + p - 1) * 5.0);
  for (Seconds busy : t.busy) EXPECT_DOUBLE_EQ(busy.base(), m * 5.0);
}
INSTANTIATE_TEST_SUITE_P(Shapes, Uniform1F1B,
                         testing::Values(std::pair{2, 2}, std::pair{2, 7}, std::pair{4, 4},
                                         std::pair{4, 9}, std::pair{8, 32}, std::pair{4, 1}));

class UniformInterleaved : public testing::TestWithParam<std::tuple<int, int, int>> {};
TEST_P(UniformInterleaved, ClosedForm) {  // m t + (p - 1) t / v, t of all chunks of a rank
  const auto [p, v, m] = GetParam();
  const Schedule schedule{.pp = p, .vpp = v, .microbatches = m};
  const Timeline t = simulate(schedule, uniform(p, v, 1, 1), Seconds(0));
  const double per_microbatch = 2.0 * v;
  EXPECT_DOUBLE_EQ(t.end.base(), m * per_microbatch + (p - 1) * per_microbatch / v);
}
INSTANTIATE_TEST_SUITE_P(Shapes, UniformInterleaved,
                         testing::Values(std::tuple{2, 2, 4}, std::tuple{4, 2, 8},
                                         std::tuple{4, 4, 16}, std::tuple{8, 2, 32}));

// Stage 0: F 1, B 2; stage 1: F 3, B 4; two microbatches.
// stage 0: F0 0-1, F1 1-2 | B0 8-10, B1 15-17
// stage 1: F0 1-4, B0 4-8, F1 8-11, B1 11-15
TEST(Pipeline, UnequalStagesByHand) {
  const StageTimes times = {{{Seconds(1), Seconds(2)}},
                                                      {{Seconds(3), Seconds(4)}}};
  const Schedule schedule{.pp = 2, .vpp = 1, .microbatches = 2};
  const Timeline t = simulate(schedule, times, Seconds(0));
  EXPECT_DOUBLE_EQ(t.end.base(), 17);
  EXPECT_DOUBLE_EQ(t.finish[0].base(), 17);
  EXPECT_DOUBLE_EQ(t.finish[1].base(), 15);
  EXPECT_DOUBLE_EQ(t.busy[0].base(), 6);
  EXPECT_DOUBLE_EQ(t.busy[1].base(), 14);
  EXPECT_EQ(t.starts[0], (std::vector<double>{0, 1, 8, 15}));
  EXPECT_EQ(t.starts[1], (std::vector<double>{1, 4, 8, 11}));
}

// The same with half a second per transfer:
// stage 0: F0 0-1, F1 1-2, B0 9-11, B1 16-18;  stage 1: F0 1.5-4.5, B0 4.5-8.5, F1 8.5-11.5, B1
// -15.5
TEST(Pipeline, TransferDelaysByHand) {
  const StageTimes times = {{{Seconds(1), Seconds(2)}},
                                                      {{Seconds(3), Seconds(4)}}};
  const Schedule schedule{.pp = 2, .vpp = 1, .microbatches = 2};
  const Timeline t = simulate(schedule, times, Seconds(0.5));
  EXPECT_DOUBLE_EQ(t.end.base(), 18);
}

// Two stages, two chunks, two microbatches; the last virtual stage (stage 1, chunk 1) is slow: F 5,
// B 1. stage 0: F0c0 0-1, F1c0 1-2, F0c1 2-3, F1c1 3-4 | B0c1 ready 9 (stage 1: F0c1 3-8, B0c1 8-9)
TEST(Pipeline, InterleavedByHand) {
  auto times = uniform(2, 2, 1, 1);
  times[1][1] = {Seconds(5), Seconds(1)};
  const Schedule schedule{.pp = 2, .vpp = 2, .microbatches = 2};
  const Timeline t = simulate(schedule, times, Seconds(0));
  // stage 1: warm-up 2: F0c0 1-2, F1c0 2-3, F0c1 3-8, B0c1 8-9, F1c1 9-14, B1c1 14-15,
  //          B0c0 15-16 (stage 0's B0c1 ends at 10), B1c0 16-17 (stage 0's B1c1 15-16)
  // stage 0: warm-up 4, then B0c1 9-10, B1c1 15-16, B0c0 16-17, B1c0 17-18
  EXPECT_EQ(t.starts[0], (std::vector<double>{0, 1, 2, 3, 9, 15, 16, 17}));
  EXPECT_EQ(t.starts[1], (std::vector<double>{1, 2, 3, 8, 9, 14, 15, 16}));
  EXPECT_DOUBLE_EQ(t.end.base(), 18);
}

TEST(Pipeline, StartTimesShiftTheTimeline) {
  const Schedule schedule{.pp = 2, .vpp = 1, .microbatches = 3};
  const Timeline t =
      simulate(schedule, uniform(2, 1, 1, 1), Seconds(0), {}, {Seconds(10), Seconds(0)});
  EXPECT_DOUBLE_EQ(t.end.base(), 10 + (3 + 1) * 2.0);
}

// One stage, warm-up of one: F0 | F1+B0 | F2+B1 | B2.
TEST(Pipeline, PairsRunAsOneOp) {
  const Schedule schedule{.pp = 1, .vpp = 1, .microbatches = 3, .paired = true};
  const Timeline t = simulate(schedule, uniform(1, 1, 2, 3), Seconds(0), Seconds(4));
  EXPECT_DOUBLE_EQ(t.end.base(), 2 + 4 + 4 + 3);
  EXPECT_DOUBLE_EQ(t.busy[0].base(), 13);
  EXPECT_EQ(tabulate(schedule).times[0], (std::vector<std::int32_t>{1, 1, 2}));
}

// Steady rounds are left out where no starts are asked for: the same comes out as step by step.
TEST(Pipeline, SteadyRoundsTakeAsLongAsTheOneBefore) {
  std::mt19937 random(5);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int long_ones = 0;
  for (int i = 0; i < 300; ++i) {
    Schedule schedule{.pp = 1 << below(4), .vpp = 1 + below(3)};
    if (schedule.pp == 1) schedule.vpp = 1;
    schedule.microbatches = schedule.pp * (20 + below(150));
    schedule.paired = schedule.vpp > 1 && below(2) == 0;
    if (below(4) == 0 && schedule.pp > 1) {
      const bool v = below(2) == 0;
      schedule = {.pp = schedule.pp, .vpp = v ? 2 : 1, .microbatches = schedule.microbatches,
                  .kind = v ? PipelineSchedule::zb_v : PipelineSchedule::zb_h1};
    }
    ScheduleTable table = tabulate(schedule, TableParts::timing);
    table.waits_for_sends = below(2) == 0;
    long_ones += table.walk.size() > 5000 && table.rounds.times > 20 ? 1 : 0;
    const auto stages = static_cast<std::size_t>(schedule.pp);
    std::vector<Seconds> durations, start(stages);
    for (std::size_t k = 0; k < stages * static_cast<std::size_t>(table.kinds()); ++k) {
      durations.emplace_back(0.01 + 1e-4 * below(200));
    }
    const Seconds transfer(1e-3 * below(3));
    const TableTiming whole = time_table(table, durations, start, transfer,
                                         {.starts = true, .end_without_transfer = true});
    const TableTiming fast =
        time_table(table, durations, start, transfer, {.end_without_transfer = true});
    const auto near = [](Seconds a, Seconds b) { return std::abs(a / b - 1) < 1e-11; };
    EXPECT_TRUE(near(fast.end, whole.end));
    EXPECT_TRUE(near(fast.end_without_transfer, whole.end_without_transfer));
    for (std::size_t s = 0; s < stages; ++s) {
      EXPECT_TRUE(near(fast.finish[s], whole.finish[s]));
    }
  }
  EXPECT_GT(long_ones, 100);
}

// The last stage pairs F1c1 with B0c1, which needs nothing of the first; stage 0 pairs nothing.
TEST(Pipeline, PairsWithAWarmupThatCoversEverySlot) {
  const Schedule schedule{.pp = 2, .vpp = 2, .microbatches = 2, .paired = true};
  // stage 0: F 0-4; stage 1: F0c0 1-2, F1c0 2-3, F0c1 3-4, F1c1+B0c1 4-5.5, B1c1 5.5-6.5,
  // B0c0 6.5-7.5, B1c0 7.5-8.5 (stage 0 sends B0c1 back at 6.5, B1c1 at 7.5);
  // stage 0: B0c1 5.5-6.5, B1c1 6.5-7.5, B0c0 7.5-8.5, B1c0 8.5-9.5
  const Timeline t = simulate(schedule, uniform(2, 2, 1, 1), Seconds(0), Seconds(1.5));
  EXPECT_DOUBLE_EQ(t.end.base(), 9.5);
}

// Property: no stage ends later when any one chunk gets faster.
TEST(Pipeline, FasterChunksNeverHurt) {
  const Schedule schedule{.pp = 4, .vpp = 2, .microbatches = 8};
  auto times = uniform(4, 2, 3, 5);
  const Seconds before = simulate(schedule, times, Seconds(1)).end;
  for (auto& stage : times) {
    for (auto& chunk : stage) {
      const ChunkTimes saved = chunk;
      chunk.forward = Seconds(1);
      EXPECT_LE(simulate(schedule, times, Seconds(1)).end, before);
      chunk = saved;
    }
  }
}

}  // namespace
}  // namespace pleat
