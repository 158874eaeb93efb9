// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Orders that split backward passes: small ones in full, what is alive, completeness.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "core/program/pipeline_order.hpp"

namespace pleat {
namespace {

// "F0.1 I0.0 W0.0 B1.1": forward, input gradients, weight gradients, whole backward; "+": with
// next.
std::string split_text(const Schedule& s, int stage) {
  std::string out;
  for (const Slot& slot : pipeline_order(s, Stage{stage})) {
    if (!out.empty()) out += ' ';
    const char* const back = slot.part == SlotPart::whole             ? "B"
                             : slot.part == SlotPart::input_gradients ? "I"
                                                                      : "W";
    out += slot.pass == Pass::forward ? "F" : back;
    out += std::to_string(slot.microbatch.value) + "." + std::to_string(slot.chunk.value);
    if (slot.with_next) out += '+';
  }
  return out;
}

Schedule schedule(PipelineSchedule kind, int pp, int microbatches, bool paired = false) {
  const bool v = kind == PipelineSchedule::zb_v || kind == PipelineSchedule::dualpipe_v;
  return {.pp = pp, .vpp = v ? 2 : 1, .microbatches = microbatches, .paired = paired, .kind = kind};
}

TEST(SplitOrder, ZbH1DelaysWeightGradientsByTheStage) {
  const Schedule s = schedule(PipelineSchedule::zb_h1, 2, 3);
  EXPECT_EQ(split_text(s, 0), "F0.0 F1.0 I0.0 W0.0 F2.0 I1.0 W1.0 I2.0 W2.0");
  EXPECT_EQ(split_text(s, 1), "F0.0 I0.0 F1.0 I1.0 W0.0 F2.0 I2.0 W1.0 W2.0");
}

TEST(SplitOrder, ZbVOfTwoStages) {
  const Schedule s = schedule(PipelineSchedule::zb_v, 2, 3);
  EXPECT_EQ(split_text(s, 0),
            "F0.0 F1.0 F2.0 F0.1 I0.1 W0.1 F1.1 I1.1 W1.1 I0.0 W0.0 F2.1 I2.1 W2.1 I1.0 W1.0 I2.0 "
            "W2.0");
  EXPECT_EQ(split_text(s, 1),
            "F0.0 F0.1 F1.0 F1.1 I0.1 W0.1 F2.0 I0.0 W0.0 F2.1 I1.1 W1.1 I1.0 I2.1 I2.0 W1.0 W2.1 "
            "W2.0");
}

// Both stages are ends and middles; 0 and 1 start at stage 0, 2 and 3 at stage 1.
TEST(SplitOrder, DualPipeOfTwoStages) {
  const Schedule s = schedule(PipelineSchedule::dualpipe, 2, 4, true);
  EXPECT_EQ(split_text(s, 0), "F0.0 F2.1 F1.0 B2.1 F3.1+ B0.0 B3.1 I1.0 W1.0");
  EXPECT_EQ(split_text(s, 1), "F2.1 F0.0 F3.1 B0.0 F1.0+ B2.1 B1.0 I3.1 W3.1");
}

TEST(SplitOrder, VirtualStages) {
  const Schedule v = schedule(PipelineSchedule::zb_v, 3, 6);
  EXPECT_EQ(virtual_stages(v), 6);
  EXPECT_EQ(virtual_stage(v, Stage{1}, ChunkId{0}), 1);
  EXPECT_EQ(virtual_stage(v, Stage{1}, ChunkId{1}), 4);
  EXPECT_EQ(virtual_stage(v, Stage{2}, ChunkId{1}), 3);
  const Schedule dual = schedule(PipelineSchedule::dualpipe, 4, 8);
  EXPECT_EQ(virtual_stages(dual), 4);
  EXPECT_EQ(chunks_of_stage(dual), 2);
  EXPECT_EQ(virtual_stage(dual, Stage{1}, ChunkId{0}), 1);
  EXPECT_EQ(virtual_stage(dual, Stage{1}, ChunkId{1}), 2);
  const Schedule plain{.pp = 4, .vpp = 3, .microbatches = 8};
  EXPECT_EQ(virtual_stage(plain, Stage{1}, ChunkId{2}), 9);
}

struct Shape {
  PipelineSchedule kind;
  int pp, microbatches;
};

class SplitOrders : public testing::TestWithParam<Shape> {
 protected:
  [[nodiscard]] Schedule of() const {
    return schedule(GetParam().kind, GetParam().pp, GetParam().microbatches);
  }
};

TEST_P(SplitOrders, EveryMicrobatchIsComputedOnceInOrder) {
  const Schedule s = of();
  for (int stage = 0; stage < s.pp; ++stage) {
    std::map<std::pair<int, int>, std::string> seen;  // by chunk and microbatch
    for (const Slot& slot : pipeline_order(s, Stage{stage})) {
      std::string& mine = seen[{slot.chunk.value, slot.microbatch.value}];
      if (slot.pass == Pass::forward) mine += 'F';
      else if (slot.part == SlotPart::whole) mine += "IW";
      else mine += slot.part == SlotPart::input_gradients ? 'I' : 'W';
    }
    // A microbatch passes both chunks of a V, one of DualPipe's.
    const bool dual = s.kind == PipelineSchedule::dualpipe;
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(s.microbatches * (dual ? 1 : s.vpp)));
    for (const auto& [key, passes] : seen) EXPECT_EQ(passes, "FIW") << stage;
  }
}

// Chunk activations from the forward to the weight gradients. ZB-H1 and ZB-V hold what 1F1B's first
// stage holds, p microbatches (a chunk of a V is half a stage); DualPipe p + 1 stages.
TEST_P(SplitOrders, PeakOfLiveChunks) {
  const Schedule s = of();
  const int p = s.pp, m = s.microbatches;
  int most = 0;
  for (int stage = 0; stage < p; ++stage) {
    int live = 0;
    for (const Slot& slot : pipeline_order(s, Stage{stage})) {
      if (slot.pass == Pass::forward) most = std::max(most, ++live);
      else if (slot.part != SlotPart::input_gradients) --live;
    }
    EXPECT_EQ(live, 0);
  }
  switch (s.kind) {
    case PipelineSchedule::zb_h1: EXPECT_EQ(most, std::min(p, m)); break;
    case PipelineSchedule::zb_v: EXPECT_EQ(most, std::min(2 * p, 2 * m)); break;
    case PipelineSchedule::dualpipe: EXPECT_EQ(most, p + 1); break;
    case PipelineSchedule::dualpipe_v: EXPECT_EQ(most, 2 * p + 1); break;
    case PipelineSchedule::one_f_one_b: FAIL();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, SplitOrders,
    testing::Values(Shape{PipelineSchedule::zb_h1, 4, 8}, Shape{PipelineSchedule::zb_h1, 4, 2},
                    Shape{PipelineSchedule::zb_h1, 8, 9}, Shape{PipelineSchedule::zb_v, 4, 8},
                    Shape{PipelineSchedule::zb_v, 4, 3}, Shape{PipelineSchedule::zb_v, 3, 11},
                    Shape{PipelineSchedule::dualpipe, 2, 4},
                    Shape{PipelineSchedule::dualpipe, 4, 10},
                    Shape{PipelineSchedule::dualpipe, 8, 16},
                    Shape{PipelineSchedule::dualpipe_v, 2, 4},
                    Shape{PipelineSchedule::dualpipe_v, 3, 7}));

}  // namespace
}  // namespace pleat
