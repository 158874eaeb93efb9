// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Matrix products, dense and grouped: flops from m, n, k, bytes from the operands. Grouped products
// count the rows of all local experts together.
#include "simulator/cost/op_work.hpp"

namespace pleat {

OpWork gemm_work(const Op& op, const std::vector<Tensor>& tensors, const Binding& binding) {
  const double m = static_cast<double>(binding.value(op.attr.m));
  const double n = static_cast<double>(binding.value(op.attr.n));
  const double k = static_cast<double>(binding.value(op.attr.k));
  return {.kernel = op.kind == OpKind::grouped_gemm ? KernelClass::grouped_gemm : KernelClass::gemm,
          .flops = Flops(2.0 * m * n * k),
          .bytes = operand_bytes(op, tensors, binding)};
}

}  // namespace pleat
