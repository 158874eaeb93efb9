// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// In which order a pipeline stage runs its microbatches: Megatron's 1F1B and interleaved 1F1B with
// microbatch groups (schedules.py get_pp_rank_microbatches, get_schedule_table; docs/MODEL.md sec
// 4).
#pragma once

#include <vector>

#include "core/ids.hpp"
#include "core/plan/plan.hpp"
#include "core/program/layer_program.hpp"

namespace pleat {

// What a backward slot computes; a forward slot is whole.
enum class SlotPart : std::uint8_t { whole, input_gradients, weight_gradients };

struct Slot {
  Pass pass = Pass::forward;
  MicroBatch microbatch;
  ChunkId chunk;
  // expert-parallel overlap: a forward run together with the backward after it
  bool with_next = false;
  SlotPart part = SlotPart::whole;
  bool operator==(const Slot&) const = default;
};

struct Schedule {
  int pp = 1, vpp = 1, microbatches = 1;
  int group = 0;                       // microbatches per group; 0: pp
  // Expert-parallel overlap: one more warm-up slot, then forward and backward run in pairs. Without
  // effect on plain 1F1B of several stages, which has no room to pair passes.
  bool paired = false;
  PipelineSchedule kind = PipelineSchedule::one_f_one_b;
  bool operator==(const Schedule&) const = default;
};

// A microbatch passes virtual stages 0, 1, … on its way forward. With DualPipe there are pp of
// them, and half of the microbatches start at the last stage; else pp * vpp.
[[nodiscard]] int virtual_stages(const Schedule&);
// The one a chunk is: chunk c of stage r is c * pp + r, in a V the second chunks count backwards;
// DualPipe's second chunk of stage r is pp - 1 - r.
[[nodiscard]] int virtual_stage(const Schedule&, Stage, ChunkId);
// Where the virtual stage before (step -1) or after (step 1) a chunk's own lies, on the way of the
// chunk's microbatches. It must be there. In a V the turn stays on its stage.
struct StagePlace {
  Stage stage;
  ChunkId chunk;
  bool operator==(const StagePlace&) const = default;
};
[[nodiscard]] StagePlace neighbour(const Schedule&, Stage, ChunkId, int step);
// Chunks of a stage: vpp, two with DualPipe.
[[nodiscard]] int chunks_of_stage(const Schedule&);

// Slots of the warm-up before the first backward; 1F1B only.
[[nodiscard]] int warmup_slots(const Schedule&, Stage);

// All slots of one stage, in order: 2 * microbatches * vpp of 1F1B, more where backward is split.
[[nodiscard]] std::vector<Slot> pipeline_order(const Schedule&, Stage);

}  // namespace pleat
