// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Prices on CPUs: cores that ranks share, conversions.
#include <gtest/gtest.h>

#include "simulator/cost/op_work.hpp"
#include "tests/simulator/fixtures.hpp"
#include "tests/simulator/op_cases.hpp"

namespace pleat {
namespace {

using test::gemm_case;
using test::ideal_profile;
using test::OpCase;
using test::round_cluster;
using test::uniform_view;

TEST(CpuPrice, SharedCores) {
  ClusterSpec cluster = round_cluster();
  cluster.shared_cores = 2;
  Profile profile = ideal_profile();
  profile.sharing_penalty = 1.1;
  const OpCase c = gemm_case();
  auto time = [&](int ranks) {
    return price_op(c.op, c.tensors, {}, uniform_view(cluster, {}, ranks), profile).time.base();
  };
  EXPECT_DOUBLE_EQ(time(1), 12e-3);
  EXPECT_DOUBLE_EQ(time(2), 12e-3);
  EXPECT_DOUBLE_EQ(time(4), 12e-3 * 2 * 1.1);
}

TEST(CpuPrice, ContentionOfAKernelWhereAllCoresWork) {
  ClusterSpec cluster = round_cluster();
  cluster.shared_cores = 3;
  Profile profile = ideal_profile();
  profile.sharing_penalty = 9;
  profile.kernels[static_cast<std::size_t>(KernelClass::gemm)].contention = 1.5;
  const OpCase c = gemm_case();
  auto time = [&](int ranks) {
    return price_op(c.op, c.tensors, {}, uniform_view(cluster, {}, ranks), profile).time.base();
  };
  EXPECT_DOUBLE_EQ(time(1), 12e-3);
  EXPECT_DOUBLE_EQ(time(2), 12e-3 * 1.25);  // half of the other cores
  EXPECT_DOUBLE_EQ(time(3), 12e-3 * 1.5);
  EXPECT_DOUBLE_EQ(time(6), 12e-3 * 1.5 * 2);
}

// Without arithmetic in bf16 the operands of a product are widened, its result is rounded.
TEST(CpuPrice, ACpuConvertsBf16) {
  ClusterSpec cluster = round_cluster();
  Profile profile = ideal_profile();
  profile.kernels[static_cast<std::size_t>(KernelClass::convert)].memory_efficiency = 0.5;
  profile.kernels[static_cast<std::size_t>(KernelClass::dequantize)].memory_efficiency = 0.25;
  OpCase c = gemm_case();
  const auto time = [&] {
    return price_op(c.op, c.tensors, {}, uniform_view(cluster, {}), profile).time.base();
  };
  EXPECT_DOUBLE_EQ(time(), 12e-3);
  cluster.shared_cores = 2;
  EXPECT_DOUBLE_EQ(time(), 12e-3);  // it has such arithmetic
  cluster.gpu.peak_bf16 = FlopsPerSecond(0);
  double elements = 0;
  for (const Tensor& t : c.tensors) elements += static_cast<double>(t.elements({}));
  EXPECT_DOUBLE_EQ(time(), 12e-3 + 6 * elements / 0.5e12);
  c.op.attr.math = DType::fp8;  // two operands of codes
  const double result = static_cast<double>(c.tensors[c.op.out[0].index()].elements({}));
  EXPECT_DOUBLE_EQ(time(), 12e-3 + 6 * result / 0.5e12 + 5 * (elements - result) / 0.25e12);
}

}  // namespace
}  // namespace pleat
