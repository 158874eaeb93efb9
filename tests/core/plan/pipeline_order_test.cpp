// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Exact small timelines of 1F1B and interleaved 1F1B, and properties over many schedules.
#include "core/program/pipeline_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace pleat {
namespace {

// "F0 F1 B0": microbatch, with chunks "F0.1"; "F1+ B0": run together.
std::string text(const Schedule& s, int stage) {
  std::string out;
  for (const Slot& slot : pipeline_order(s, Stage{stage})) {
    if (!out.empty()) out += ' ';
    out += slot.pass == Pass::forward ? 'F' : 'B';
    out += std::to_string(slot.microbatch.value);
    if (s.vpp > 1) out += "." + std::to_string(slot.chunk.value);
    if (slot.with_next) out += '+';
  }
  return out;
}

TEST(PipelineOrder, OneStage) {
  EXPECT_EQ(text({.pp = 1, .vpp = 1, .microbatches = 3}, 0), "F0 B0 F1 B1 F2 B2");
  EXPECT_EQ(text({.pp = 1, .vpp = 1, .microbatches = 3, .paired = true}, 0),
            "F0 F1+ B0 F2+ B1 B2");
}

TEST(PipelineOrder, OneForwardOneBackwardTwoStages) {
  const Schedule s{.pp = 2, .vpp = 1, .microbatches = 4};
  EXPECT_EQ(text(s, 0), "F0 F1 B0 F2 B1 F3 B2 B3");
  EXPECT_EQ(text(s, 1), "F0 B0 F1 B1 F2 B2 F3 B3");
}

TEST(PipelineOrder, FewerMicrobatchesThanStagesIsAllWarmup) {
  const Schedule s{.pp = 4, .vpp = 1, .microbatches = 2};
  EXPECT_EQ(text(s, 0), "F0 F1 B0 B1");
  EXPECT_EQ(text(s, 1), "F0 F1 B0 B1");
  EXPECT_EQ(text(s, 2), "F0 F1 B0 B1");
  EXPECT_EQ(text(s, 3), "F0 B0 F1 B1");
}

TEST(PipelineOrder, ExtraWarmupNeedsInterleavingOrOneStage) {
  const Schedule s{.pp = 2, .vpp = 1, .microbatches = 4, .paired = true};
  EXPECT_EQ(text(s, 1), "F0 B0 F1 B1 F2 B2 F3 B3");
}

TEST(PipelineOrder, InterleavedFourStagesTwoChunks) {
  const Schedule s{.pp = 4, .vpp = 2, .microbatches = 8};
  EXPECT_EQ(warmup_slots(s, Stage{0}), 10);  // 2*3 + 1*4
  EXPECT_EQ(warmup_slots(s, Stage{3}), 4);
  EXPECT_EQ(text(s, 0),
            "F0.0 F1.0 F2.0 F3.0 F0.1 F1.1 F2.1 F3.1 F4.0 F5.0 "
            "F6.0 B0.1 F7.0 B1.1 F4.1 B2.1 F5.1 B3.1 F6.1 B0.0 F7.1 B1.0 "
            "B2.0 B3.0 B4.1 B5.1 B6.1 B7.1 B4.0 B5.0 B6.0 B7.0");
  EXPECT_EQ(text(s, 3),
            "F0.0 F1.0 F2.0 F3.0 "
            "F0.1 B0.1 F1.1 B1.1 F2.1 B2.1 F3.1 B3.1 F4.0 B0.0 F5.0 B1.0 F6.0 B2.0 F7.0 B3.0 "
            "F4.1 B4.1 F5.1 B5.1 F6.1 B6.1 F7.1 B7.1 B4.0 B5.0 B6.0 B7.0");
}

TEST(PipelineOrder, GroupLargerThanStagesAndRaggedLastGroup) {  // N = 3, p = 2, m = 5: groups 3, 2
  const Schedule s{.pp = 2, .vpp = 2, .microbatches = 5, .group = 3};
  EXPECT_EQ(warmup_slots(s, Stage{0}), 5);  // 2*1 + 1*3
  EXPECT_EQ(text(s, 0),
            "F0.0 F1.0 F2.0 F0.1 F1.1 "
            "F2.1 B0.1 F3.0 B1.1 F4.0 B2.1 F3.1 B0.0 F4.1 B1.0 "
            "B2.0 B3.1 B4.1 B3.0 B4.0");
}

TEST(PipelineOrder, InterleavedAllWarmup) {  // p = 4, v = 2, m = 4: W = 10 >= 8
  const Schedule s{.pp = 4, .vpp = 2, .microbatches = 4};
  EXPECT_EQ(warmup_slots(s, Stage{0}), 8);
  EXPECT_EQ(text(s, 0),
            "F0.0 F1.0 F2.0 F3.0 F0.1 F1.1 F2.1 F3.1 B0.1 B1.1 B2.1 B3.1 B0.0 B1.0 B2.0 B3.0");
}

TEST(PipelineOrder, ExtraWarmupAddsOneForward) {
  const Schedule s{.pp = 2, .vpp = 2, .microbatches = 4, .paired = true};
  EXPECT_EQ(warmup_slots(s, Stage{0}), 5);  // 2 + 2 + 1
  EXPECT_EQ(text(s, 0),
            "F0.0 F1.0 F0.1 F1.1 F2.0 F3.0+ B0.1 F2.1+ B1.1 F3.1+ B0.0 B1.0 B2.1 B3.1 B2.0 B3.0");
}

TEST(PipelineOrder, AllWarmupPairsNothing) {  // the last forward meets the first backward by chance
  const Schedule s{.pp = 2, .vpp = 2, .microbatches = 2, .paired = true};
  EXPECT_EQ(text(s, 0), "F0.0 F1.0 F0.1 F1.1 B0.1 B1.1 B0.0 B1.0");
  EXPECT_EQ(text(s, 1), "F0.0 F1.0 F0.1 F1.1+ B0.1 B1.1 B0.0 B1.0");
}

std::vector<Schedule> many_schedules() {
  std::vector<Schedule> all;
  for (int p = 1; p <= 5; ++p) {
    for (int m = 1; m <= 14; ++m) {
      all.push_back({.pp = p, .vpp = 1, .microbatches = m});
      for (int v = 2; v <= 4 && p > 1 && m >= p; ++v) {
        for (int n = p; n <= m; ++n) {
          if (m % n != 0 && m % n < p) continue;
          all.push_back({.pp = p, .vpp = v, .microbatches = m, .group = n});
          all.push_back({.pp = p, .vpp = v, .microbatches = m, .group = n, .paired = true});
        }
      }
    }
  }
  return all;
}

TEST(PipelineOrder, EachPassOnceForwardFirstAndPeakIsWarmupPlusOne) {
  for (const Schedule& s : many_schedules()) {
    for (int stage = 0; stage < s.pp; ++stage) {
      std::set<std::pair<int, int>> forward, backward;
      std::size_t peak = 0;
      for (const Slot& slot : pipeline_order(s, Stage{stage})) {
        const std::pair key{slot.microbatch.value, slot.chunk.value};
        if (slot.pass == Pass::forward) {
          ASSERT_TRUE(forward.insert(key).second);
        } else {
          ASSERT_TRUE(forward.contains(key)) << text(s, stage);
          ASSERT_TRUE(backward.insert(key).second);
        }
        peak = std::max(peak, forward.size() - backward.size());
      }
      const auto total = static_cast<std::size_t>(s.microbatches) * static_cast<std::size_t>(s.vpp);
      ASSERT_EQ(forward.size(), total);
      ASSERT_EQ(backward.size(), total);
      const auto warmup = static_cast<std::size_t>(warmup_slots(s, Stage{stage}));
      ASSERT_EQ(peak, std::min(warmup + 1, total));
    }
  }
}

// Virtual stage i is chunk i div p of stage i mod p. A forward waits for the virtual stage before
// it, a backward for the one after it; every stage runs its slots in order.
TEST(PipelineOrder, FreeOfDeadlock) {
  for (const Schedule& s : many_schedules()) {
    std::vector<std::vector<Slot>> orders;
    for (int stage = 0; stage < s.pp; ++stage) orders.push_back(pipeline_order(s, Stage{stage}));
    const int last = s.pp * s.vpp - 1;
    std::set<std::pair<int, int>> forward, backward;  // (microbatch, virtual stage) done
    std::vector<std::size_t> at(orders.size(), 0);
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t stage = 0; stage < orders.size(); ++stage) {
        while (at[stage] < orders[stage].size()) {
          const Slot& slot = orders[stage][at[stage]];
          const int mb = slot.microbatch.value;
          const int v = slot.chunk.value * s.pp + static_cast<int>(stage);
          const bool ready = slot.pass == Pass::forward
                                 ? v == 0 || forward.contains({mb, v - 1})
                                 : v == last ? forward.contains({mb, v})
                                             : backward.contains({mb, v + 1});
          if (!ready) break;
          (slot.pass == Pass::forward ? forward : backward).insert({mb, v});
          ++at[stage];
          progress = true;
        }
      }
    }
    for (std::size_t stage = 0; stage < orders.size(); ++stage) {
      ASSERT_EQ(at[stage], orders[stage].size())
          << "p" << s.pp << " v" << s.vpp << " m" << s.microbatches << " N" << s.group;
    }
  }
}

TEST(PipelineOrder, NeighboursAreTheNextVirtualStages) {
  using enum PipelineSchedule;
  for (const Schedule& s : {Schedule{.pp = 3, .vpp = 2, .microbatches = 8, .kind = one_f_one_b},
                            Schedule{.pp = 4, .vpp = 2, .microbatches = 8, .kind = zb_v},
                            Schedule{.pp = 4, .vpp = 1, .microbatches = 8, .kind = dualpipe}}) {
    for (int stage = 0; stage < s.pp; ++stage) {
      for (int chunk = 0; chunk < chunks_of_stage(s); ++chunk) {
        const int v = virtual_stage(s, Stage{stage}, ChunkId{chunk});
        if (v + 1 == virtual_stages(s)) continue;
        const StagePlace next = neighbour(s, Stage{stage}, ChunkId{chunk}, 1);
        EXPECT_EQ(virtual_stage(s, next.stage, next.chunk), v + 1);
        EXPECT_EQ(neighbour(s, next.stage, next.chunk, -1),
                  (StagePlace{Stage{stage}, ChunkId{chunk}}));
      }
    }
  }
  const Schedule v{.pp = 2, .vpp = 2, .microbatches = 4, .kind = dualpipe_v};
  EXPECT_EQ(neighbour(v, Stage{1}, ChunkId{0}, 1), (StagePlace{Stage{1}, ChunkId{1}}));  // the turn
  const Schedule both{.pp = 2, .microbatches = 4, .kind = dualpipe};
  EXPECT_EQ(neighbour(both, Stage{1}, ChunkId{1}, 1), (StagePlace{Stage{0}, ChunkId{1}}));
}

}  // namespace
}  // namespace pleat
