// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// With m microbatches and v chunks a stage's slots in 1F1B are F_0 … F_W B_0 F_{W+1} B_1 … F_{mv-1}
// …, then the backward passes that are left (W: the warm-up, pipeline_order.cpp; paired, F_W runs
// beside B_0). So no slot between B_0 and the end of F_{mv-1} overlaps what must precede B_0 or
// follow F_{mv-1}, and a stage's last pass is followed by those of its microbatch on the stages
// before:
//
//   finish >= lead + middle + drain
//   lead   = max(way to the stage + F_0 … F_W, way of microbatch 0 forward and back to the stage)
//   middle = F_{W+1} … F_{mv-1}, B_0 … B_{mv-W-2}
//   drain  = max(the last W + 1 backward passes + way back from the stage,
//                way of the last microbatch forward and back from its last chunk on this stage)
//
// Ways pass every virtual stage between, with a transfer each. Where W + 2 > mv, all forward passes
// precede all backward ones and there is no middle. Without interleaving F_{j+W+1} also waits for
// B_j, which follows F_j a whole way through the later stages and back later. With it, chunks that
// are not equal make the middle longer (pipeline_loop.hpp).
//
// Each sum of a lead, the middle and a drain is the smaller the larger the groups of microbatches
// are, because passes move from the middle to where those of other stages count instead. So the
// largest group's is a bound for all, with what the others have to wait besides: for sends as few
// as the smallest group has, and for unequal chunks the least of all groups.
#include "planner/bounds/pipeline_bound.hpp"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "planner/bounds/pipeline_loop.hpp"
#include "planner/bounds/split_order.hpp"

namespace pleat {
namespace {

constexpr std::size_t kForward = 0, kBackward = 1;

std::int64_t group_of(const Schedule& s) { return s.vpp == 1 ? 1 : s.group > 0 ? s.group : s.pp; }
bool groups_are_full(const Schedule& s) { return s.microbatches % group_of(s) == 0; }

// How many of the first slots of a stage are of each chunk, where groups are full.
class FirstSlots {
 public:
  FirstSlots(const Schedule& s, std::int64_t slots) : group_(group_of(s)) {
    const std::int64_t round = group_ * s.vpp;
    whole_ = slots / round * group_;
    left_ = slots % round;
  }
  [[nodiscard]] std::int64_t of_chunk(int chunk) const {
    return whole_ + std::clamp<std::int64_t>(left_ - chunk * group_, 0, group_);
  }

 private:
  std::int64_t group_, whole_ = 0, left_ = 0;
};

class OneForwardOneBackward {
 public:
  OneForwardOneBackward(const Schedule& schedule, std::span<const ChunkBound> chunks,
                        Seconds transfer, const PassOrder& order)
      : s_(schedule),
        order_(order),
        chunks_(chunks),
        transfer_(transfer),
        stages_(schedule.pp),
        virtual_(schedule.pp * schedule.vpp) {
    sum_ways();
  }

  // As if chunks were equal.
  std::vector<Seconds> run() {
    if (groups_are_full(s_)) warm_.resize(static_cast<std::size_t>(s_.vpp));
    return finish_of_stages({}, 0);
  }

  // The same with the rounds of the busiest stage, after run() gave `equal`; that where they do not
  // lift it near the cutoff.
  std::vector<Seconds> run_unequal(std::vector<Seconds> equal) {
    if (s_.vpp == 1 || !groups_are_full(s_) || equal.front() > order_.near.cutoff) return equal;
    const auto is_far_below = [&](Seconds longer) {
      const Seconds step = order_.near.step > Seconds(0) ? order_.near.step : equal.front();
      return std::isfinite(order_.near.cutoff.base()) &&
             step + longer < order_.near.cutoff * kNear;
    };
    int busiest = 0;
    Seconds most;
    for (int s = 0; s < stages_; ++s) {
      const Seconds work = all_work(s, kForward) + all_work(s, kBackward);
      if (work > most) busiest = s;
      most = std::max(most, work);
    }
    Schedule schedule = s_;
    schedule.paired = order_.paired;
    if (order_.smaller_groups) schedule.group = s_.pp;  // the smallest first: it costs the least
    std::optional<Seconds> longer;
    for (bool last = false; !last; schedule.group *= 2) {
      last = !order_.smaller_groups || schedule.group >= s_.group;
      if (last) schedule.group = s_.group;
      const auto rounds = static_cast<double>(steady_rounds(schedule, Stage{busiest}));
      const auto length = static_cast<double>(group_of(schedule));
      if (is_far_below(uneven(busiest) * (length * rounds))) return equal;
      const Seconds own = longer_rounds(schedule, chunks_, transfer_, Stage{busiest}).total();
      longer = longer ? std::min(*longer, own) : own;
      if (!last && is_far_below(*longer)) return equal;
    }
    return finish_of_stages(*longer, busiest);
  }

 private:
  // A step this much below the cutoff will hardly be lifted above it.
  static constexpr double kNear = 0.93;

  // How much longer a microbatch may take in all chunks than the work of the stage, but for
  // transfers.
  [[nodiscard]] Seconds uneven(int stage) const {
    Seconds sum, alone;
    int fewest = chunks_.front().layers, most = fewest;
    for (int c = 0; c < s_.vpp; ++c) {
      Seconds longest[2];
      for (int s = 0; s < stages_; ++s) {
        const ChunkBound& chunk = at(s, c);
        fewest = std::min(fewest, chunk.layers);
        most = std::max(most, chunk.layers);
        for (const std::size_t pass : {kForward, kBackward}) {
          longest[pass] = std::max(longest[pass], chunk.pass[pass]);
          alone = std::max(alone, chunk.least_alone[pass]);
        }
      }
      for (const std::size_t pass : {kForward, kBackward}) {
        sum += longest[pass] - at(stage, c).pass[pass];
      }
    }
    if (order_.paired) sum += alone * ((most - fewest) * s_.vpp);
    return sum;
  }

  // The middle of one stage takes `longer`.
  std::vector<Seconds> finish_of_stages(Seconds longer, int of) {
    std::vector<Seconds> finish(static_cast<std::size_t>(stages_));
    Seconds latest;  // of the first stage, after the stages from here on
    for (int s = stages_ - 1; s >= 0; --s) {
      latest = std::max(latest, first_stage_after(s, s == of ? longer : Seconds(0)));
      finish[static_cast<std::size_t>(s)] = latest - chunk0_way(s, kBackward);
    }
    return finish;
  }

  [[nodiscard]] const ChunkBound& at(int stage, int chunk) const {
    return chunks_[static_cast<std::size_t>(stage * s_.vpp + chunk)];
  }
  [[nodiscard]] const ChunkBound& at(int virtual_stage) const {
    return at(virtual_stage % stages_, virtual_stage / stages_);
  }
  static Seconds alone(const ChunkBound& c, std::size_t pass) {
    return c.pass[pass] + c.alone[pass];
  }

  void sum_ways() {
    const auto count = static_cast<std::size_t>(virtual_) + 1;
    for (std::size_t pass : {kForward, kBackward}) {
      ways_[pass].resize(count);
      ways_alone_[pass].resize(count);
      for (int v = 0; v < virtual_; ++v) {
        const auto i = static_cast<std::size_t>(v);
        ways_[pass][i + 1] = ways_[pass][i] + at(v).pass[pass] + transfer_;
        ways_alone_[pass][i + 1] = ways_alone_[pass][i] + alone(at(v), pass) + transfer_;
      }
    }
  }
  // A pass each of virtual stages [from, to) with a transfer after each.
  [[nodiscard]] Seconds way(int from, int to, std::size_t pass) const {
    return ways_[pass][static_cast<std::size_t>(to)] - ways_[pass][static_cast<std::size_t>(from)];
  }
  // Of the first microbatch forward and of the last one backward, which never run in pairs.
  [[nodiscard]] Seconds way_alone(int to, std::size_t pass) const {
    return ways_alone_[pass][static_cast<std::size_t>(to)];
  }
  [[nodiscard]] Seconds chunk0_way(int stage, std::size_t pass) const {
    return way_alone(stage, pass);  // chunk 0 of stage i is virtual stage i
  }

  // When the first stage is done, at the earliest, for what stage `s` has to do;
  // its middle takes so much longer than its passes.
  [[nodiscard]] Seconds first_stage_after(int s, Seconds longer) {
    const std::int64_t all = std::int64_t{s_.microbatches} * s_.vpp;
    const Seconds in = chunk0_way(s, kForward), out = chunk0_way(s, kBackward);
    const int last = virtual_ - 1, own = (s_.vpp - 1) * stages_ + s;  // of its last chunk
    const Seconds turn =
        way_alone(last, kForward) + alone(at(last), kForward) + way(own + 1, virtual_, kBackward);
    const Seconds end =
        way(own + 1, virtual_, kForward) + way_alone(virtual_, kBackward) - transfer_;
    const std::int64_t warm = std::min<std::int64_t>(all, warmup_slots(s_, Stage{s}) + 1);
    if (!groups_are_full(s_)) {
      return std::max(turn, in + all_work(s, kForward)) + all_work(s, kBackward) + out;
    }

    count_first(warm);
    // What the last pass sends is on the way out.
    const Seconds last_send = s > 0 && order_.waits_for_sends ? transfer_ : Seconds(0);
    const Seconds begins = in + first_work(s, kForward) + sends(s, kForward);
    const Seconds drains = first_work(s, kBackward) + sends(s, kBackward) - last_send + out +
                           send_between(s, kForward);
    if (warm < all) {
      const Seconds middle = rest_work(s, kForward) + rest_work(s, kBackward) + longer +
                             send_between(s, kForward) * static_cast<double>(all - warm - 1) +
                             send_between(s, kBackward) * static_cast<double>(all - warm);
      const Seconds bound = std::max(begins, turn) + middle + std::max(drains, end);
      return s_.vpp == 1 ? std::max(bound, cycles(s)) : bound;
    }
    // Then no slot counts as waiting for what it sends.
    const Seconds alone_begins = in + first_work(s, kForward);
    const Seconds alone_drains = first_work(s, kBackward) + out;
    const std::int64_t before = std::int64_t{s_.vpp - 1} * (s_.vpp == 1 ? 1 : group());
    count_first(std::min(before, all));
    const Seconds forward =
        std::max(alone_begins, way_alone(own, kForward) + rest_work_alone(s, kForward));
    return std::max(std::max(forward, turn) + alone_drains, forward + end);
  }

  [[nodiscard]] int group() const { return s_.group > 0 ? s_.group : s_.pp; }

  // How many of a stage's first slots are of each chunk.
  void count_first(std::int64_t slots) {
    const FirstSlots first(s_, slots);
    for (int c = 0; c < s_.vpp; ++c) warm_[static_cast<std::size_t>(c)] = first.of_chunk(c);
  }

  // Passes of stage `s`: all of them, those of the slots that were counted, and all others.
  [[nodiscard]] Seconds all_work(int s, std::size_t pass) const {
    return work(s, [&](const ChunkBound& chunk, std::int64_t) {
      return chunk.pass[pass] * static_cast<double>(s_.microbatches);
    });
  }
  [[nodiscard]] Seconds first_work(int s, std::size_t pass) const {
    return work(s, [&](const ChunkBound& chunk, std::int64_t first) {
      return alone(chunk, pass) * static_cast<double>(first);
    });
  }
  [[nodiscard]] Seconds rest_work(int s, std::size_t pass) const {  // by pairs as in a pair
    return work(s, [&](const ChunkBound& chunk, std::int64_t first) {
      return chunk.pass[pass] * static_cast<double>(s_.microbatches - first);
    });
  }
  [[nodiscard]] Seconds rest_work_alone(int s, std::size_t pass) const {
    return work(s, [&](const ChunkBound& chunk, std::int64_t first) {
      return alone(chunk, pass) * static_cast<double>(s_.microbatches - first);
    });
  }
  // How long the stage waits for what the slots that were counted send, one direction after the
  // other: to the next virtual stage, or to the one before.
  [[nodiscard]] Seconds sends(int s, std::size_t pass) const {
    if (!order_.waits_for_sends) return {};
    const bool end = s == (pass == kForward ? stages_ - 1 : 0);
    const int none = !end ? -1 : pass == kForward ? s_.vpp - 1 : 0;  // chunk that sends nothing
    Schedule smallest = s_;  // which warms up for the fewest slots
    if (order_.smaller_groups && s_.vpp > 1) smallest.group = s_.pp;
    std::int64_t count = warmup_slots(smallest, Stage{s}) + 1;
    if (none >= 0) count -= FirstSlots(smallest, count).of_chunk(none);
    return transfer_ * static_cast<double>(count);
  }
  // Without interleaving it also waits in between. What the last forward pass sends is on the way
  // of the last microbatch, so only the drain counts that.
  [[nodiscard]] Seconds send_between(int s, std::size_t pass) const {
    const bool end = s == (pass == kForward ? stages_ - 1 : 0);
    return order_.waits_for_sends && s_.vpp == 1 && !end ? transfer_ : Seconds(0);
  }
  template <class OfChunk>
  [[nodiscard]] Seconds work(int s, const OfChunk& of_chunk) const {
    Seconds sum;
    for (int c = 0; c < s_.vpp; ++c) {
      const auto i = static_cast<std::size_t>(c);
      sum += of_chunk(at(s, c), i < warm_.size() ? warm_[i] : 0);
    }
    return sum;
  }

  // Without interleaving: W + 1 microbatches are under way at most.
  [[nodiscard]] Seconds cycles(int s) const {
    const int under_way = stages_ - s;
    const int whole = (s_.microbatches - 1) / under_way;
    const Seconds cycle = way(s, stages_, kForward) + way(s, stages_, kBackward) - 2 * transfer_;
    const auto left = static_cast<double>(s_.microbatches - 1 - whole * under_way);
    return chunk0_way(s, kForward) + cycle * (whole + 1) + at(s, 0).pass[kBackward] * left +
           chunk0_way(s, kBackward);
  }

  const Schedule& s_;
  const PassOrder& order_;
  std::span<const ChunkBound> chunks_;
  Seconds transfer_;
  int stages_, virtual_;
  // Searches ask for bounds by the hundred thousand: up to 63 virtual stages need no allocation.
  using Ways = boost::container::small_vector<Seconds, 64>;
  Ways ways_[2], ways_alone_[2];  // of the virtual stages before
  // By chunk: slots counted; empty: groups not full.
  boost::container::small_vector<std::int64_t, 16> warm_;
};

// When the first microbatch can be at the chunk, on its way forward.
Seconds way_to(const Schedule& schedule, std::span<const ChunkBound> chunks, Seconds transfer,
               Stage stage, ChunkId chunk) {
  Seconds way;
  for (int v = virtual_stage(schedule, stage, chunk); v > 0; --v) {
    const StagePlace before = neighbour(schedule, stage, chunk, -1);
    const auto i = static_cast<std::size_t>(before.stage.value * chunks_of_stage(schedule) +
                                            before.chunk.value);
    way += chunks[i].pass[kForward];
    if (before.stage != stage) way += transfer;
    stage = before.stage;
    chunk = before.chunk;
  }
  return way;
}

}  // namespace

std::vector<std::int64_t> first_chunks(const Schedule& s, std::int64_t slots) {
  if (!groups_are_full(s)) return {};
  const FirstSlots first(s, slots);
  std::vector<std::int64_t> count;
  for (int c = 0; c < s.vpp; ++c) count.push_back(first.of_chunk(c));
  return count;
}

std::vector<Seconds> earliest_finish(Schedule schedule, std::span<const ChunkBound> chunks,
                                     Seconds transfer, const SplitOrder* order,
                                     const PassOrder& known) {
  schedule.paired = false;
  if (schedule.kind == PipelineSchedule::one_f_one_b) {
    if (schedule.pp == 1) transfer = Seconds(0);
    OneForwardOneBackward pipeline(schedule, chunks, transfer, known);
    return pipeline.run_unequal(pipeline.run());
  }
  // DualPipe's two chunks share the microbatches.
  const int own = chunks_of_stage(schedule);
  const int passes = schedule.kind == PipelineSchedule::dualpipe ? schedule.microbatches / 2
                                                                 : schedule.microbatches;
  std::vector<Seconds> finish = order != nullptr
                                    ? earliest_finish(*order, chunks, transfer)
                                    : earliest_finish(split_order(schedule), chunks, transfer);
  for (int s = 0; s < schedule.pp; ++s) {
    Seconds way(std::numeric_limits<double>::infinity()), work;
    for (int c = 0; c < own; ++c) {
      way = std::min(way, way_to(schedule, chunks, transfer, Stage{s}, ChunkId{c}));
      const ChunkBound& chunk = chunks[static_cast<std::size_t>(s * own + c)];
      work += (chunk.pass[kForward] + chunk.pass[kBackward]) * passes;
    }
    Seconds& least = finish[static_cast<std::size_t>(s)];
    least = std::max(least, way + work);
  }
  return finish;
}

namespace {

// Keeps only moments that no other one reaches or exceeds in every chunk.
void add_moment(std::vector<std::vector<std::int64_t>>& moments,
                const std::vector<std::int64_t>& held) {
  const auto covers = [](const auto& a, const auto& b) {
    return std::ranges::equal(a, b, std::ranges::greater_equal{});
  };
  if (std::ranges::any_of(moments, [&](const auto& m) { return covers(m, held); })) return;
  std::erase_if(moments, [&](const auto& m) { return covers(held, m); });
  moments.push_back(held);
}

// For an order that splits backward passes. A pass counts as done once its first half has begun.
std::vector<std::vector<std::int64_t>> held_by_order(const Schedule& s, Stage stage) {
  std::vector<std::vector<std::int64_t>> moments;
  std::vector<std::int64_t> held(static_cast<std::size_t>(chunks_of_stage(s)));
  for (const Slot& slot : pipeline_order(s, stage)) {
    if (slot.part == SlotPart::weight_gradients) continue;
    held[slot.chunk.index()] += slot.pass == Pass::forward ? 1 : -1;
    if (!slot.with_next && slot.pass == Pass::forward) add_moment(moments, held);
  }
  return moments;
}

}  // namespace

HeldChunks held_chunks(const Schedule& schedule) {
  HeldChunks stages;
  for (int s = 0; s < schedule.pp; ++s) {
    if (splits_backward(schedule.kind)) {
      stages.push_back(held_by_order(schedule, Stage{s}));
      continue;
    }
    Schedule alone = schedule;  // before the first backward pass
    alone.paired = false;
    const int slots = std::min(warmup_slots(alone, Stage{s}) + 1, alone.microbatches * alone.vpp);
    std::vector<std::int64_t> held = first_chunks(alone, slots);
    stages.emplace_back();
    if (!held.empty()) stages.back().push_back(std::move(held));
  }
  return stages;
}

}  // namespace pleat
