// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Matrix products, dense and grouped: flops from m, n, k, bytes from the operands. Grouped products
// count the rows of all local experts together. Operands wider than the arithmetic are counted in
// its type: a narrow copy of the weight is kept, of the activation the quantize op makes one.
#include <algorithm>

#include "simulator/cost/op_work.hpp"

namespace pleat {
namespace {

// What the operands take less in the type of the arithmetic.
double saved_bytes(const Op& op, const std::vector<Tensor>& tensors, const Binding& binding) {
  if (op.attr.math == DType::fp32 || op.attr.math == DType::bf16) return 0;
  double saved = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(2, op.in.size()); ++i) {
    const Tensor& t = tensors[op.in[i].index()];
    const std::int64_t elements = t.elements(binding);
    const std::int64_t narrow = bytes_of(op.attr.math, elements);
    saved += static_cast<double>(std::max<std::int64_t>(0, bytes_of(t.dtype, elements) - narrow));
  }
  return saved;
}

}  // namespace

OpWork gemm_work(const Op& op, const std::vector<Tensor>& tensors, const Binding& binding) {
  const double m = static_cast<double>(binding.value(op.attr.m));
  const double n = static_cast<double>(binding.value(op.attr.n));
  const double k = static_cast<double>(binding.value(op.attr.k));
  const Bytes saved(saved_bytes(op, tensors, binding));
  return {.kernel = op.kind == OpKind::grouped_gemm ? KernelClass::grouped_gemm : KernelClass::gemm,
          .flops = Flops(2.0 * m * n * k),
          .bytes = operand_bytes(op, tensors, binding) - saved};
}

}  // namespace pleat
