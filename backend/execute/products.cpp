// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/execute/products.hpp"

#include "backend/execute/execution.hpp"

namespace pleat::execute {
namespace {

// Whether the product that makes a weight's gradient reads rows that a Hadamard matrix has mixed.
bool reads_mixed_rows(const Op& op) { return op.attr.math == DType::nvfp4; }

// What a bias' gradient is the sum of: the product's own rows, or where these are mixed their
// row-wise copy, the last operand.
View bias_gradient_operand(const Call& c) { return reads_mixed_rows(c.op) ? c.in.back() : c.in[0]; }

}  // namespace

void gemm(const Call& c, Execution& run) {
  const OpAttributes& a = c.op.attr;
  run.kernels.gemm(c.in[0], a.transpose_a, run.narrow.second_operand(c), a.transpose_b, c.out[0],
                   adds(c.op, c.site));
  const View bias = a.transpose_a ? View{} : optional_operand(c.in, 2);
  if (bias.data != nullptr) run.kernels.add_bias(bias, a.bias_scale, c.out[0]);
  const View dbias = optional_operand(c.out, 1);
  if (dbias.data != nullptr) {
    run.kernels.add_bias_bwd(bias_gradient_operand(c), a.bias_scale, dbias);
  }
}

void grouped_gemm(const Call& c, Execution& run) {
  const OpAttributes& a = c.op.attr;
  const auto& in = c.in;
  if (a.transpose_a) {  // the gradient of the experts' weights, and of their biases
    run.kernels.grouped_wgrad(in[0], in[1], in[2], c.out[0], adds(c.op, c.site));
    const View dbias = optional_operand(c.out, 1);
    if (dbias.data == nullptr) return;
    const auto own = in.first(in.size() - (reads_mixed_rows(c.op) ? 1 : 0));
    return run.kernels.grouped_bias_bwd(bias_gradient_operand(c), in[2], optional_operand(own, 3),
                                        dbias);
  }
  run.kernels.grouped_gemm(in[0], run.narrow.second_operand(c), a.transpose_b, in[2], c.out[0]);
  const View bias = optional_operand(in, 3), dprobs = optional_operand(c.out, 1);
  if (a.transpose_b && bias.data != nullptr) {
    run.kernels.grouped_bias(bias, in[2], optional_operand(in, 4), a.bias_scale, c.out[0]);
  }
  if (dprobs.data != nullptr) {
    run.kernels.grouped_bias_probs(in[0], bias, in[2], a.bias_scale, dprobs);
  }
}

}  // namespace pleat::execute
