// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/layout/slot_paths.hpp"

#include <algorithm>

namespace pleat {
namespace {

constexpr std::size_t kEdges = 3;
std::size_t slot_index(std::int32_t i) { return static_cast<std::size_t>(i); }

}  // namespace

SlotPaths::SlotPaths(const ScheduleTable& table)
    : table_(table), kinds_(slot_index(table.kinds())), edges_(kEdges * table.steps.size()),
      own_(slot_index(table.shape.pp)) {
  std::vector<std::int32_t> writer(slot_index(table.cells), -1);
  for (std::size_t i = 0; i < table.steps.size(); ++i) {
    const ScheduleTable::Step& step = table.steps[i];
    std::vector<std::int32_t>& own = own_[slot_index(step.stage)];
    if (!own.empty()) edges_[kEdges * i].step = own.back();
    own.push_back(static_cast<std::int32_t>(i));
    for (std::size_t k = 0; k < 2; ++k) {
      if (step.input[k] < 0) continue;
      edges_[kEdges * i + 1 + k] = {writer[slot_index(step.input[k])], step.travels[k]};
    }
    for (const std::int32_t cell : step.output) {
      if (cell >= 0) writer[slot_index(cell)] = static_cast<std::int32_t>(i);
    }
  }
}

std::vector<SlotPath> SlotPaths::along_stages(const std::vector<Seconds>& durations,
                                              Seconds transfer, double ways) {
  const std::size_t steps = table_.steps.size();
  const auto length = [&](std::size_t i) {
    return durations[slot_index(table_.steps[i].stage) * kinds_ + slot_index(table_.steps[i].work)];
  };
  end_.assign(steps, Seconds(0));
  after_.assign(steps, Seconds(0));
  from_.assign(steps, {});
  to_.assign(steps, {});
  for (std::size_t i = 0; i < steps; ++i) {
    Seconds begin;
    for (std::size_t k = 0; k < kEdges; ++k) {
      const Edge& e = edges_[kEdges * i + k];
      if (e.step < 0) continue;
      const Seconds ready = end_[slot_index(e.step)] + (e.travels ? transfer : Seconds(0));
      if (from_[i].step >= 0 && ready <= begin) continue;
      begin = ready;
      from_[i] = e;
    }
    end_[i] = begin + length(i);
  }
  for (std::size_t i = steps; i-- > 0;) {
    for (std::size_t k = 0; k < kEdges; ++k) {
      const Edge& e = edges_[kEdges * i + k];
      if (e.step < 0) continue;
      const Seconds rest = after_[i] + length(i) + (e.travels ? transfer : Seconds(0));
      Seconds& known = after_[slot_index(e.step)];
      if (to_[slot_index(e.step)].step >= 0 && rest <= known) continue;
      known = rest;
      to_[slot_index(e.step)] = {static_cast<std::int32_t>(i), e.travels};
    }
  }
  std::vector<SlotPath> paths;
  for (const auto& own : own_) paths.push_back(along(own, ways));
  return paths;
}

void SlotPaths::count(std::int32_t i, SlotPath& path) const {
  const ScheduleTable::Step& step = table_.steps[slot_index(i)];
  ++path.times[slot_index(step.stage) * kinds_ + slot_index(step.work)];
}

SlotPath SlotPaths::along(const std::vector<std::int32_t>& own, double ways) const {
  SlotPath path{.times = std::vector<std::int32_t>(own_.size() * kinds_)};
  const auto first = static_cast<std::size_t>(ways * static_cast<double>(own.size()));
  const std::size_t last = own.size() - 1 - first;
  for (std::size_t i = first; i <= last; ++i) count(own[i], path);
  for (Edge e = from_[slot_index(own[first])]; e.step >= 0; e = from_[slot_index(e.step)]) {
    count(e.step, path);
    path.transfers += e.travels ? 1 : 0;
  }
  for (Edge e = to_[slot_index(own[last])]; e.step >= 0; e = to_[slot_index(e.step)]) {
    count(e.step, path);
    path.transfers += e.travels ? 1 : 0;
  }
  return path;
}

}  // namespace pleat
