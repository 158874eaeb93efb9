// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Megatron's 1F1B and interleaved 1F1B. With p stages, v chunks, m microbatches, groups of N and
// stage r, the warm-up is W = p-r-1 (v = 1) or 2(p-r-1) + (v-1)N, one more under expert-parallel
// overlap, at most m*v. Then forward k+W and backward k alternate, and the backwards drain: at most
// W+1 chunks are live. Order of forwards: for each group of N microbatches, for each chunk, for
// each microbatch of the group; backwards the same with the chunks reversed. Source: Megatron-LM
// schedules.py, get_pp_rank_microbatches and get_schedule_table.
#include "core/program/pipeline_order.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"
#include "core/program/split_orders.hpp"

namespace pleat {
namespace {

bool pairs(const Schedule& s) { return s.paired && (s.vpp > 1 || s.pp == 1); }

int group_of(const Schedule& s) { return s.group > 0 ? s.group : s.pp; }

std::vector<Slot> forward_table(const Schedule& s) {
  std::vector<Slot> table;
  table.reserve(static_cast<std::size_t>(s.microbatches) * static_cast<std::size_t>(s.vpp));
  const int group = s.vpp > 1 ? group_of(s) : 1;
  for (int first = 0; first < s.microbatches; first += group) {
    const int last = std::min(first + group, s.microbatches);
    for (int chunk = 0; chunk < s.vpp; ++chunk) {
      for (int mb = first; mb < last; ++mb) {
        table.push_back({Pass::forward, MicroBatch{mb}, ChunkId{chunk}});
      }
    }
  }
  return table;
}

}  // namespace

int virtual_stages(const Schedule& s) {
  return s.kind == PipelineSchedule::dualpipe ? s.pp : s.pp * s.vpp;
}

int virtual_stage(const Schedule& s, Stage stage, ChunkId chunk) {
  switch (s.kind) {
    case PipelineSchedule::one_f_one_b:
    case PipelineSchedule::zb_h1: return chunk.value * s.pp + stage.value;
    case PipelineSchedule::zb_v:
    case PipelineSchedule::dualpipe_v:
    case PipelineSchedule::dualpipe:
      return chunk.value == 0 ? stage.value : virtual_stages(s) - 1 - stage.value;
  }
  return 0;
}

StagePlace neighbour(const Schedule& s, Stage stage, ChunkId chunk, int step) {
  const int v = virtual_stage(s, stage, chunk) + step, stages = virtual_stages(s);
  PLEAT_ASSERT(v >= 0 && v < stages);
  switch (s.kind) {
    case PipelineSchedule::one_f_one_b:
    case PipelineSchedule::zb_h1: return {Stage{v % s.pp}, ChunkId{v / s.pp}};
    case PipelineSchedule::zb_v:
    case PipelineSchedule::dualpipe_v:
      return v < s.pp ? StagePlace{Stage{v}, ChunkId{0}}
                      : StagePlace{Stage{stages - 1 - v}, ChunkId{1}};
    case PipelineSchedule::dualpipe:  // each direction keeps to its chunk
      return {Stage{chunk.value == 0 ? v : stages - 1 - v}, chunk};
  }
  return {};
}

int chunks_of_stage(const Schedule& s) {
  return s.kind == PipelineSchedule::dualpipe ? 2 : s.vpp;
}

int warmup_slots(const Schedule& s, Stage stage) {
  PLEAT_ASSERT(s.pp >= 1 && s.vpp >= 1 && s.microbatches >= 1 && s.group >= 0);
  PLEAT_ASSERT(s.pp > 1 || s.vpp == 1);
  PLEAT_ASSERT(stage.value >= 0 && stage.value < s.pp);
  const int after = s.pp - stage.value - 1;
  int warmup = s.vpp == 1 ? after : 2 * after + (s.vpp - 1) * group_of(s);
  if (pairs(s)) ++warmup;
  return std::min(warmup, s.microbatches * s.vpp);
}

std::vector<Slot> pipeline_order(const Schedule& s, Stage stage) {
  if (splits_backward(s.kind)) return split_order(s, stage);
  const auto warmup = static_cast<std::size_t>(warmup_slots(s, stage));
  const std::vector<Slot> table = forward_table(s);
  std::vector<Slot> order;
  order.reserve(2 * table.size());
  const auto backward = [&](std::size_t k) {
    Slot slot = table[k];
    slot.pass = Pass::backward;
    slot.chunk = ChunkId{s.vpp - 1 - slot.chunk.value};
    order.push_back(slot);
  };
  for (std::size_t k = 0; k < warmup; ++k) order.push_back(table[k]);
  for (std::size_t k = 0; k + warmup < table.size(); ++k) {
    order.push_back(table[k + warmup]);
    order.back().with_next = pairs(s);
    backward(k);
  }
  for (std::size_t k = table.size() - warmup; k < table.size(); ++k) backward(k);
  return order;
}

}  // namespace pleat
