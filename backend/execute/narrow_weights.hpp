// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The narrow copies of a stage's weights that products read: one row by row, one column by column.
// `quantize_weights` makes them at the start of a step.
#pragma once

#include <map>
#include <tuple>

#include "backend/execute/call.hpp"
#include "backend/runtime/tensor_store.hpp"
#include "kernels/quantized.hpp"

namespace pleat::execute {

class NarrowWeights {
 public:
  NarrowWeights(const StageProgram& stage, TensorStore& store) : stage_(stage), store_(store) {}

  // A weight's copy for products over its columns, or (`column`) over its rows. `reads`: it must
  // have been made.
  [[nodiscard]] View copy_of(const WeightSlot&, const Tensor& weight, bool column, bool reads);
  // What a product multiplies by: its second operand, or the narrow copy of that.
  [[nodiscard]] View second_operand(const Call&);

 private:
  const StageProgram& stage_;
  TensorStore& store_;
  // By bucket, place and layout; the same in all operations of a step.
  std::map<std::tuple<Bucket, std::int64_t, bool>, BlockScales> scales_;
};

}  // namespace pleat::execute
