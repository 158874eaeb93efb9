// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Narrow operands of products: copies of activations and gradients where the program says, of
// weights once a step.
#include <fmt/format.h>

#include <algorithm>

#include "backend/executor.hpp"
#include "backend/init.hpp"
#include "backend/quantization_recipe.hpp"
#include "backend/runtime/views.hpp"

namespace pleat {
namespace {

// Without the room for scales.
std::span<std::byte> codes(View v) {
  const std::int64_t n = v.elements();
  return {static_cast<std::byte*>(v.data),
          static_cast<std::size_t>(v.dtype == DType::nvfp4 ? (n + 1) / 2 : n)};
}

template <class T>
void gather(Communicator& comm, const std::vector<T>& mine, std::vector<T>& all) {
  all.resize(mine.size() * static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
}

}  // namespace

// The rows of every rank, each with its own scales.
void Executor::gather_quantized(const Call& c, Communicator& comm) {
  const View from = c.in[0], to = c.out[0];
  kernels_.read_scales(from);
  const BlockScales& mine = *from.scales;
  BlockScales& all = *to.scales;
  comm.all_gather(codes(from), codes(to));
  all.format = mine.format;
  all.rule = mine.rule;
  all.block_cols = mine.block_cols;
  all.blocks_in_row = mine.blocks_in_row;
  gather(comm, mine.scales, all.scales);
  gather(comm, mine.group_scales, all.group_scales);
  all.block_of_row.clear();
  const auto blocks = static_cast<std::int32_t>(mine.group_scales.size());
  for (int r = 0; r < comm.size(); ++r) {
    for (const std::int32_t b : mine.block_of_row) all.block_of_row.push_back(r * blocks + b);
  }
  kernels_.write_scales(to);
}

// What the first results become: the row-wise copy, the column-wise one. Random bits of an operation
// depend on where it is in the model and the data, not on the layout of the pipeline.
std::vector<QuantizedCopy> Executor::quantized_copies(const Call& c) const {
  const OpAttributes& a = c.op.attr;
  const auto operand = a.gradient ? ProductOperand::gradient : ProductOperand::activation;
  const std::string place =
      fmt::format("{}.{}.{}.{}.{}.{}", step_, c.site->microbatch.value, context_.attention().dp,
                  context_.attention().cp, c.site->instance->layer.value, c.op.name);
  std::vector<QuantizedCopy> copies;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, c.out.size()); ++i) {
    const bool column = i == 1 || a.by_rows;
    const std::uint64_t bits = random_key(place + (column ? ".col" : ".row"), config_.seed);
    const PhiloxKey key{static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32U)};
    copies.push_back({c.out[i], quantization_of(program_.plan.precision, operand, column, key)});
  }
  return copies;
}

// What is quantised as it is made: kernels need its shape and type.
View Executor::unstored(const Call& c) const {
  const Tensor& made = c.site->program->tensor(c.op.attr.source);
  const Binding rows = binding(*c.site, made);
  return {nullptr, made.dtype, made.rows(rows), made.columns(rows)};
}

void Executor::rms_norm_quantize(const Call& c) {
  const bool adds = c.in.size() > 2;
  kernels_.rms_norm_quantize(c.in[0], adds ? c.in[2] : View{}, adds ? c.out[3] : View{}, c.in[1],
                             unstored(c), false, c.out[2], c.op.attr.eps, quantized_copies(c));
}

void Executor::quantize(const Call& c) {
  if (is_quantized(c.in[0].dtype)) {  // the other layout of the same codes
    device_.enqueue_copy(c.out[0].data, c.in[0].data, std::ssize(codes(c.in[0])));
    *c.out[0].scales = *c.in[0].scales;
    return;
  }
  const Tensor& from = c.site->program->tensor(c.op.in[0]);
  if (from.cls == TensorClass::weight) {
    return quantize_weight(c.in[0], from, c.out[0], c.op.attr.by_rows);
  }
  kernels_.quantize_copies(c.in[0], c.in.size() > 1 ? c.in[1] : View{}, quantized_copies(c));
}

// Rows of each of so many equal groups, where the kernels read them.
View Executor::equal_groups(std::int64_t groups, std::int64_t rows) {
  Block& counts = equal_groups_[{groups, rows}];
  if (counts.data() == nullptr) {
    counts = aside_.allocate(bytes_of(DType::i32, groups));
    const std::vector<std::int32_t> all(static_cast<std::size_t>(groups),
                                        static_cast<std::int32_t>(rows));
    device_.copy(counts.data(), all.data(), counts.bytes());
  }
  return {counts.data(), DType::i32, 1, groups};
}

// An expert's matrix is a group of its own.
void Executor::quantize_weight(View weight, const Tensor& tensor, View to, bool column) {
  const std::int64_t matrices = tensor.shape.size() > 2 ? tensor.shape.front().n : 1;
  kernels_.quantize(weight, equal_groups(matrices, weight.rows / matrices), to,
                    quantization_of(program_.plan.precision, ProductOperand::weight, column, {}));
}

void Executor::quantize_weights(const Call& c) {
  for (const ChunkProgram& chunk : stage_.chunks) {
    for (const LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = stage_.program(instance);
      for (std::size_t w = 0; w < layer.weights.size(); ++w) {
        const WeightSlot& slot = instance.slots[w];
        const BucketState& b = stage_.buckets[static_cast<std::size_t>(slot.bucket)];
        if (slot.narrow < 0 || c.op.in[0] != b.weights) continue;
        const Tensor& tensor = layer.tensor(layer.weights[w].weight);
        const View weight = store_.parameter(slot, tensor, BucketPart::weights, c.op.name);
        View from = weight;
        Block wide;  // where the codes take its place
        if (b.narrow_in_place) {
          wide = aside_.allocate(std::ssize(bytes(weight)));
          device_.enqueue_copy(wide.data(), weight.data, wide.bytes());
          from.data = wide.data();
        }
        for (const bool column : {false, true}) {
          quantize_weight(from, tensor, narrow_copy(slot, tensor, column, false), column);
        }
      }
    }
  }
}

View Executor::narrow_copy(const WeightSlot& slot, const Tensor& tensor, bool column, bool reads) {
  const BucketState& b = stage_.buckets[static_cast<std::size_t>(slot.bucket)];
  const bool here = b.narrow_copies || b.narrow_in_place;
  if (slot.narrow < 0 || !here) {
    throw ExecutionError(fmt::format("'{}' has no narrow copies", tensor.name));
  }
  BlockScales* const scales = &weight_scales_[{slot.bucket, slot.narrow, column}];
  const std::int64_t rows = tensor.rows({}), columns = tensor.columns({});
  if (b.narrow_in_place) {
    PLEAT_ASSERT(*b.narrow_in_place == DType::fp8 || *b.narrow_in_place == DType::mxfp8);
    const View all = store_.state(b.weights, reads, tensor.name);
    return {all.at(slot.offset) + (column ? rows * columns : 0), *b.narrow_in_place, rows, columns,
            scales};
  }
  const View all = store_.state(*b.narrow_copies, reads, tensor.name);
  const std::int64_t first = slot.narrow + (column ? b.narrow_elements : 0);
  const std::int64_t halves = all.dtype == DType::nvfp4 ? 1 : 2;  // of a byte, for an element
  PLEAT_ASSERT(first * halves % 2 == 0);
  return {static_cast<std::byte*>(all.data) + first * halves / 2, all.dtype, rows, columns,
          scales};
}

// A narrow product reads a weight's copy for products over columns forward, over rows backward.
View Executor::second_operand(const Call& c) {
  if (!is_quantized(c.op.attr.math) || c.op.attr.transpose_a) return c.in[1];
  const LayerProgram& layer = *c.site->program;
  const auto w = std::ranges::find(layer.weights, c.op.in[1], &Weight::weight);
  if (w == layer.weights.end()) return c.in[1];
  const auto index = static_cast<std::size_t>(w - layer.weights.begin());
  return narrow_copy(c.site->instance->slots[index], layer.tensor(w->weight),
                     !c.op.attr.transpose_b, true);
}

}  // namespace pleat
