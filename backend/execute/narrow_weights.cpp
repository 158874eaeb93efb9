// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/narrow_weights.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backend/runtime/execution_error.hpp"
#include "core/diagnostics.hpp"

namespace pleat::execute {

View NarrowWeights::copy_of(const WeightSlot& slot, const Tensor& weight, bool column, bool reads) {
  const BucketState& b = stage_.buckets[static_cast<std::size_t>(slot.bucket)];
  const bool here = b.narrow_copies || b.narrow_in_place;
  if (slot.narrow < 0 || !here) {
    throw ExecutionError(fmt::format("'{}' has no narrow copies", weight.name));
  }
  BlockScales* const scales = &scales_[{slot.bucket, slot.narrow, column}];
  const std::int64_t rows = weight.rows({}), columns = weight.columns({});
  if (b.narrow_in_place) {
    PLEAT_ASSERT(*b.narrow_in_place == DType::fp8 || *b.narrow_in_place == DType::mxfp8);
    const View all = store_.state(b.weights, reads, weight.name);
    return {all.at(slot.offset) + (column ? rows * columns : 0), *b.narrow_in_place, rows, columns,
            scales};
  }
  const View all = store_.state(*b.narrow_copies, reads, weight.name);
  const std::int64_t first = slot.narrow + (column ? b.narrow_elements : 0);
  const std::int64_t halves = all.dtype == DType::nvfp4 ? 1 : 2;  // of a byte, for an element
  PLEAT_ASSERT(first * halves % 2 == 0);
  return {static_cast<std::byte*>(all.data) + first * halves / 2, all.dtype, rows, columns, scales};
}

// Products over the weight's columns are those of the forward pass, over its rows the backward
// pass'.
View NarrowWeights::second_operand(const Call& c) {
  if (!is_quantized(c.op.attr.math) || c.op.attr.transpose_a) return c.in[1];
  const LayerProgram& layer = *c.site->program;
  const auto w = std::ranges::find(layer.weights, c.op.in[1], &Weight::weight);
  if (w == layer.weights.end()) return c.in[1];
  const auto index = static_cast<std::size_t>(w - layer.weights.begin());
  return copy_of(c.site->instance->slots[index], layer.tensor(w->weight), !c.op.attr.transpose_b,
                 true);
}

}  // namespace pleat::execute
