// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Causal attention: half of the score matrix is computed. Forward is two products, backward five
// (docs/MODEL.md section 7.2): 2 b s^2 n (dqk + dv)/2 and 2 b s^2 n (3 dqk + 2 dv)/2.
// With a window of W keys W - W(W-1)/(2s) are read on average instead of s/2. Recurrences and
// attention over selected keys say their work themselves.
#include <algorithm>

#include "simulator/cost/op_work.hpp"

namespace pleat {

namespace {

double keys_per_query(const OpAttributes& attr) {
  // Packed: the document a token lies in stands for all.
  const double all = static_cast<double>(attr.seq), w = static_cast<double>(attr.window);
  const double s = attr.packed > 0 ? std::min(attr.packed, all) : all;
  return attr.window == 0 || w >= s ? s / 2.0 : w - w * (w - 1.0) / (2.0 * s);
}

}  // namespace

OpWork attention_work(const Op& op, const std::vector<Tensor>& tensors, const Binding& binding) {
  if (op.kind == OpKind::token_mixing || op.kind == OpKind::token_mixing_bwd) {
    return {.kernel = op.kind == OpKind::token_mixing ? KernelClass::attention_fwd
                                                      : KernelClass::attention_bwd,
            .flops = Flops(op.attr.flops),
            .bytes = operand_bytes(op, tensors, binding)};
  }
  const bool mla = op.kind == OpKind::mla_attention || op.kind == OpKind::mla_attention_bwd;
  const bool backward =
      op.kind == OpKind::attention_bwd || op.kind == OpKind::mla_attention_bwd;
  const double dqk = static_cast<double>(mla ? op.attr.nope_dim + op.attr.rope_dim
                                             : op.attr.head_dim);
  const double dv = op.attr.v_dim > 0 ? static_cast<double>(op.attr.v_dim) : dqk;
  PLEAT_ASSERT(dqk > 0 && op.attr.seq > 0);
  // o (forward result) and do (backward operand) are [S, n*dv] on this rank: local tokens, each of
  // them reading so many keys; the columns give the local heads.
  const TensorId o = backward ? op.in.front() : op.out.front();
  const Tensor& output = tensors[o.index()];
  const double rows = static_cast<double>(output.rows(binding));
  const double heads = static_cast<double>(output.columns(binding)) / dv;
  const double parts = static_cast<double>(std::max<std::int64_t>(1, op.attr.pieces));
  const double scores = rows * keys_per_query(op.attr) * heads / parts;
  const double per_score = backward ? 3.0 * dqk + 2.0 * dv : dqk + dv;
  return {.kernel = backward ? KernelClass::attention_bwd : KernelClass::attention_fwd,
          .flops = Flops(2.0 * scores * per_score),
          .bytes = operand_bytes(op, tensors, binding)};
}

}  // namespace pleat
