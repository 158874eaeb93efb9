// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/bounds/split_order.hpp"

#include <algorithm>
#include <tuple>

namespace pleat {
namespace {

using Begin = OrderSegment::Begin;

constexpr std::size_t kForwardPass = 0, kBackwardPass = 1;

std::vector<OrderSegment> segments_of(const std::vector<Slot>& order, int chunks) {
  std::vector<OrderSegment> list;
  for (int c = 0; c < chunks; ++c) {
    std::int64_t found[4] = {-1, -1, -1, -1};
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i].chunk.value != c || order[i].part == SlotPart::weight_gradients) continue;
      const std::size_t pass = order[i].pass == Pass::forward ? 0 : 1;
      if (found[pass] < 0) found[pass] = static_cast<std::int64_t>(i);
      found[2 + pass] = static_cast<std::int64_t>(i);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      if (found[k] >= 0) list.push_back({found[k], static_cast<Begin>(k), c, {}});
    }
  }
  std::ranges::sort(list, {},
                    [](const OrderSegment& s) { return std::tuple(s.slot, s.begin, s.chunk); });
  for (std::size_t k = 0; k < list.size(); ++k) {
    list[k].count.resize(static_cast<std::size_t>(chunks));
    const auto end =
        k + 1 < list.size() ? static_cast<std::size_t>(list[k + 1].slot) : order.size();
    for (auto i = static_cast<std::size_t>(list[k].slot); i < end; ++i) {
      OrderSegment::Count& n = list[k].count[order[i].chunk.index()];
      if (order[i].pass == Pass::forward) ++n.forward;
      else if (order[i].part == SlotPart::whole) ++n.whole;
      else if (order[i].part == SlotPart::input_gradients) ++n.input;
      else ++n.weight;
    }
  }
  return list;
}

// Where the first virtual stages lie: stage 0, and with DualPipe the last stage's second chunk.
std::vector<int> way_from(const Schedule& s, StagePlace at) {
  std::vector<int> way;
  for (int v = 0;; ++v) {
    way.push_back(at.stage.value * chunks_of_stage(s) + at.chunk.value);
    if (v + 1 == virtual_stages(s)) return way;
    at = neighbour(s, at.stage, at.chunk, 1);
  }
}

Seconds work(const OrderSegment& segment, const ChunkBound* chunks) {
  Seconds sum;
  for (std::size_t c = 0; c < segment.count.size(); ++c) {
    const OrderSegment::Count& n = segment.count[c];
    const int both = std::min(n.input, n.weight);  // of different microbatches, perhaps
    sum += chunks[c].pass[kForwardPass] * n.forward +
           chunks[c].pass[kBackwardPass] * (n.whole + both) + chunks[c].half[0] * (n.input - both) +
           chunks[c].half[1] * (n.weight - both);
  }
  return sum;
}

}  // namespace

SplitOrder split_order(const Schedule& schedule) {
  SplitOrder result{.stages = {}, .ways = {}, .chunks = chunks_of_stage(schedule)};
  for (int s = 0; s < schedule.pp; ++s) {
    result.stages.push_back(segments_of(pipeline_order(schedule, Stage{s}), result.chunks));
  }
  result.ways.push_back(way_from(schedule, {Stage{0}, ChunkId{0}}));
  if (schedule.kind == PipelineSchedule::dualpipe) {
    result.ways.push_back(way_from(schedule, {Stage{schedule.pp - 1}, ChunkId{1}}));
  }
  return result;
}

std::vector<Seconds> earliest_finish(const SplitOrder& order, std::span<const ChunkBound> chunks,
                                     Seconds transfer) {
  // For each chunk, the time until the first microbatch comes forward, until it comes back, and
  // from the chunk to the end of the model and back.
  std::vector<Seconds> there(chunks.size()), back(chunks.size()), round(chunks.size());
  for (const std::vector<int>& way : order.ways) {
    const auto chunk = [&](std::size_t v) { return static_cast<std::size_t>(way[v]); };
    const auto hop = [&](std::size_t v) {  // to the next
      return way[v] / order.chunks == way[v + 1] / order.chunks ? Seconds(0) : transfer;
    };
    Seconds time;
    for (std::size_t v = 0; v < way.size(); ++v) {
      there[chunk(v)] = time;
      time += chunks[chunk(v)].pass[kForwardPass];
      if (v + 1 < way.size()) time += hop(v);
    }
    Seconds later;
    for (std::size_t v = way.size(); v-- > 0;) {
      back[chunk(v)] = time;
      round[chunk(v)] = later;
      if (v == 0) break;
      const ChunkBound& c = chunks[chunk(v)];
      const Seconds gradient = std::min(c.half[0], c.pass[kBackwardPass]);
      time += gradient + hop(v - 1);
      later += gradient + c.pass[kForwardPass] + 2 * hop(v - 1);
    }
  }

  std::vector<Seconds> finish;
  std::vector<Seconds> last_forward(static_cast<std::size_t>(order.chunks));  // ends
  for (std::size_t s = 0; s < order.stages.size(); ++s) {
    const std::size_t first = s * static_cast<std::size_t>(order.chunks);
    Seconds now;
    for (const OrderSegment& segment : order.stages[s]) {
      const auto c = static_cast<std::size_t>(segment.chunk);
      switch (segment.begin) {
        case Begin::first_forward: now = std::max(now, there[first + c]); break;
        case Begin::first_backward: now = std::max(now, back[first + c]); break;
        case Begin::last_forward:
          last_forward[c] = now + chunks[first + c].pass[kForwardPass];
          break;
        case Begin::last_backward:
          now = std::max(now, last_forward[c] + round[first + c]);
          break;
      }
      now += work(segment, &chunks[first]);
    }
    finish.push_back(now);
  }
  return finish;
}

}  // namespace pleat
