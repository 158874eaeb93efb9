// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The bound of a pipeline against the timeline of its slots.
#include "planner/bounds/pipeline_bound.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "simulator/schedule_table.hpp"

namespace pleat {
namespace {

struct Case {
  Schedule schedule;
  std::vector<ChunkBound> chunks;
  Seconds transfer;
  bool waits_for_sends = false;
  [[nodiscard]] std::vector<Seconds> bound(bool smaller_groups = false) const {
    return earliest_finish(schedule, chunks, transfer, nullptr,
                           {.waits_for_sends = waits_for_sends,
                            .paired = schedule.paired,
                            .smaller_groups = smaller_groups});
  }
};

// Durations in the order of SlotWork. A pair takes what the two passes take without `alone`, but
// for layers that have no partner; the halves of a split backward pass share it.
TableTiming time_of(const Case& c) {
  ScheduleTable table = tabulate(c.schedule);
  table.waits_for_sends = c.waits_for_sends;
  const SlotWork work = table.slot_work();
  const auto own = static_cast<std::size_t>(work.chunks);
  std::vector<Seconds> durations;
  for (std::size_t s = 0; s < static_cast<std::size_t>(c.schedule.pp); ++s) {
    const ChunkBound* chunk = &c.chunks[s * own];
    const auto alone = [&](std::size_t i, std::size_t p) {
      return chunk[i].pass[p] + chunk[i].alone[p];
    };
    for (std::size_t p = 0; p < 2; ++p) {
      for (std::size_t i = 0; i < own; ++i) durations.push_back(alone(i, p));
    }
    for (int half = 0; work.split && half < 2; ++half) {
      for (std::size_t i = 0; i < own; ++i) durations.push_back(alone(i, 1) * 0.5);
    }
    for (std::size_t f = 0; table.paired && f < own; ++f) {
      for (std::size_t b = 0; b < own; ++b) {
        const int more = chunk[f].layers - chunk[b].layers;
        durations.push_back(chunk[f].pass[0] + chunk[b].pass[1] +
                            chunk[f].least_alone[0] * std::max(0, more) +
                            chunk[b].least_alone[1] * std::max(0, -more));
      }
    }
  }
  const std::vector<Seconds> start(static_cast<std::size_t>(c.schedule.pp));
  return time_table(table, durations, start, c.transfer);
}

Case uniform(Schedule schedule, double forward, double backward, double transfer) {
  Case c{schedule, {}, Seconds(transfer)};
  c.chunks.assign(static_cast<std::size_t>(schedule.pp * chunks_of_stage(schedule)),
                  {.pass = {Seconds(forward), Seconds(backward)},
                   .alone = {},
                   .half = {Seconds(backward / 2), Seconds(backward / 2)}});
  return c;
}

TEST(PipelineBound, IsExactForEqualChunks) {
  for (const int pp : {1, 2, 4}) {
    for (const int vpp : {1, 2, 3}) {
      if (pp == 1 && vpp > 1) continue;
      for (const int rounds : {1, 2, 5}) {
        const Case c = uniform({.pp = pp, .vpp = vpp, .microbatches = pp * rounds}, 1, 2, 0);
        EXPECT_DOUBLE_EQ(earliest_finish(c.schedule, c.chunks, c.transfer).front().base(),
                         time_of(c).end.base())
            << pp << " " << vpp << " " << rounds;
      }
    }
  }
}

TEST(PipelineBound, SeesTransfers) {
  // Two stages, three microbatches: F_0 travels, is returned, and so twice more.
  const Case plain = uniform({.pp = 2, .vpp = 1, .microbatches = 3}, 1, 2, 0.25);
  EXPECT_DOUBLE_EQ(time_of(plain).end.base(), 13.0);
  EXPECT_DOUBLE_EQ(earliest_finish(plain.schedule, plain.chunks, plain.transfer).front().base(),
                   13.0);
  const Case interleaved = uniform({.pp = 4, .vpp = 4, .microbatches = 8}, 1, 2, 0.25);
  const double end = time_of(interleaved).end.base();
  const double bound =
      earliest_finish(interleaved.schedule, interleaved.chunks, interleaved.transfer)
          .front()
          .base();
  EXPECT_LE(bound, end);
  EXPECT_GT(bound, 0.98 * end);
  EXPECT_GT(bound, 3 * (4 * 8 + 3) + 4);  // work and bubble, and transfers
}

TEST(PipelineBound, OrdersThatSplitBackwardCountTheWayToAStage) {
  // ZB-H1's last stage begins after two forward passes and two transfers; then eight turns. The
  // first stage's first backward pass waits for three forward ones, two input gradients and four
  // transfers, 7 in all; after it 21 are left, and 2 more for the way of the last microbatch to the
  // end and back.
  Case zb_h1 = uniform({.pp = 3, .microbatches = 8, .kind = PipelineSchedule::zb_h1}, 1, 2, 0.5);
  const auto bound = [&] { return earliest_finish(zb_h1.schedule, zb_h1.chunks, zb_h1.transfer); };
  EXPECT_DOUBLE_EQ(bound()[2].base(), 27.0);
  EXPECT_DOUBLE_EQ(bound()[0].base(), 30.0);
  EXPECT_LE(bound()[0], time_of(zb_h1).finish[0]);
  for (ChunkBound& chunk : zb_h1.chunks) chunk.half[0] = chunk.half[1] = Seconds(0);
  EXPECT_GE(bound()[0].base(), 24.0);  // nothing is known of halves
  EXPECT_LT(bound()[0].base(), 30.0);
  // DualPipe begins at both ends.
  Case both = uniform({.pp = 4, .microbatches = 8, .kind = PipelineSchedule::dualpipe}, 1, 2, 0);
  for (ChunkBound& chunk : both.chunks) chunk.half[0] = chunk.half[1] = Seconds(0);
  const std::vector<Seconds> finish = earliest_finish(both.schedule, both.chunks, both.transfer);
  EXPECT_GE(finish[0].base(), 24.0);
  EXPECT_GE(finish[1].base(), 25.0);
}

// Where all chunks take the same, most of what is not work is the way of the first and the last
// microbatch.
TEST(PipelineBound, OrdersThatSplitBackwardCountWarmUpAndDrain) {
  using enum PipelineSchedule;
  for (const PipelineSchedule kind : {zb_h1, zb_v, dualpipe, dualpipe_v}) {
    const int vpp = kind == zb_v || kind == dualpipe_v ? 2 : 1;
    for (const int pp : {2, 4, 8}) {
      const Case c =
          uniform({.pp = pp, .vpp = vpp, .microbatches = 2 * pp, .kind = kind}, 1, 2, 0.25);
      const double end = time_of(c).end.base();
      const auto bound = earliest_finish(c.schedule, c.chunks, c.transfer);
      const double found = std::ranges::max_element(bound)->base();
      EXPECT_LE(found, end + 1e-9) << name_of(kind) << " " << pp;
      EXPECT_GT(found, 0.9 * end) << name_of(kind) << " " << pp;
    }
  }
}

// Chunks of one to three layers, which run faster in pairs.
void make_unequal(Case& c, std::mt19937& random) {
  for (ChunkBound& chunk : c.chunks) {
    chunk.layers = 1 + static_cast<int>(random() % 3);
    for (std::size_t p = 0; p < 2; ++p) {
      chunk.least_alone[p] = Seconds(c.schedule.paired ? 0.25 : 0);
      chunk.pass[p] = Seconds((1.0 + static_cast<double>(p)) * chunk.layers);
      chunk.alone[p] = chunk.least_alone[p] * chunk.layers;
    }
  }
}

// The slots of a stage wait for the long chunks of others.
TEST(PipelineBound, SeesUnequalChunks) {
  std::mt19937 random(11);
  double tightness = 0, as_if_equal = 0;
  constexpr int kCases = 300;
  for (int i = 0; i < kCases; ++i) {
    const int pp = 2 + static_cast<int>(random() % 7), vpp = 2 + static_cast<int>(random() % 7);
    Case c = uniform({.pp = pp, .vpp = vpp, .microbatches = 8 * pp}, 1, 2, 0.125);
    c.schedule.paired = i % 2 == 0;
    c.schedule.group = i % 3 == 0 ? 2 * pp : 0;
    c.waits_for_sends = i % 5 < 3;
    make_unequal(c, random);
    const TableTiming exact = time_of(c);
    const std::vector<Seconds> bound = c.bound();
    for (std::size_t s = 0; s < bound.size(); ++s) {
      ASSERT_LE(bound[s].base(), exact.finish[s].base() * (1 + 1e-12)) << i << " stage " << s;
    }
    tightness += *std::ranges::max_element(bound) / exact.end / kCases;
    const std::vector<Seconds> rough = earliest_finish(
        c.schedule, c.chunks, c.transfer, nullptr,
        {.waits_for_sends = c.waits_for_sends,
         .paired = c.schedule.paired,
         .near = {.cutoff = Seconds(0), .step = {}}});
    as_if_equal += *std::ranges::max_element(rough) / exact.end / kCases;
  }
  EXPECT_GT(tightness, 0.95) << as_if_equal;
  EXPECT_GT(tightness, as_if_equal + 0.025);
}

TEST(PipelineBound, HoldsForSmallerGroups) {
  std::mt19937 random(8);
  for (int i = 0; i < 500; ++i) {
    const int pp = 2 + static_cast<int>(random() % 5), vpp = 2 + static_cast<int>(random() % 4);
    const int rounds = 8 * (1 + static_cast<int>(random() % 3));
    Case c = uniform({.pp = pp, .vpp = vpp, .microbatches = pp * rounds}, 1, 2,
                     0.125 * static_cast<double>(random() % 4));
    c.waits_for_sends = i % 2 == 0;
    make_unequal(c, random);
    c.schedule.group = 4 * pp;
    const std::vector<Seconds> bound = c.bound(true);
    for (const int group : {4 * pp, 2 * pp, 0}) {
      c.schedule.group = group;
      // Passes that run in pairs, which the caller knows nothing of.
      for (const bool paired : {false, true}) {
        c.schedule.paired = paired;
        const std::vector<Seconds> finish = time_of(c).finish;
        for (std::size_t s = 0; s < bound.size(); ++s) {
          ASSERT_LE(bound[s].base(), finish[s].base() * (1 + 1e-12))
              << i << " stage " << s << " group " << group << " paired " << paired;
        }
      }
    }
  }
}

TEST(HeldChunks, MomentsThatHoldMost) {
  using Moments = std::vector<std::vector<std::int64_t>>;
  EXPECT_EQ(held_chunks({.pp = 4, .microbatches = 8})[0], Moments{{4}});
  EXPECT_EQ(held_chunks({.pp = 4, .vpp = 2, .microbatches = 8})[3], (Moments{{4, 1}}));
  EXPECT_EQ(held_chunks({.pp = 4, .microbatches = 8, .kind = PipelineSchedule::zb_h1})[0],
            Moments{{4}});
  EXPECT_EQ(held_chunks({.pp = 4, .microbatches = 2, .kind = PipelineSchedule::zb_h1})[0],
            Moments{{2}});
  // A V of two stages: F0 three times, F1 and back twice, then a fourth F0: 2p half stages.
  const Moments v =
      held_chunks({.pp = 2, .vpp = 2, .microbatches = 8, .kind = PipelineSchedule::zb_v})[0];
  EXPECT_EQ(v, (Moments{{3, 1}, {4, 0}}));
  const Moments dual =
      held_chunks({.pp = 2, .microbatches = 8, .kind = PipelineSchedule::dualpipe})[0];
  EXPECT_EQ(dual.front().size(), 2u);
  for (const auto& held : dual) EXPECT_LE(held[0] + held[1], 3);  // p + 1
}

TEST(PipelineBound, NoPipelineEndsEarlier) {
  std::mt19937 random(5);
  const auto number = [&](int most) {
    return static_cast<int>(random() % static_cast<unsigned>(most));
  };
  double tightness = 0, of_split = 0;
  constexpr int kCases = 4000;
  int split = 0;
  for (int i = 0; i < kCases; ++i) {
    Case c;
    c.schedule.pp = 1 + number(5);
    c.schedule.vpp = c.schedule.pp > 1 ? 1 + number(4) : 1;
    c.schedule.microbatches = 1 + number(13);
    if (c.schedule.vpp > 1) c.schedule.microbatches = c.schedule.pp * (1 + number(4));
    c.schedule.paired = number(3) == 0;
    if (number(4) == 0 && c.schedule.pp > 1) {
      using enum PipelineSchedule;
      constexpr PipelineSchedule kinds[] = {zb_h1, zb_v, dualpipe, dualpipe_v};
      c.schedule.kind = kinds[number(4)];
      c.schedule.vpp = c.schedule.kind == zb_v || c.schedule.kind == dualpipe_v ? 2 : 1;
      c.schedule.paired = is_dualpipe(c.schedule.kind) && c.schedule.paired;
      if (c.schedule.kind == dualpipe) c.schedule.pp = 2 * (1 + number(2));
      if (is_dualpipe(c.schedule.kind)) {
        c.schedule.microbatches = 2 * c.schedule.pp + 2 * number(4);
      }
    }
    for (int k = 0; k < c.schedule.pp * chunks_of_stage(c.schedule); ++k) {
      ChunkBound& chunk = c.chunks.emplace_back();
      for (std::size_t p = 0; p < 2; ++p) {
        chunk.pass[p] = Seconds(1 + number(4));
        if (c.schedule.paired) chunk.alone[p] = Seconds(number(3));
      }
      for (Seconds& half : chunk.half) half = (chunk.pass[1] + chunk.alone[1]) * 0.5;
    }
    c.transfer = Seconds(0.5 * number(5));
    c.waits_for_sends = number(2) == 0;
    SCOPED_TRACE(fmt::format("case {}: pp {} vpp {} m {} paired {} kind {} transfer {}", i,
                             c.schedule.pp, c.schedule.vpp, c.schedule.microbatches,
                             c.schedule.paired, static_cast<int>(c.schedule.kind),
                             c.transfer.base()));
    const TableTiming exact = time_of(c);
    const std::vector<Seconds> bound = c.bound();
    for (std::size_t s = 0; s < bound.size(); ++s) {
      EXPECT_LE(bound[s].base(), exact.finish[s].base() + 1e-9) << "stage " << s;
    }
    if (HasFailure()) return;
    const double share = *std::ranges::max_element(bound) / exact.end;
    tightness += share / kCases;
    if (!splits_backward(c.schedule.kind)) continue;
    of_split += share;
    ++split;
  }
  EXPECT_GT(tightness, 0.9);
  EXPECT_GT(split, 500);
  EXPECT_GT(of_split / split, 0.9);
}

}  // namespace
}  // namespace pleat
