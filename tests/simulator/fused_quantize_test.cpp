// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Prices of norms and SwiGLU that quantise what they make: what their kernels read and write.
#include <gtest/gtest.h>

#include "simulator/cost/op_work.hpp"
#include "tests/simulator/fixtures.hpp"
#include "tests/simulator/op_cases.hpp"

namespace pleat {
namespace {

using test::OpCase;
using test::uniform_view;

constexpr double kRows = 1000, kColumns = 4096, kElements = kRows * kColumns;

// Codes are fp8's: a byte an element.
struct Fused : OpCase {
  TensorId x, row, col, wide;
  Fused() {
    wide = add({{1000}, {4096}});
    row = add({{1000}, {4096}}, DType::fp8);
    col = add({{1000}, {4096}}, DType::fp8);
    op.attr.source = wide;
  }
};

struct Norm : Fused {
  TensorId w, rstd;
  explicit Norm(bool adds) {
    op.kind = OpKind::rms_norm_quantize;
    x = add({{1000}, {4096}});
    w = add({{4096}});
    rstd = add({{1000}}, DType::fp32);
    op.in = {x, w};
    op.out = {row, col, rstd};
    if (!adds) return;
    op.in.push_back(add({{1000}, {4096}}));
    op.out.push_back(add({{1000}, {4096}}));
  }
};

struct Swiglu : Fused {
  explicit Swiglu(bool routed) {
    op.kind = OpKind::swiglu_quantize;
    op.in = {add({{1000}, {2 * 4096}})};
    op.out = {row, col};
    if (!routed) return;
    op.in.push_back(add({{1000}}, DType::fp32));
    op.in.push_back(add({{8}}, DType::i32));
  }
};

// 1 TB/s, half of it in norms, a quarter where codes are made; 1 and 2 us for a kernel.
class FusedQuantize : public testing::Test {
 protected:
  FusedQuantize() : cluster_(test::round_cluster()), profile_(test::ideal_profile()) {
    of(KernelClass::norm).memory_efficiency = of(KernelClass::activation).memory_efficiency = 0.5;
    of(KernelClass::quantize).memory_efficiency = 0.25;
    of(KernelClass::norm).fixed = Seconds(1e-6);
    of(KernelClass::quantize).fixed = Seconds(2e-6);
    of(KernelClass::quantize).source = SourceClass::interpolated;
  }
  EfficiencyCurve& of(KernelClass k) { return profile_.kernels[static_cast<std::size_t>(k)]; }
  OpCost cost(const OpCase& c) const { return cost(c, c.op); }
  OpCost cost(const OpCase& c, const Op& op) const {
    return price_op(op, c.tensors, {}, uniform_view(cluster_, {}), profile_);
  }

  ClusterSpec cluster_;
  Profile profile_;
};

TEST_F(FusedQuantize, ANormReadsItsInputTwiceAndWritesNothingWide) {
  const OpCost c = cost(Norm(false));
  const double statistics = 2 * kElements + 4 * kRows;
  const double codes = 2 * kElements + 2 * kColumns + 4 * kRows + 2 * kElements;
  EXPECT_DOUBLE_EQ(c.bytes.base(), statistics + codes);
  EXPECT_DOUBLE_EQ(c.time.base(), 3e-6 + statistics / 0.5e12 + codes / 0.25e12);
  EXPECT_EQ(c.source, SourceClass::fitted);  // the worse of two
  EXPECT_EQ(c.cls, CostClass::memory_bound);
}

TEST_F(FusedQuantize, ANormThatAddsReadsBothTermsAndTheSum) {
  const OpCost c = cost(Norm(true));
  const double statistics = 6 * kElements + 4 * kRows;
  const double codes = 2 * kElements + 2 * kColumns + 4 * kRows + 2 * kElements;
  EXPECT_DOUBLE_EQ(c.bytes.base(), statistics + codes);
  EXPECT_DOUBLE_EQ(c.time.base(), 3e-6 + statistics / 0.5e12 + codes / 0.25e12);
}

TEST_F(FusedQuantize, SwigluReadsGateAndUpOnce) {
  EXPECT_DOUBLE_EQ(cost(Swiglu(false)).bytes.base(), 6 * kElements);
  const OpCost c = cost(Swiglu(true));
  EXPECT_DOUBLE_EQ(c.bytes.base(), 6 * kElements + 4 * kRows + 4 * 8);
  EXPECT_DOUBLE_EQ(c.time.base(), 2e-6 + (6 * kElements + 4 * kRows + 4 * 8) / 0.25e12);
}

// The CPU's kernels make what they quantise first: as long as one after the other, conversions too.
TEST_F(FusedQuantize, OnACpuAsLongAsTheParts) {
  cluster_.shared_cores = 2;
  cluster_.gpu.peak_bf16 = FlopsPerSecond(0);
  const Norm norm(true);
  Op sum, make, quantize;
  sum.kind = OpKind::add;
  sum.in = {norm.op.in[0], norm.op.in[2]};
  sum.out = {norm.op.out[3]};
  make.kind = OpKind::rms_norm;
  make.in = {norm.op.out[3], norm.w};
  make.out = {norm.wide, norm.rstd};
  quantize.kind = OpKind::quantize;
  quantize.in = {norm.wide};
  quantize.out = {norm.row, norm.col};
  EXPECT_DOUBLE_EQ(cost(norm).time.base(), cost(norm, sum).time.base() +
                                               cost(norm, make).time.base() +
                                               cost(norm, quantize).time.base());
  const Swiglu swiglu(true);
  make.kind = OpKind::swiglu_prob;
  make.in = {swiglu.op.in[0], swiglu.op.in[1]};
  make.out = {swiglu.wide};
  quantize.in = {swiglu.wide, swiglu.op.in[2]};
  quantize.out = {swiglu.row, swiglu.col};
  EXPECT_DOUBLE_EQ(cost(swiglu).time.base(),
                   cost(swiglu, make).time.base() + cost(swiglu, quantize).time.base());
}

}  // namespace
}  // namespace pleat
