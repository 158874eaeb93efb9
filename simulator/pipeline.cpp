// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Exact pipeline timeline: stages run their slots in order; a slot starts when its stage is free
// and its producer on the neighbouring virtual stage is done plus the transfer (docs/MODEL.md
// section 8).
#include "simulator/pipeline.hpp"

#include <algorithm>
#include <optional>

#include "simulator/chunk_costs.hpp"

namespace pleat {
namespace {

constexpr Seconds kNotDone{-1.0};

class Run {
 public:
  explicit Run(const PipelineInput& in) : in_(in), last_(in.pp * in.vpp - 1) {
    const auto cells = static_cast<std::size_t>((last_ + 1) * in.microbatches);
    for (auto& pass : done_) pass.assign(cells, kNotDone);
    const auto stages = static_cast<std::size_t>(in.pp);
    PLEAT_ASSERT(in.orders.size() == stages && in.times->size() == stages);
    result_.finish = in.start.empty() ? std::vector<Seconds>(stages) : in.start;
    result_.busy.resize(stages);
    next_.resize(stages);
  }

  PipelineTiming finish() {
    std::size_t left = 0;
    for (const auto* order : in_.orders) left += order->size();
    while (left > 0) {
      std::size_t advanced = 0;
      for (int s = 0; s < in_.pp; ++s) {
        while (const std::size_t n = advance(s)) advanced += n;
      }
      PLEAT_ASSERT(advanced > 0);  // else the order deadlocks
      left -= advanced;
    }
    for (Seconds end : result_.finish) result_.end = std::max(result_.end, end);
    return std::move(result_);
  }

 private:
  Seconds& done(Pass pass, int virtual_stage, MicroBatch mb) {
    return done_[static_cast<std::size_t>(pass)][static_cast<std::size_t>(
        virtual_stage * in_.microbatches + mb.value)];
  }

  // When the slot's input is there; none: its producer has not run.
  std::optional<Seconds> input_ready(int s, const Slot& slot) {
    const int v = slot.chunk.value * in_.pp + s;
    if (slot.pass == Pass::forward && v == 0) return Seconds(0);
    const bool own = slot.pass == Pass::backward && v == last_;
    const Seconds producer = own ? done(Pass::forward, v, slot.microbatch)
                                 : done(slot.pass, slot.pass == Pass::forward ? v - 1 : v + 1,
                                        slot.microbatch);
    if (producer == kNotDone) return std::nullopt;
    return own || in_.pp == 1 ? producer : producer + in_.transfer;
  }

  void record(int s, const Slot& slot, Seconds start, Seconds duration) {
    done(slot.pass, slot.chunk.value * in_.pp + s, slot.microbatch) = start + duration;
    if (in_.keep_events) result_.events.push_back({Stage{s}, slot, start, duration});
  }

  // Runs the stage's next slot, or pair of slots, if it can; returns how many.
  std::size_t advance(int s) {
    const auto stage = static_cast<std::size_t>(s);
    const std::vector<Slot>& order = *in_.orders[stage];
    const std::size_t i = next_[stage];
    if (i >= order.size()) return 0;
    const Slot& slot = order[i];
    std::optional<Seconds> ready = input_ready(s, slot);
    if (!ready) return 0;
    const ChunkTimes& times = (*in_.times)[stage][slot.chunk.index()];
    Seconds duration = slot.pass == Pass::forward ? times.forward : times.backward;
    std::size_t count = 1;
    if (slot.with_next && !in_.pairs.empty()) {
      const std::optional<Seconds> other = input_ready(s, order[i + 1]);
      if (!other) return 0;
      ready = std::max(*ready, *other);
      duration = in_.pairs[stage][slot.chunk.index() * static_cast<std::size_t>(in_.vpp) +
                                  order[i + 1].chunk.index()];
      count = 2;
    }
    const Seconds start = std::max(result_.finish[stage], *ready);
    for (std::size_t k = 0; k < count; ++k) record(s, order[i + k], start, duration);
    result_.finish[stage] = start + duration;
    result_.busy[stage] += duration;
    next_[stage] += count;
    return count;
  }

  const PipelineInput& in_;
  int last_;
  std::vector<Seconds> done_[2];
  std::vector<std::size_t> next_;
  PipelineTiming result_;
};

}  // namespace

PipelineTiming run_pipeline(const PipelineInput& input) { return Run(input).finish(); }

PipelineTiming simulate_pipeline(const Schedule& schedule,
                                 const std::vector<std::vector<ChunkTimes>>& times,
                                 Seconds transfer, bool keep_events) {
  std::vector<std::vector<Slot>> orders;
  for (int s = 0; s < schedule.pp; ++s) orders.push_back(pipeline_order(schedule, Stage{s}));
  PipelineInput input{.pp = schedule.pp,
                      .vpp = schedule.vpp,
                      .microbatches = schedule.microbatches,
                      .times = &times,
                      .transfer = transfer,
                      .keep_events = keep_events};
  for (const auto& order : orders) input.orders.push_back(&order);
  return run_pipeline(input);
}

}  // namespace pleat
