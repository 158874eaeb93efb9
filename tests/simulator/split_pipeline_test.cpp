// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Bubbles of orders that split backward passes against the published closed forms.
#include <gtest/gtest.h>

#include "simulator/schedule_table.hpp"

namespace pleat {
namespace {

struct Times {
  double f = 1, b = 1, w = 1;
};

Schedule schedule(PipelineSchedule kind, int pp, int microbatches, bool paired = false) {
  const bool v = kind == PipelineSchedule::zb_v || kind == PipelineSchedule::dualpipe_v;
  return {.pp = pp, .vpp = v ? 2 : 1, .microbatches = microbatches, .paired = paired, .kind = kind};
}

// All chunks alike; `pair`: of a forward and a whole backward together.
TableTiming run(const Schedule& s, Times t, double transfer = 0, double pair = 0) {
  const ScheduleTable table = tabulate(s);
  const SlotWork work = table.slot_work();
  const double alone[] = {t.f, t.b + t.w, t.b, t.w};
  std::vector<Seconds> durations;
  for (int stage = 0; stage < s.pp; ++stage) {
    for (int k = 0; k < table.kinds(); ++k) {
      durations.emplace_back(k < work.first_pair() ? alone[k / work.chunks] : pair);
    }
  }
  return time_table(table, durations, std::vector<Seconds>(static_cast<std::size_t>(s.pp)),
                    Seconds(transfer));
}

double idle(const TableTiming& t, int stage = 0) {
  return (t.end - t.busy[static_cast<std::size_t>(stage)]).base();
}

class ZbH1 : public testing::TestWithParam<std::tuple<int, int, Times>> {};
TEST_P(ZbH1, ClosedForm) {  // (p - 1)(F + B - W)
  const auto& [p, m, t] = GetParam();
  const TableTiming line = run(schedule(PipelineSchedule::zb_h1, p, m), t);
  EXPECT_NEAR(idle(line), (p - 1) * (t.f + t.b - t.w), 1e-9);
  for (Seconds busy : line.busy) EXPECT_NEAR(busy.base(), m * (t.f + t.b + t.w), 1e-9);
}
INSTANTIATE_TEST_SUITE_P(Shapes, ZbH1,
                         testing::Values(std::tuple{4, 8, Times{}}, std::tuple{2, 4, Times{}},
                                         std::tuple{8, 16, Times{}},
                                         std::tuple{4, 8, Times{2, 3, 1}},
                                         std::tuple{4, 12, Times{3, 3, 2}},
                                         std::tuple{8, 16, Times{1, 1.2, 0.8}}));

// No stage ever pauses; a stage only starts later than the one before.
TEST(ZbV, NoGapsWhenAllPassesAreEqual) {
  for (const auto& [p, m] : {std::pair{2, 4}, {4, 8}, {4, 12}, {8, 16}}) {
    const TableTiming line = run(schedule(PipelineSchedule::zb_v, p, m), {});
    for (int s = 0; s < p; ++s) {
      const auto stage = static_cast<std::size_t>(s);
      EXPECT_DOUBLE_EQ(line.busy[stage].base(), 2 * m * 3.0);
      EXPECT_DOUBLE_EQ((line.finish[stage] - line.busy[stage]).base(), s) << p << " " << m;
    }
  }
}

// (p/2 - 1)(FB + B - 3W), B whole, where a pair takes as long as both.
TEST(DualPipe, ClosedForm) {
  for (const auto& [p, m] : {std::pair{2, 4}, {4, 16}, {8, 16}, {8, 20}}) {
    for (const double pair : {3.0, 2.5}) {
      const TableTiming line = run(schedule(PipelineSchedule::dualpipe, p, m, true), {}, 0, pair);
      EXPECT_DOUBLE_EQ(idle(line, p / 2 - 1), (p / 2 - 1) * (pair + 2.0 - 3.0)) << p << " " << m;
      for (Seconds finish : line.finish) EXPECT_DOUBLE_EQ(finish.base(), line.end.base());
    }
  }
}

TEST(DualPipeV, ClosedForm) {  // the same of 2p stages on p devices: (p - 1)(FB + B - 3W)
  for (const auto& [p, m] : {std::pair{2, 4}, {4, 8}, {4, 12}}) {
    const TableTiming line = run(schedule(PipelineSchedule::dualpipe_v, p, m, true), {}, 0, 3);
    EXPECT_DOUBLE_EQ(idle(line), (p - 1) * 2.0);
  }
}

// 1F1B >= ZB-H1 >= the V's, per microbatch of a stage (chunks of a V are half as long).
TEST(SplitPipeline, BubblesAreOrdered) {
  for (const int p : {2, 4, 8}) {
    for (const Times t : {Times{}, Times{2, 2.5, 2}, Times{3, 3, 2}}) {
      const int m = 2 * p;
      const Times half{t.f / 2, t.b / 2, t.w / 2};
      const double plain =
          idle(run(schedule(PipelineSchedule::one_f_one_b, p, m), t));
      const double h1 = idle(run(schedule(PipelineSchedule::zb_h1, p, m), t));
      const double v = idle(run(schedule(PipelineSchedule::zb_v, p, m), half));
      const double dual = idle(run(schedule(PipelineSchedule::dualpipe, p, m), t));
      EXPECT_LT(h1, plain);
      EXPECT_LT(v, h1);
      EXPECT_LT(dual, h1);
    }
  }
}

TEST(SplitPipeline, TheTurnOfAVNeedsNoTransfer) {
  const Schedule s = schedule(PipelineSchedule::zb_v, 2, 1);
  // Down the V and up: four F, two transfers; the same way back, where stage 1 makes the weight
  // gradients of its second chunk before it turns, and stage 0 ends with those of its first.
  const TableTiming line = run(s, {}, 10);
  EXPECT_DOUBLE_EQ(line.end.base(), (4 + 2 * 10) + (4 + 2 * 10 + 1) + 1);
}

}  // namespace
}  // namespace pleat
