// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Laws and tables in the price of an op, against values worked out by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "simulator/cost/op_work.hpp"
#include "tests/simulator/fixtures.hpp"

namespace pleat {
namespace {

using test::ideal_profile;
using test::round_cluster;
using test::uniform_view;

// 4 processors of 250 GFLOP/s, one tile of 100 x 100.
GemmLaw round_law() {
  GemmLaw law;
  law.rate = FlopsPerSecond(1e12);
  law.bandwidth = BytesPerSecond(1e30);  // arithmetic decides
  law.source = SourceClass::measured;
  return law;
}
const std::vector<GemmTile> kTile = {{100, 100}};

TEST(GemmLaw, WavesOfTilesWithTheirPadding) {
  const GemmLaw law = round_law();
  const auto time = [&](double m, double n, double k) {
    return law_time(law, kTile, 4, {.m = m, .n = n, .k = k}, Bytes(0), 1.0).base();
  };
  EXPECT_DOUBLE_EQ(time(200, 200, 1000), 2 * 1e4 * 1000 / 0.25e12);  // one wave
  EXPECT_DOUBLE_EQ(time(1, 1, 1000), 2 * 1e4 * 1000 / 0.25e12);      // as long as a full one
  EXPECT_DOUBLE_EQ(time(201, 200, 1000), 2 * time(200, 200, 1000));  // 6 tiles: two waves
  EXPECT_DOUBLE_EQ(time(400, 200, 1000), 2 * time(200, 200, 1000));
  EXPECT_DOUBLE_EQ(time(0, 200, 1000), 0);
}

TEST(GemmLaw, EachConstant) {
  const GemmShape shape{.m = 300, .n = 200, .k = 1000};  // 6 tiles, 1.5 waves
  const double wave = 2 * 1e4 * 1000 / 0.25e12;
  const auto time = [&](const GemmLaw& law, Bytes bytes = Bytes(0), double speed = 1) {
    return law_time(law, kTile, 4, shape, bytes, speed).base();
  };
  GemmLaw law = round_law();
  law.wave = 0.5;  // half of the idle half wave is paid
  EXPECT_DOUBLE_EQ(time(law), 1.75 * wave);
  EXPECT_DOUBLE_EQ(time(law, Bytes(0), 0.5), 3.5 * wave);
  law = round_law();
  law.depth = 100;
  EXPECT_DOUBLE_EQ(time(law), 2 * wave * 1.1);
  law = round_law();
  law.fixed = Seconds(1e-6);
  EXPECT_DOUBLE_EQ(time(law), 1e-6 + 2 * wave);
  law = round_law();
  law.bandwidth = BytesPerSecond(1e12);
  const Bytes bytes(2 * wave * 1e12);  // memory takes as long as arithmetic
  EXPECT_DOUBLE_EQ(time(law, bytes), 2 * wave * std::pow(2.0, 0.25));
}

TEST(GemmLaw, TheBestTileIsChosen) {
  GemmLaw law = round_law();
  law.tile_exponent = 1;
  const std::vector<GemmTile> tiles = {{100, 100}, {50, 100}};
  const auto time = [&](double m) {
    return law_time(law, tiles, 4, {.m = m, .n = 100, .k = 1000}, Bytes(0), 1.0).base();
  };
  const double wave = 2 * 1e4 * 1000 / 0.25e12;
  EXPECT_DOUBLE_EQ(time(400), wave);      // the large tile: no loss
  EXPECT_DOUBLE_EQ(time(50), wave);       // the small one does half the work at half the rate
  law.tile_exponent = 0;
  EXPECT_DOUBLE_EQ(time(50), wave / 2);
}

TEST(GemmLaw, AnArithmeticThatIsMissingIsReplaced) {
  GemmLaws laws;
  EXPECT_EQ(laws.find(GemmMath::fp8), nullptr);
  auto& bf16 = laws.by_math[static_cast<std::size_t>(GemmMath::bf16)];
  auto& block = laws.by_math[static_cast<std::size_t>(GemmMath::fp8_block)];
  bf16.rate = FlopsPerSecond(1);
  EXPECT_EQ(laws.find(GemmMath::nvfp4), &bf16);
  block.rate = FlopsPerSecond(1);
  EXPECT_EQ(laws.find(GemmMath::mxfp8), &block);
  EXPECT_EQ(laws.find(GemmMath::fp8), &bf16);
}

struct LawCase {
  std::vector<Tensor> tensors;
  Op op;
  TensorId add(std::vector<Dim> shape, DType type = DType::bf16) {
    tensors.push_back({"t", TensorClass::activation, type, std::move(shape)});
    return TensorId{static_cast<int>(tensors.size()) - 1};
  }
};

Profile law_profile() {
  Profile p = ideal_profile();
  p.gemm.tiles = kTile;
  p.gemm.by_math[static_cast<std::size_t>(GemmMath::bf16)] = round_law();
  p.gemm.grouped = {.forward_per_expert = Seconds(1e-6),
                    .backward_per_expert = Seconds(2e-6),
                    .wgrad_per_expert = Seconds(3e-6),
                    .wgrad_rate = 0.5,
                    .row_multiple = 50};
  return p;
}

ClusterSpec four_processors() {
  ClusterSpec c = round_cluster();
  c.gpu.sms = 4;
  return c;
}

LawCase product(OpKind kind, Dim m, std::int64_t n, std::int64_t k) {
  LawCase c;
  c.op.kind = kind;
  c.op.in = {c.add({m, {k}}), c.add({{n}, {k}})};
  c.op.out = {c.add({m, {n}})};
  c.op.attr.m = m;
  c.op.attr.n = {n};
  c.op.attr.k = {k};
  c.op.attr.math = DType::bf16;
  return c;
}

TEST(GemmPrice, LawTimesCorrectionTimesClock) {
  const ClusterSpec cluster = four_processors();
  const LawCase c = product(OpKind::gemm, {200}, 200, 1000);
  Profile p = law_profile();
  const auto price = [&] { return price_op(c.op, c.tensors, {}, uniform_view(cluster, {}), p); };
  const double wave = 2 * 1e4 * 1000 / 0.25e12;
  EXPECT_DOUBLE_EQ(price().time.base(), wave);
  EXPECT_EQ(price().source, SourceClass::measured);
  p.sustained_clock.gemm_bf16 = 0.8;
  p.sustained_clock.gemm_fp8 = 0.1;
  EXPECT_DOUBLE_EQ(price().time.base(), wave / 0.8);
  GemmTable table;
  table.log_m = table.log_n = table.log_k = {std::log(100.0), std::log(1000.0)};
  table.grid.assign(8, 0.25f);
  p.gemm.by_math[0].corrections.pointer = std::make_shared<const GemmTable>(table);
  EXPECT_NEAR(price().time.base(), wave / 0.8 * std::exp(0.25), 1e-12);
  EXPECT_EQ(price().source, SourceClass::interpolated);
  p.gemm.by_math[0].source = SourceClass::fitted;  // another GPU's table
  EXPECT_EQ(price().source, SourceClass::fitted);
}

TEST(GemmPrice, GroupsShareTheWavesAndPayALaunchEach) {
  const ClusterSpec cluster = four_processors();
  LawCase c = product(OpKind::grouped_gemm, {1, Symbol::routed}, 100, 1000);
  c.op.attr.local_experts = 4;
  Profile p = law_profile();
  const auto time = [&](std::int64_t routed) {
    return price_op(c.op, c.tensors, {.routed = routed}, uniform_view(cluster, {}), p).time.base();
  };
  const double wave = 2 * 1e4 * 1000 / 0.25e12;
  EXPECT_DOUBLE_EQ(time(400), 4e-6 + wave);      // one tile an expert
  EXPECT_DOUBLE_EQ(time(404), 4e-6 + 2 * wave);  // 101 rows: padded to 150, two tiles
  c.op.phase = Phase::backward;
  EXPECT_DOUBLE_EQ(time(400), 8e-6 + wave);
  // The weight gradient: rows and columns are whole, the depth is shared.
  c.op.attr.m = {100};
  c.op.attr.k = {1, Symbol::routed};
  c.op.attr.transpose_a = true;
  EXPECT_NEAR(time(4000), 12e-6 + 2 * wave, 1e-15);
  p.grouped_launches = 0;  // one kernel for all experts
  EXPECT_NEAR(time(4000), 2 * wave, 1e-15);
}

TEST(GemmPrice, OneExpertIsAnOrdinaryProduct) {
  const ClusterSpec cluster = four_processors();
  const Profile p = law_profile();
  const auto time = [&](OpKind kind) {
    LawCase c = product(kind, {100}, 100, 4000);
    c.op.attr.local_experts = 1;
    c.op.attr.transpose_a = true;
    return price_op(c.op, c.tensors, {}, uniform_view(cluster, {}), p).time.base();
  };
  EXPECT_DOUBLE_EQ(time(OpKind::grouped_gemm), time(OpKind::gemm));
}

TEST(GemmPrice, NarrowArithmeticReadsNarrowOperands) {
  LawCase c = product(OpKind::gemm, {200}, 300, 400);
  c.op.attr.math = DType::fp8;
  EXPECT_DOUBLE_EQ(gemm_work(c.op, c.tensors, {}).bytes.base(),
                   200 * 400 + 300 * 400 + 2.0 * 200 * 300);
  c.op.attr.math = DType::fp32;
  EXPECT_DOUBLE_EQ(gemm_work(c.op, c.tensors, {}).bytes.base(),
                   2.0 * (200 * 400 + 300 * 400 + 200 * 300));
}

// b 1, 8 heads of 128; 1024 tokens: 32 blocks of queries.
LawCase attention(std::int64_t tokens) {
  LawCase c;
  c.op.kind = OpKind::attention;
  c.op.in = {c.add({{tokens}, {3072}})};
  c.op.out = {c.add({{tokens}, {1024}})};
  c.op.attr.seq = tokens;
  c.op.attr.head_dim = 128;
  return c;
}

TEST(AttentionPrice, RateOfTheLengthTimesOccupancy) {
  ClusterSpec cluster = four_processors();
  cluster.gpu.memory_bandwidth = BytesPerSecond(1e30);
  Profile p = ideal_profile();
  AttentionRate& rate = p.attention[0][0][0];
  rate.log_seq = {std::log(1024.0), std::log(4096.0)};
  rate.rate = {1e12, 3e12};
  rate.source = SourceClass::measured;
  const auto price = [&](std::int64_t tokens) {
    const LawCase c = attention(tokens);
    return price_op(c.op, c.tensors, {}, uniform_view(cluster, {}), p);
  };
  const auto flops = [](double s) { return 2.0 * s * s * 8 * (128 + 128) / 2; };
  EXPECT_NEAR(price(1024).time.base(), flops(1024) / 1e12, 1e-12);
  EXPECT_EQ(price(1024).source, SourceClass::measured);
  EXPECT_NEAR(price(2048).time.base(), flops(2048) / 2e12, 1e-12);
  EXPECT_EQ(price(2048).source, SourceClass::interpolated);
  EXPECT_NEAR(price(16384).time.base(), flops(16384) / 3e12, 1e-9);
  cluster.gpu.sms = 32;  // 32 blocks for 2 x 32 places
  EXPECT_NEAR(price(1024).time.base(), flops(1024) / 0.5e12, 1e-12);
  cluster.gpu.sms = 1000;
  EXPECT_NEAR(price(1024).time.base(), flops(1024) / 0.35e12, 1e-12);
}

// 8 heads and 8 blocks of 128 keys are 64 blocks, one a processor.
TEST(AttentionPrice, BackwardBlocksAreSmaller) {
  ClusterSpec cluster = four_processors();
  cluster.gpu.memory_bandwidth = BytesPerSecond(1e30);
  Profile p = ideal_profile();
  AttentionRate& rate = p.attention[0][0][1];
  rate.log_seq = {std::log(1024.0)};
  rate.rate = {1e12};
  LawCase c = attention(1024);
  c.op.kind = OpKind::attention_bwd;
  std::swap(c.op.in, c.op.out);
  const auto time = [&](int sms) {
    cluster.gpu.sms = sms;
    return price_op(c.op, c.tensors, {}, uniform_view(cluster, {}), p).time.base();
  };
  const double flops = 2.0 * 1024 * 1024 * 8 * 5 * 128 / 2;
  EXPECT_NEAR(time(64), flops / 1e12, 1e-12);
  EXPECT_NEAR(time(128), flops / 0.5e12, 1e-12);
}

TEST(AttentionPrice, AMissingArithmeticTakesTheWiderOne) {
  const ClusterSpec cluster = four_processors();
  Profile p = ideal_profile();
  AttentionRate& rate = p.attention[0][0][0];
  rate.log_seq = {std::log(1024.0)};
  rate.rate = {1e9};
  LawCase c = attention(1024);
  c.op.attr.math = DType::mxfp8;
  const auto view = uniform_view(cluster, {});
  const double slow = price_op(c.op, c.tensors, {}, view, p).time.base();
  EXPECT_NEAR(slow, 2.0 * 1024 * 1024 * 8 * 128 / 1e9, 1e-9);
}

const std::vector<Tensor> kWhole = {{"part", TensorClass::activation, DType::fp32, {{1000}}},
                                    {"whole", TensorClass::activation, DType::fp32, {{4000}}}};

TEST(MemoryBound, FamiliesHaveTheirOwnCurves) {
  const ClusterSpec cluster = round_cluster();
  Profile p = ideal_profile();
  p.kernels[static_cast<std::size_t>(KernelClass::activation)].memory_efficiency = 0.5;
  p.kernels[static_cast<std::size_t>(KernelClass::router)].fixed = Seconds(1);
  const auto view = uniform_view(cluster, {});
  Op op;
  op.in = {TensorId{0}};
  op.out = {TensorId{1}};
  const auto time = [&](OpKind kind) {
    op.kind = kind;
    return price_op(op, kWhole, {}, view, p).time.base();
  };
  EXPECT_DOUBLE_EQ(time(OpKind::copy), 20000 / 1e12);
  EXPECT_DOUBLE_EQ(time(OpKind::gelu), 20000 / 0.5e12);
  op.attr.top_k = 3;  // two more passes over the logits
  EXPECT_DOUBLE_EQ(time(OpKind::router_topk), 1 + 28000 / 1e12);
  EXPECT_DOUBLE_EQ(time(OpKind::ce_stats), 24000 / 1e12);
}

TEST(Quantize, ScalingRecipesTakeMorePasses) {
  std::vector<Tensor> tensors = {{"x", TensorClass::activation, DType::bf16, {{6400}}},
                                 {"row", TensorClass::activation, DType::fp8, {{6400}}},
                                 {"col", TensorClass::activation, DType::fp8, {{6400}}}};
  Op op;
  op.kind = OpKind::quantize;
  op.in = {TensorId{0}};
  op.out = {TensorId{1}, TensorId{2}};
  EXPECT_EQ(quantize_extra(op, tensors, {}, Precision::fp8), Bytes(2 * 6400));
  EXPECT_EQ(quantize_extra(op, tensors, {}, Precision::fp8_delayed), Bytes(0));
  EXPECT_EQ(quantize_extra(op, tensors, {}, Precision::fp8_block), Bytes(0));
  tensors[1].dtype = tensors[2].dtype = DType::mxfp8;
  EXPECT_EQ(quantize_extra(op, tensors, {}, Precision::mxfp8), Bytes(0));
  tensors[1].dtype = tensors[2].dtype = DType::nvfp4;
  EXPECT_DOUBLE_EQ(quantize_extra(op, tensors, {}, Precision::nvfp4).base(),
                   0.45 * (2 * 6400 + 2 * 6400 * 0.5625));
}

}  // namespace
}  // namespace pleat
