// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The step: AdamW against its definition over several steps, norms, clearing and copying.
#include <bit>
#include <cmath>

#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

TEST_P(KernelConformance, AdamWFollowsItsDefinition) {
  for (const std::int64_t n : {0, 1, 37, 256}) {
    AdamW a{.lr = 0.01, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1, .step = 1};
    Matrix w = random_matrix(1, n, 1), m(1, n), v(1, n);
    const View vw = inout(w), vm = inout(m), vv = inout(v);
    for (; a.step <= 5; ++a.step) {
      const Matrix g = random_matrix(1, n, 10 + static_cast<int>(a.step));
      const double scale = 0.5;
      k().adamw(in(g), vm, vv, vw, scale, a);
      const auto step = static_cast<double>(a.step);
      for (std::size_t i = 0; i < g.values.size(); ++i) {
        const double d = g.values[i] * scale;
        m.values[i] = a.beta1 * m.values[i] + (1 - a.beta1) * d;
        v.values[i] = a.beta2 * v.values[i] + (1 - a.beta2) * d * d;
        const double mean = m.values[i] / (1 - std::pow(a.beta1, step));
        const double root = std::sqrt(v.values[i] / (1 - std::pow(a.beta2, step)));
        w.values[i] -= a.lr * (mean / (root + a.eps) + a.weight_decay * w.values[i]);
      }
    }
    expect_close(get(vm), m, "m", 1e-6);
    expect_close(get(vv), v, "v", 1e-6);
    expect_close(get(vw), w, "w", 1e-6);
  }
}

// The bits of a step and a copy after it, wherever the weights begin.
TEST_P(KernelConformance, AdamWRoundsItsWeights) {
  const AdamW a{.lr = 0.01, .weight_decay = 0.1, .step = 2};
  for (const std::int64_t n : {0, 1, 37, 5000}) {
    const Matrix g = random_matrix(1, n, 1), w = random_matrix(1, n, 2), m = random_matrix(1, n, 3);
    Matrix v = random_matrix(1, n, 4);
    for (double& x : v.values) x = std::abs(x);
    for (const std::int64_t first : {0, 3}) {
      const View room = out_i32(1, n), apart = out_i32(1, n);  // more than the weights need
      const View alone = inout(w), both = inout(w);
      const auto weights = [&](View at) {
        return View{static_cast<std::uint16_t*>(at.data) + (n > 8 ? first : 0), DType::bf16, 1, n};
      };
      k().adamw(in(g), inout(m), inout(v), alone, 0.5, a);
      k().copy(alone, weights(apart));
      k().adamw(in(g), inout(m), inout(v), both, 0.5, a, weights(room));
      EXPECT_EQ(get(both), get(alone));
      const View wide = out(1, n), expected = out(1, n);
      k().copy(weights(room), wide);
      k().copy(weights(apart), expected);
      EXPECT_EQ(get(wide), get(expected)) << n << " from " << first;
    }
  }
}

TEST_P(KernelConformance, AdamWLeavesWeightsWithoutGradient) {
  const Matrix w = random_matrix(1, 5, 1), zero(1, 5);
  const View vw = inout(w);
  k().adamw(in(zero), inout(zero), inout(zero), vw, 1, AdamW{});
  EXPECT_EQ(get(vw), w);
}

TEST_P(KernelConformance, LambsDirectionFollowsItsDefinition) {
  for (const std::int64_t n : {0, 1, 37}) {
    const AdamW a{
        .lr = 9, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-3, .weight_decay = 0.1, .step = 2};
    const Matrix w = random_matrix(1, n, 1);
    Matrix m = random_matrix(1, n, 2), v = random_matrix(1, n, 3), g = random_matrix(1, n, 4);
    for (double& x : v.values) x = std::abs(x);
    const View vm = inout(m), vv = inout(v), vg = inout(g);
    k().lamb(vg, vm, vv, in(w), 0.5, a);
    for (std::size_t i = 0; i < g.values.size(); ++i) {
      const double d = 0.5 * g.values[i];
      m.values[i] = 0.9 * m.values[i] + 0.1 * d;
      v.values[i] = 0.95 * v.values[i] + 0.05 * d * d;
      const double mean = m.values[i] / (1 - 0.81), root = std::sqrt(v.values[i] / (1 - 0.9025));
      g.values[i] = mean / (root + 1e-3) + 0.1 * w.values[i];
    }
    expect_close(get(vm), m, "m", 1e-6);
    expect_close(get(vv), v, "v", 1e-6);
    expect_close(get(vg), g, "g", 1e-5);
  }
}

TEST_P(KernelConformance, SgdFollowsItsDefinition) {
  for (const std::int64_t n : {0, 1, 37, 256}) {
    const Sgd s{.lr = 0.01, .momentum = 0.9, .weight_decay = 0.1};
    Matrix w = random_matrix(1, n, 1), m(1, n);
    const View vw = inout(w), vm = inout(m);
    for (int step = 1; step <= 5; ++step) {
      const Matrix g = random_matrix(1, n, 10 + step);
      k().sgd(in(g), vm, vw, 0.5, s);
      for (std::size_t i = 0; i < g.values.size(); ++i) {
        m.values[i] = 0.9 * m.values[i] + (0.5 * g.values[i] + 0.1 * w.values[i]);
        w.values[i] -= 0.01 * m.values[i];
      }
    }
    expect_close(get(vm), m, "m", 1e-6);
    expect_close(get(vw), w, "w", 1e-6);
  }
}

TEST_P(KernelConformance, SumOfSquaresInDoubles) {
  EXPECT_EQ(k().sum_of_squares(in(Matrix(1, 0))), 0);
  Matrix x(1, 1001, 0.0625);
  x(0, 500) = 1e4;  // 1e8 + 1000 / 256: single precision, 8 apart there, loses the small ones
  EXPECT_EQ(k().sum_of_squares(in(x)), 1e8 + 1000.0 / 256);
}

TEST_P(KernelConformance, ZeroAndCopy) {
  for (const std::int64_t n : {0, 1, 19}) {
    const Matrix x = random_matrix(1, n, 1);
    const View zeroed = out(1, n), copied = out(1, n), whole = out_i32(1, n);
    k().zero(zeroed);
    k().zero(whole);
    k().copy(in(x), copied);
    EXPECT_EQ(get(zeroed), Matrix(1, n));
    EXPECT_EQ(get_i32(whole), std::vector<std::int32_t>(static_cast<std::size_t>(n), 0));
    EXPECT_EQ(get(copied), x);
  }
}

TEST_P(KernelConformance, MomentsAreReadAsTheyWereWritten) {
  const std::int64_t n = 300;
  for (const auto& [type, digits] :
       {std::pair{DType::fp32, 24}, {DType::bf16, 8}, {DType::fp16, 11}, {DType::fp8, 4}}) {
    // Blocks of very different sizes, one of them zero.
    Matrix x = random_matrix(1, n, 3);
    for (std::int64_t i = 0; i < n; ++i) {
      x(0, i) *= i < 128 ? 1e-9 : i < 256 ? 0 : 1e4;
      x(0, i) = static_cast<float>(x(0, i));
    }
    const View storage = out_i32(1, n), scales = out(1, 3), back = out(1, n), again = out(1, n);
    const Moment moment{{storage.data, type, 1, n}, scales.f32()};
    k().write_moment(in(x), moment);
    k().read_moment(moment, back);
    const Matrix read = get(back);
    for (std::int64_t i = 0; i < n; ++i) {
      // Half a unit in the last place, or of the block's smallest numbers.
      const double block = i < 128 ? 1e-9 : i < 256 ? 0 : 1e4;
      const double relative = std::ldexp(std::abs(x(0, i)), -digits);
      const double least = type == DType::fp8    ? block * std::ldexp(1, -17)
                           : type == DType::fp16 ? block * std::ldexp(1, -38)
                                                 : 0;
      EXPECT_LE(std::abs(read(0, i) - x(0, i)), std::max(relative, least)) << name_of(type) << i;
    }
    k().write_moment(in(read), moment);  // what was rounded stays as it is
    k().read_moment(moment, again);
    EXPECT_EQ(get(again), read) << name_of(type);
  }
}

// Halfway cases go to the even neighbour; 448 is the largest number of E4M3.
TEST_P(KernelConformance, Fp8MomentsAreRoundedToNearestEven) {
  const std::vector<std::pair<double, double>> cases{
      {448, 448},       {17, 16},          {19, 20},           {18, 18},        {-17, -16},
      {0x1p-9, 0x1p-9}, {0x1p-10, 0},      {0x1.8p-9, 0x1p-8}, {0x1.ep-7, 0x1p-6}, {0, 0},
      {15.9, 16}};
  Matrix x(1, static_cast<std::int64_t>(cases.size()));
  for (std::size_t i = 0; i < cases.size(); ++i) x.values[i] = static_cast<float>(cases[i].first);
  const View storage = out_i32(1, x.cols), scales = out(1, 1), back = out(1, x.cols);
  const Moment moment{{storage.data, DType::fp8, 1, x.cols}, scales.f32()};
  k().write_moment(in(x), moment);
  k().read_moment(moment, back);
  EXPECT_EQ(get(scales)(0, 0), 1);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(get(back).values[i], cases[i].second) << cases[i].first;
  }
}

// Nothing is lost, and the weight is the nearest bf16 number, halves away from zero.
TEST_P(KernelConformance, HalvesAreTheWhole) {
  Matrix x(1, 300);
  for (std::int64_t i = 0; i < x.cols; ++i) {
    x(0, i) =
        std::bit_cast<float>(static_cast<std::uint32_t>(0x3f800000 + i * 0x1357 * (i % 2 * 2 - 1)));
  }
  x(0, 0) = 0, x(0, 1) = std::bit_cast<float>(0xbf808000U),
       x(0, 2) = std::bit_cast<float>(0x3f807fffU);
  const View halves = out_i32(1, x.cols), back = out(1, x.cols);
  const View weights{halves.data, DType::bf16, 1, x.cols};
  const View rests{static_cast<std::byte*>(halves.data) + 2 * x.cols, DType::remainder16, 1,
                   x.cols};
  k().split_halves(in(x), weights, rests);
  k().join_halves(weights, rests, back);
  EXPECT_EQ(get(back), x);
  const std::vector<std::int32_t> pairs = get_i32(halves);
  EXPECT_EQ(static_cast<std::uint32_t>(pairs[0]), 0xbf810000U);  // the weights of x[0] and x[1]
  EXPECT_EQ(static_cast<std::uint32_t>(pairs[1]) & 0xffff, 0x3f80U);
}

// In fp32 it is AdamW, with and without decay; in other types AdamW of what the moments hold.
TEST_P(KernelConformance, AdamWOnNarrowMoments) {
  const std::int64_t n = 300;
  const AdamW a{
      .lr = 0.01, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-3, .weight_decay = 0.5, .step = 3};
  const std::vector<ElementSpan> undecayed{{0, 5}, {100, 60}, {250, 50}};
  const Matrix g = random_matrix(1, n, 1), w = random_matrix(1, n, 2), m = random_matrix(1, n, 3);
  Matrix v = random_matrix(1, n, 4);
  for (double& x : v.values) x = std::abs(x);
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16, DType::fp8}) {
    const View ms = out_i32(1, n), vs = out_i32(1, n), m_scale = out(1, 3), v_scale = out(1, 3);
    const Moment mean{{ms.data, type, 1, n}, m_scale.f32()};
    const Moment square{{vs.data, type, 1, n}, v_scale.f32()};
    k().write_moment(in(m), mean);
    k().write_moment(in(v), square);
    const View m32 = out(1, n), v32 = out(1, n), expected = inout(w), actual = inout(w);
    k().read_moment(mean, m32);
    k().read_moment(square, v32);
    const auto part = [](View x, std::int64_t first, std::int64_t elements) {
      return View{x.f32() + first, x.dtype, 1, elements};
    };
    const View gradients = in(g);
    std::int64_t at = 0;
    for (const std::int64_t end : {5, 100, 160, 250, 300}) {
      AdamW settings = a;
      if (at == 0 || at == 100 || at == 250) settings.weight_decay = 0;
      k().adamw(part(gradients, at, end - at), part(m32, at, end - at), part(v32, at, end - at),
                part(expected, at, end - at), 0.5, settings);
      at = end;
    }
    const View room = out_i32(1, n), weights{room.data, DType::bf16, 1, n};
    const View wide = out(1, n), rounded_room = out_i32(1, n), rounded_weights = out(1, n);
    const View expected_weights{rounded_room.data, DType::bf16, 1, n};
    k().adamw_narrow(in(g), mean, square, actual, 0.5, a, undecayed, weights);
    EXPECT_EQ(get(actual), get(expected)) << name_of(type);
    k().copy(actual, expected_weights);
    k().copy(weights, wide);
    k().copy(expected_weights, rounded_weights);
    EXPECT_EQ(get(wide), get(rounded_weights)) << name_of(type);
    const View m_after = out(1, n), stored = out_i32(1, n), stored_scale = out(1, 3),
               rounded = out(1, n);
    k().read_moment(mean, m_after);
    const Moment again{{stored.data, type, 1, n}, stored_scale.f32()};
    k().write_moment(m32, again);
    k().read_moment(again, rounded);
    EXPECT_EQ(get(m_after), get(rounded)) << name_of(type);
  }
}

}  // namespace
}  // namespace pleat::conformance
