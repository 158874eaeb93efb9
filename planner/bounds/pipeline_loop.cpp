// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// In steady state stage t runs F_k and then B_{k-W_t}, or both as a pair, for k = …, k+1, …; with
// W_t = 2 (p-t-1) + const. F_k of stage t+1 waits for F_k of stage t. B_j of stage t waits for B_j
// of stage t+1, which runs there beside F_{k-2}. So paths through the slots go from (t, k) on to
// (t, k+1), (t+1, k) and (t-1, k+2). Each of the three raises k + t by one, so the longest path
// from (s, k) to (s, k + round) is found by walking along k + t with one time a stage. Slots repeat
// with every round, so that path can be walked again and again: the pipeline takes no less. What
// lies on it has an index at most p-1 outside of the stage's own.
#include "planner/bounds/pipeline_loop.hpp"

#include <algorithm>
#include <limits>

namespace pleat {
namespace {

constexpr Seconds kNoPath{-std::numeric_limits<double>::infinity()};

std::int64_t size_of_group(const Schedule& s) { return s.group > 0 ? s.group : s.pp; }

// F_W is the first beside a backward pass; one more where passes run in pairs, whatever the caller
// knows of that.
std::int64_t first_steady(const Schedule& s, std::int64_t stage) {
  return 2 * (s.pp - stage - 1) + (s.vpp - 1) * size_of_group(s) + 1;
}

// A pair takes what its two passes take, and where one chunk has more layers these run alone.
Seconds pair_of(const ChunkBound& forward, const ChunkBound& backward) {
  const int more = forward.layers - backward.layers;
  const Seconds alone = more > 0 ? forward.least_alone[0] * more : backward.least_alone[1] * -more;
  return forward.pass[0] + backward.pass[1] + alone;
}

}  // namespace

std::int64_t steady_rounds(const Schedule& s, Stage stage) {
  const std::int64_t slots = std::int64_t{s.microbatches} * s.vpp;
  const std::int64_t begins = first_steady(s, stage.value) + stage.value;  // there of stage 0, too
  const std::int64_t ends = slots - 2 - stage.value;  // the last backward pass beside is drained
  return std::max<std::int64_t>(0, (ends - begins) / (size_of_group(s) * s.vpp));
}

LongerRounds longer_rounds(const Schedule& s, std::span<const ChunkBound> chunks, Seconds transfer,
                           Stage stage) {
  const std::int64_t group = size_of_group(s), round = group * s.vpp;
  const auto stages = static_cast<std::size_t>(s.pp), own = static_cast<std::size_t>(s.vpp);
  const auto at = stage.index();
  LongerRounds found{.rounds = steady_rounds(s, stage), .longer = {}};
  if (found.rounds == 0) return found;

  // The times at which the slots with the same k + t end: their forward passes, and all.
  struct Ends {
    Seconds forward, all;
  };
  thread_local std::vector<Ends> before, after;
  // Which chunk's passes come, and how many of them before the next one's.
  struct Turn {
    std::size_t forward, backward;
    std::int64_t forward_left, backward_left;
  };
  thread_local std::vector<Turn> turns;
  before.assign(stages, {kNoPath, kNoPath});
  after.assign(stages, {kNoPath, kNoPath});
  turns.clear();
  before[at].all = Seconds(0);
  const std::int64_t begins = first_steady(s, stage.value) + stage.value;
  for (std::int64_t t = 0; t < s.pp; ++t) {
    const std::int64_t k = begins + stage.value - t + 1;
    const std::int64_t warm = first_steady(s, t) - (s.paired ? 0 : 1);
    const std::int64_t f = (k % round + round) % round, b = ((k - warm) % round + round) % round;
    turns.push_back({static_cast<std::size_t>(f / group),
                     own - 1 - static_cast<std::size_t>(b / group), group - f % group,
                     group - b % group});
  }
  for (std::int64_t step = 0; step < round; ++step) {
    for (std::size_t t = 0; t < stages; ++t) {
      Turn& turn = turns[t];
      const ChunkBound& f = chunks[t * own + turn.forward];
      const ChunkBound& b = chunks[t * own + turn.backward];
      if (--turn.forward_left == 0) {
        turn.forward = turn.forward + 1 == own ? 0 : turn.forward + 1;
        turn.forward_left = group;
      }
      if (--turn.backward_left == 0) {
        turn.backward = turn.backward == 0 ? own - 1 : turn.backward - 1;
        turn.backward_left = group;
      }
      const Seconds from_back = t + 1 < stages ? before[t + 1].all + transfer : kNoPath;
      if (s.paired) {
        const Seconds from_front = t > 0 ? before[t - 1].all + transfer : kNoPath;
        after[t].all = std::max({before[t].all, from_front, from_back}) + pair_of(f, b);
        continue;
      }
      const Seconds from_front = t > 0 ? before[t - 1].forward + transfer : kNoPath;
      after[t].forward = std::max(before[t].all, from_front) + f.pass[0];
      after[t].all = std::max(after[t].forward, from_back) + b.pass[1];
    }
    std::swap(before, after);
  }
  Seconds work;
  for (std::size_t c = 0; c < own; ++c) {
    const ChunkBound& chunk = chunks[at * own + c];
    work += (chunk.pass[0] + chunk.pass[1]) * static_cast<double>(group);
  }
  found.longer = std::max(Seconds(0), before[at].all - work);
  return found;
}

}  // namespace pleat
