// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Single operations with their tensors.
#pragma once

#include <utility>
#include <vector>

#include "core/program/op.hpp"
#include "core/program/tensor.hpp"

namespace pleat::test {

struct OpCase {
  std::vector<Tensor> tensors;
  Op op;
  TensorId add(std::vector<Dim> shape, DType type = DType::bf16) {
    tensors.push_back({"t", TensorClass::activation, type, std::move(shape)});
    return TensorId{static_cast<int>(tensors.size()) - 1};
  }
};

// 1000 x 3000 by 2000, in bf16.
inline OpCase gemm_case() {
  OpCase c;
  c.op.kind = OpKind::gemm;
  c.op.in = {c.add({{1000}, {2000}}), c.add({{3000}, {2000}})};
  c.op.out = {c.add({{1000}, {3000}})};
  c.op.attr.m = {1000};
  c.op.attr.n = {3000};
  c.op.attr.k = {2000};
  c.op.attr.math = DType::bf16;
  return c;
}

}  // namespace pleat::test
