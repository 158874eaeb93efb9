// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The work of attention that does not read every key.
#include <gtest/gtest.h>

#include "simulator/cost/op_work.hpp"

namespace pleat {
namespace {

struct WindowCase {
  std::vector<Tensor> tensors;
  Op op;
};

// b 2, s 256, 8 heads, d 64, on half of the context.
WindowCase attention_case(OpKind kind, std::int64_t window) {
  WindowCase c;
  c.tensors = {{"qkv", TensorClass::activation, DType::bf16, {{256}, {3 * 8 * 64}}},
               {"o", TensorClass::activation, DType::bf16, {{256}, {8 * 64}}}};
  c.op.kind = kind;
  c.op.in = {TensorId{0}};
  c.op.out = {TensorId{1}};
  c.op.attr.batch = 2;
  c.op.attr.seq = 256;
  c.op.attr.head_dim = c.op.attr.v_dim = 64;
  c.op.attr.window = window;
  return c;
}

double flops(const WindowCase& c) { return attention_work(c.op, c.tensors, {}).flops.base(); }

TEST(AttentionWindow, CountsTheKeysInside) {
  const double per_key = 2.0 * 256 * 8 * (64 + 64);
  EXPECT_DOUBLE_EQ(flops(attention_case(OpKind::attention, 0)), per_key * 128);
  EXPECT_DOUBLE_EQ(flops(attention_case(OpKind::attention, 256)), per_key * 128);
  EXPECT_DOUBLE_EQ(flops(attention_case(OpKind::attention, 16)),
                   per_key * (16 - 16.0 * 15 / (2 * 256)));
  EXPECT_DOUBLE_EQ(flops(attention_case(OpKind::attention, 1)), per_key);
}

TEST(AttentionWindow, TokenMixingSaysItsWork) {
  WindowCase c = attention_case(OpKind::token_mixing, 0);
  c.op.attr.flops = 1e9;
  EXPECT_DOUBLE_EQ(flops(c), 1e9);
  EXPECT_DOUBLE_EQ(attention_work(c.op, c.tensors, {}).bytes.base(), 2.0 * 256 * 4 * 8 * 64);
  EXPECT_EQ(attention_work(c.op, c.tensors, {}).kernel, KernelClass::attention_fwd);
}

}  // namespace
}  // namespace pleat
