// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/quantization.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/execute/delayed_scaling.hpp"
#include "backend/execute/execution.hpp"
#include "backend/init.hpp"
#include "backend/quantization_recipe.hpp"
#include "backend/runtime/views.hpp"

namespace pleat::execute {
namespace {

// The codes of a view, without the room for scales behind them.
std::span<std::byte> codes(View v) {
  const std::int64_t n = v.elements();
  return {static_cast<std::byte*>(v.data),
          static_cast<std::size_t>(v.dtype == DType::nvfp4 ? (n + 1) / 2 : n)};
}

template <class T>
void gather_vector(Communicator& comm, const std::vector<T>& mine, std::vector<T>& all) {
  all.resize(mine.size() * static_cast<std::size_t>(comm.size()));
  comm.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
}

// The result that is quantised as it is made, and not stored: kernels need its shape and type.
View unstored(const Call& c, const Execution& run) {
  const Tensor& made = c.site->program->tensor(c.op.attr.source);
  const Binding rows = run.rows.binding(*c.site, made);
  return {nullptr, made.dtype, made.rows(rows), made.columns(rows)};
}

// How a weight's copy for products over columns or over rows is made.
QuantizedCopy narrow_copy(const Execution& run, View to, bool column) {
  return {to, quantization_of(run.program.plan.precision, ProductOperand::weight, column, {})};
}

// An expert's matrix is a group of its own.
void make_narrow_copies(Execution& run, View weight, const Tensor& tensor,
                        std::span<const QuantizedCopy> copies) {
  const std::int64_t matrices = tensor.shape.size() > 2 ? tensor.shape.front().n : 1;
  run.kernels.quantize_copies(weight, run.scratch.equal_groups(matrices, weight.rows / matrices),
                              copies);
}

}  // namespace

// The first results: the row-wise copy and the column-wise one. An operation's random bits depend
// on its place in the model and in the data, not on the layout of the pipeline.
std::vector<QuantizedCopy> quantized_copies(const Call& c, const Execution& run) {
  const OpAttributes& a = c.op.attr;
  const auto operand = a.gradient ? ProductOperand::gradient : ProductOperand::activation;
  const std::string place = fmt::format(
      "{}.{}.{}.{}.{}.{}", run.step.number, c.site->microbatch.value, run.ranks.attention().dp,
      run.ranks.attention().cp, c.site->instance->layer.value, c.op.name);
  std::vector<QuantizedCopy> copies;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, c.out.size()); ++i) {
    const bool column = i == 1 || a.by_rows;
    const std::uint64_t bits = random_key(place + (column ? ".col" : ".row"), run.config.seed);
    const PhiloxKey key{static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32U)};
    copies.push_back({c.out[i], quantization_of(run.program.plan.precision, operand, column, key)});
  }
  return copies;
}

void quantize(const Call& c, Execution& run) {
  if (run.program.plan.precision == Precision::fp8_delayed) return quantize_delayed(c, run);
  run.kernels.quantize_copies(c.in[0], optional_operand(c.in, 1), quantized_copies(c, run));
}

void rms_norm_quantize(const Call& c, Execution& run) {
  run.kernels.rms_norm_quantize(c.in[0], optional_operand(c.in, 2), optional_operand(c.out, 3),
                                c.in[1], unstored(c, run), false, c.out[2], c.op.attr.eps,
                                quantized_copies(c, run));
}

void swiglu_quantize(const Call& c, Execution& run) {
  run.kernels.swiglu_quantize(c.in[0], optional_operand(c.in, 1), optional_operand(c.in, 2),
                              unstored(c, run), false, quantized_copies(c, run));
}

void transpose_codes(const Call& c, Execution& run) {
  run.device.enqueue_copy(c.out[0].data, c.in[0].data, std::ssize(codes(c.in[0])));
  *c.out[0].scales = *c.in[0].scales;
}

void quantize_weight(const Call& c, Execution& run) {
  const QuantizedCopy copy = narrow_copy(run, c.out[0], c.op.attr.by_rows);
  make_narrow_copies(run, c.in[0], c.site->program->tensor(c.op.in[0]), {&copy, 1});
}

void quantize_weights(const Call& c, Execution& run) {
  for (const ChunkProgram& chunk : run.stage.chunks) {
    for (const LayerInstance& instance : chunk.instances) {
      const LayerProgram& layer = run.stage.program(instance);
      for (std::size_t w = 0; w < layer.weights.size(); ++w) {
        const WeightSlot& slot = instance.slots[w];
        const BucketState& b = run.bucket(slot.bucket);
        if (slot.narrow < 0 || c.op.in[0] != b.weights) continue;
        const Tensor& tensor = layer.tensor(layer.weights[w].weight);
        const View weight = run.store.parameter(slot, tensor, BucketPart::weights, c.op.name);
        View from = weight;
        Block wide;  // where the codes take its place
        if (b.narrow_in_place) {
          wide = run.scratch.take_bytes(std::ssize(bytes(weight)));
          run.device.enqueue_copy(wide.data(), weight.data, wide.bytes());
          from.data = wide.data();
        }
        const auto copy = [&](bool column) {
          return narrow_copy(run, run.narrow.copy_of(slot, tensor, column, false), column);
        };
        const QuantizedCopy copies[] = {copy(false), copy(true)};
        make_narrow_copies(run, from, tensor, copies);
      }
    }
  }
}

void gather_quantized(const Call& c, Execution& run, Communicator& comm) {
  const View from = c.in[0], to = c.out[0];
  run.kernels.read_scales(from);
  const BlockScales& mine = *from.scales;
  BlockScales& all = *to.scales;
  comm.all_gather(codes(from), codes(to));
  all.format = mine.format;
  all.rule = mine.rule;
  all.block_cols = mine.block_cols;
  all.blocks_in_row = mine.blocks_in_row;
  gather_vector(comm, mine.scales, all.scales);
  gather_vector(comm, mine.group_scales, all.group_scales);
  all.block_of_row.clear();
  const auto blocks = static_cast<std::int32_t>(mine.group_scales.size());
  for (int r = 0; r < comm.size(); ++r) {
    for (const std::int32_t b : mine.block_of_row) all.block_of_row.push_back(r * blocks + b);
  }
  run.kernels.write_scales(to);
}

}  // namespace pleat::execute
