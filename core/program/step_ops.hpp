// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Step level of a stage: parameter buckets, and what runs before the first and after the last slot.
#pragma once

#include "core/program/program.hpp"

namespace pleat {

// Lays every instance's weights out in the buckets, for Megatron's dialect only counts them, and
// creates the state tensors. A stage has one embedding table: tied heads and prediction layers
// share it.
// `shares_table`: other stages have copies of the table, whose moments all must round alike.
void lay_out_buckets(StageProgram&, const ModelSpec&, const Plan&, Runtime, bool shares_table);

// Zeroing, gradient reduction, clipping, the optimizer's step on device or host and, sharded
// (ZeRO-1), the parameter gather.
// Megatron copies narrow gradients to fp32 for the optimizer.
// `table_stages`: those whose copies of the embedding table have their gradients summed, this stage
// among them; none: no other stage has one.
void add_step_ops(StageProgram&, const ModelSpec&, const Plan&, Runtime,
                  const std::vector<Stage>& table_stages);

// State and step of a stage of which only the elements of its buckets are known: without a second
// copy of a table and Muon's iterations, which need its layers.
[[nodiscard]] StageProgram stage_of_buckets(std::vector<BucketState>, const ModelSpec&,
                                            const Plan&, Runtime);

}  // namespace pleat
