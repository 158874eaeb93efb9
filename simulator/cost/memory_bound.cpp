// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Operations bound by memory: the bytes of every operand, except where a kernel touches only some
// rows or columns of it.
#include <algorithm>

#include "simulator/cost/op_work.hpp"

namespace pleat {
namespace {

double bytes_of_operand(const std::vector<Tensor>& tensors, TensorId id, const Binding& binding) {
  return static_cast<double>(tensors[id.index()].bytes(binding));
}

// `columns` of every row of the operand.
double bytes_of_columns(const std::vector<Tensor>& tensors, TensorId id, const Binding& binding,
                        std::int64_t columns) {
  const std::int64_t all = std::max<std::int64_t>(1, tensors[id.index()].columns(binding));
  return bytes_of_operand(tensors, id, binding) *
         static_cast<double>(std::min(columns, all)) / static_cast<double>(all);
}

// As many elements as `like` has, in the type of the operand: rows of a table picked by tokens.
double bytes_of_rows(const std::vector<Tensor>& tensors, TensorId id, TensorId like,
                     const Binding& binding) {
  return static_cast<double>(
      bytes_of(tensors[id.index()].dtype, tensors[like.index()].elements(binding)));
}

}  // namespace

Bytes operand_bytes(const Op& op, const std::vector<Tensor>& tensors, const Binding& binding) {
  double bytes = 0;
  for (TensorId id : op.in) bytes += bytes_of_operand(tensors, id, binding);
  for (TensorId id : op.out) bytes += bytes_of_operand(tensors, id, binding);
  if (op.attr.accumulate && !op.out.empty() && std::ranges::count(op.in, op.out.front()) == 0) {
    bytes += bytes_of_operand(tensors, op.out.front(), binding);
  }
  return Bytes(bytes);
}

OpWork memory_bound_work(const Op& op, const std::vector<Tensor>& tensors,
                         const Binding& binding) {
  double bytes = operand_bytes(op, tensors, binding).base();
  if (op.kind == OpKind::embedding) {  // tokens, W -> x: one row of W per token
    bytes += bytes_of_rows(tensors, op.in[1], op.out[0], binding) -
             bytes_of_operand(tensors, op.in[1], binding);
  } else if (op.kind == OpKind::embedding_bwd) {  // dx, tokens -> dW: rows read and written
    bytes = bytes_of_operand(tensors, op.in[0], binding) +
            bytes_of_operand(tensors, op.in[1], binding) +
            2.0 * bytes_of_rows(tensors, op.out[0], op.in[0], binding);
  } else if (op.kind == OpKind::slice_norm && op.attr.width > 0) {  // the first r columns of x
    bytes += bytes_of_columns(tensors, op.in[0], binding, op.attr.width) -
             bytes_of_operand(tensors, op.in[0], binding);
  } else if ((op.kind == OpKind::rope || op.kind == OpKind::rope_bwd) && op.attr.rope_dim > 0) {
    // Packed qkv rotates its n q and g k heads; MLA rotates one slice in each of its heads.
    const bool packed_qkv = op.attr.nope_dim == 0;
    const std::int64_t heads = op.attr.heads + (packed_qkv ? op.attr.kv_groups : 0);
    const std::int64_t rotated = std::max<std::int64_t>(1, heads) * op.attr.rope_dim;
    bytes = 2.0 * bytes_of_columns(tensors, op.out[0], binding, rotated);
  }
  return {.kernel = KernelClass::memory_bound, .flops = Flops(0), .bytes = Bytes(bytes)};
}

}  // namespace pleat
