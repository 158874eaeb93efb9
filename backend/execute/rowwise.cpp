// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/rowwise.hpp"

#include <fmt/format.h>

#include "backend/execute/execution.hpp"
#include "backend/execute/not_executed.hpp"
#include "backend/runtime/execution_error.hpp"
#include "backend/runtime/views.hpp"

namespace pleat::execute {
namespace {

AttentionShape packed_heads(const OpAttributes& a) {
  return {a.batch, a.seq, a.heads, a.kv_groups, a.head_dim, a.scale, a.v_dim};
}

// Of the second operand, the probabilities, when fc2's bias counts with them too.
void add_gradient_so_far(const Call& c, Execution& run) {
  const View so_far = optional_operand(c.in, 3);
  if (so_far.data != nullptr) run.kernels.add(c.out[1], so_far, {}, c.out[1]);
}

// What the operation names of a step's tensor; the whole of it by default.
View named_part(const Op& op, View whole) {
  if (op.attr.n == Dim{}) return whole;
  if (op.attr.first + op.attr.n.n > whole.elements()) {
    throw ExecutionError(fmt::format("operation '{}': elements [{}, {}) of {}", op.name,
                                     op.attr.first, op.attr.first + op.attr.n.n, whole.elements()));
  }
  return elements_of(whole, op.attr.first, op.attr.n.n);
}

}  // namespace

void rms_norm(const Call& c, Execution& run) {
  const auto &in = c.in, &out = c.out;
  run.kernels.rms_norm(in[0], in[1], out[0], out[1], c.op.attr.eps);
}

void rms_norm_bwd(const Call& c, Execution& run) {
  const auto &in = c.in, &out = c.out;
  run.kernels.rms_norm_bwd(in[0], in[1], in[2], in[3], optional_operand(in, 4), out[0], out[1]);
}

void layer_norm(const Call& c, Execution& run) {
  const auto &in = c.in, &out = c.out;
  run.kernels.layer_norm(in[0], in[1], out[0], out[1], c.op.attr.eps);
}

void layer_norm_bwd(const Call& c, Execution& run) {
  const auto &in = c.in, &out = c.out;
  run.kernels.layer_norm_bwd(in[0], in[1], in[2], in[3], optional_operand(in, 4), out[0], out[1]);
}

void head_norm(const Call& c, Execution& run) {
  const auto &in = c.in, &out = c.out;
  run.kernels.head_norm(in[0], in[1], in[2], out[0], out[1], packed_heads(c.op.attr),
                        c.op.attr.eps);
}

void head_norm_bwd(const Call& c, Execution& run) {
  const auto &in = c.in, &out = c.out;
  run.kernels.head_norm_bwd(in[0], in[1], in[2], in[3], in[4], out[0], out[1], out[2],
                            packed_heads(c.op.attr));
}

void slice_norm(const Call& c, Execution& run) {
  const auto &in = c.in, &out = c.out;
  run.kernels.slice_norm(in[0], in[1], out[0], out[1], c.op.attr.eps);
}

void slice_norm_bwd(const Call& c, Execution& run) {
  const auto &in = c.in, &out = c.out;
  run.kernels.slice_norm_bwd(in[0], in[1], in[2], in[3], out[0], out[1]);
}

void add(const Call& c, Execution& run) {
  run.kernels.add(c.in[0], c.in[1], optional_operand(c.in, 2), c.out[0]);
}

void swiglu(const Call& c, Execution& run) {
  if (c.op.attr.function != Elementwise::none) return pointwise(c, run);
  run.kernels.swiglu(c.in[0], optional_operand(c.in, 1), c.out[0]);
}

void swiglu_bwd(const Call& c, Execution& run) {
  if (c.op.attr.function != Elementwise::none) return pointwise_bwd(c, run);
  run.kernels.swiglu_bwd(c.in[0], c.in[1], optional_operand(c.in, 2), c.out[0],
                         optional_operand(c.out, 1));
  add_gradient_so_far(c, run);
}

void gelu(const Call& c, Execution& run) { run.kernels.gelu(c.in[0], c.out[0]); }

void gelu_bwd(const Call& c, Execution& run) { run.kernels.gelu_bwd(c.in[0], c.in[1], c.out[0]); }

void sigmoid_gate(const Call& c, Execution& run) {
  run.kernels.sigmoid_gate(c.in[0], c.in[1], c.out[0]);
}

void sigmoid_gate_bwd(const Call& c, Execution& run) {
  run.kernels.sigmoid_gate_bwd(c.in[0], c.in[1], c.in[2], c.out[0], c.out[1]);
}

void pointwise(const Call& c, Execution& run) {
  if (c.op.attr.function == Elementwise::none) return not_executed(c, run);
  run.kernels.pointwise(c.op.attr.function, c.in[0], optional_operand(c.in, 1), c.out[0]);
}

void pointwise_bwd(const Call& c, Execution& run) {
  if (c.op.attr.function == Elementwise::none) return not_executed(c, run);
  run.kernels.pointwise_bwd(c.op.attr.function, c.in[0], c.in[1], optional_operand(c.in, 2),
                            c.out[0], optional_operand(c.out, 1));
  add_gradient_so_far(c, run);
}

void concat_columns(const Call& c, Execution& run) {
  run.kernels.concat_columns(c.in[0], c.in[1], c.out[0]);
}

void concat_columns_bwd(const Call& c, Execution& run) {
  run.kernels.concat_columns_bwd(c.in[0], c.out[0], c.out[1]);
}

void concat_rows(const Call& c, Execution& run) {
  for (std::int64_t row = 0; const View& part : c.in) {
    run.kernels.copy(part, rows_of(c.out[0], row, part.rows));
    row += part.rows;
  }
}

void concat_rows_bwd(const Call& c, Execution& run) {
  for (std::int64_t row = 0; const View& part : c.out) {
    run.kernels.copy(rows_of(c.in[0], row, part.rows), part);
    row += part.rows;
  }
}

void zero(const Call& c, Execution& run) {
  run.kernels_at(c.out[0]).zero(named_part(c.op, c.out[0]));
}

void copy(const Call& c, Execution& run) { run.kernels.copy(c.in[0], c.out[0]); }

}  // namespace pleat::execute
