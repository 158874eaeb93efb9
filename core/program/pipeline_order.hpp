// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// In which order a pipeline stage runs its microbatches: Megatron's 1F1B and interleaved 1F1B with
// microbatch groups (schedules.py get_pp_rank_microbatches, get_schedule_table; docs/MODEL.md sec 4).
#pragma once

#include <vector>

#include "core/ids.hpp"
#include "core/program/layer_program.hpp"

namespace pleat {

struct Slot {
  Pass pass = Pass::forward;
  MicroBatch microbatch;
  ChunkId chunk;
  bool with_next = false;  // expert-parallel overlap: a forward run together with the backward after it
  bool operator==(const Slot&) const = default;
};

struct Schedule {
  int pp = 1, vpp = 1, microbatches = 1;
  int group = 0;                       // microbatches per group; 0: pp
  // Expert-parallel overlap: one more warm-up slot, then forward and backward run in pairs. Without
  // effect on plain 1F1B of several stages, which has no room to pair passes.
  bool paired = false;
  bool operator==(const Schedule&) const = default;
};

// Slots of the warm-up before the first backward.
[[nodiscard]] int warmup_slots(const Schedule&, Stage);

// All 2 * microbatches * vpp slots of one stage, in order.
[[nodiscard]] std::vector<Slot> pipeline_order(const Schedule&, Stage);

}  // namespace pleat
