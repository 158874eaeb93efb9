// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Codes and scales bit by bit against the reference's, and products of quantised operands.
#include <bit>
#include <cmath>
#include <limits>

#include "core/numerics/small_float.hpp"
#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

struct Recipe {
  const char* name;
  Quantization q;
};

std::vector<Recipe> recipes() {
  const auto blocks = [](SmallFloat format, ScaleRule rule, std::int64_t rows, std::int64_t cols) {
    return Quantization{.format = format, .rule = rule, .block_rows = rows, .block_cols = cols};
  };
  using enum SmallFloat;
  std::vector<Recipe> all{{"tensor", {}},
                          {"gradient tensor", {.format = e5m2}},
                          {"row blocks", blocks(e4m3, ScaleRule::power_of_two, 1, 128)},
                          {"column blocks", blocks(e4m3, ScaleRule::power_of_two, 128, 1)},
                          {"squares", blocks(e4m3, ScaleRule::power_of_two, 128, 128)},
                          {"free squares", blocks(e5m2, ScaleRule::amax, 128, 128)},
                          {"microscaling rows", blocks(e4m3, ScaleRule::e8m0, 1, 32)},
                          {"microscaling columns", blocks(e5m2, ScaleRule::e8m0, 32, 1)},
                          {"odd blocks", blocks(e4m3, ScaleRule::amax, 3, 5)},
                          {"four bits", blocks(e2m1, ScaleRule::nvfp4, 1, 16)},
                          {"four bits, squares", blocks(e2m1, ScaleRule::nvfp4, 16, 16)},
                          {"four bits, columns", blocks(e2m1, ScaleRule::nvfp4, 16, 1)}};
  Quantization turned = all.back().q;
  turned.hadamard = true;
  all.push_back({"four bits, turned", turned});
  turned.stochastic = true;
  turned.key = {7, 0xdeadbeef};
  all.push_back({"four bits, turned, random", turned});
  Quantization random = blocks(e4m3, ScaleRule::e8m0, 1, 32);
  random.stochastic = true;
  random.key = {1, 2};
  all.push_back({"microscaling, random", random});
  return all;
}

// Among them zeros, subnormal, tiny and huge numbers; each fits bf16.
Matrix awkward(std::int64_t rows, std::int64_t cols, int seed, bool all_kinds) {
  Matrix m = random_matrix(rows, cols, seed, 3);
  const double kinds[] = {0,
                          -0.0,
                          0x1p-130,
                          -0x1p-126,
                          0x1.8p100,
                          1e-3,
                          6,
                          std::numeric_limits<double>::infinity(),
                          std::nan(""),
                          -448};
  for (std::size_t i = 0; i < m.values.size(); ++i) {
    if (all_kinds && i % 37 == 5) m.values[i] = kinds[i / 37 % std::size(kinds)];
    m.values[i] = to_float(to_bf16(static_cast<float>(m.values[i])));
  }
  return m;
}

struct Reference {
  std::vector<float> values;
  std::vector<std::uint8_t> codes;
  BlockScales scales;
};

Reference quantized(const Matrix& x, std::vector<std::int32_t> counts, DType type,
                    const Quantization& q) {
  static const std::unique_ptr<KernelSet> cpu = cpu_kernels();
  Reference r;
  r.values.assign(x.values.begin(), x.values.end());
  const auto n = static_cast<std::size_t>(x.rows * x.cols);
  r.codes.assign(type == DType::nvfp4 ? (n + 1) / 2 : n, 0x7f);
  cpu->quantize({r.values.data(), DType::fp32, x.rows, x.cols},
                counts.empty() ? View{} : View{counts.data(), DType::i32, 1, std::ssize(counts)},
                {r.codes.data(), type, x.rows, x.cols, &r.scales}, q);
  return r;
}

std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> all;
  for (const float v : values) all.push_back(std::bit_cast<std::uint32_t>(v));
  return all;
}

DType type_of(const Quantization& q) {
  return q.format == SmallFloat::e2m1 ? DType::nvfp4 : DType::fp8;
}

TEST_P(KernelConformance, QuantizeMatchesTheReferenceBitByBit) {
  struct Case {
    std::int64_t rows, cols;
    std::vector<std::int32_t> counts;
  };
  const std::vector<Case> cases{{0, 8, {}},
                                {0, 8, {0, 0}},
                                {1, 1, {}},
                                {3, 7, {}},
                                {5, 160, {2, 0, 3}},
                                {33, 128, {}},
                                {61, 48, {32, 13, 0, 16}},
                                {140, 136, {0, 131, 9}},
                                {7, 272, {}}};
  for (const Recipe& recipe : recipes()) {
    for (const Case& c : cases) {
      for (const bool all_kinds : {false, true}) {
        const Matrix x = awkward(c.rows, c.cols, 3, all_kinds);
        const Reference want = quantized(x, c.counts, type_of(recipe.q), recipe.q);
        for (const DType floats : {DType::fp32, DType::bf16}) {
          SCOPED_TRACE(testing::Message()
                       << recipe.name << ' ' << c.rows << 'x' << c.cols << ", " << c.counts.size()
                       << " groups, " << name_of(floats) << (all_kinds ? ", all kinds" : ""));
          set_floats(floats);
          set_shift(c.rows % 2);  // also codes and operands that no vector fits
          const View y = out_codes(type_of(recipe.q), c.rows, c.cols);
          const View counts = c.counts.empty() ? none() : in_i32(c.counts, 1, std::ssize(c.counts));
          k().quantize(in(x), counts, y, recipe.q);
          k().read_scales(y);
          ASSERT_EQ(get_codes(y), want.codes);
          ASSERT_EQ(y.scales->block_of_row, want.scales.block_of_row);
          ASSERT_EQ(bits(y.scales->group_scales), bits(want.scales.group_scales));
          ASSERT_EQ(bits(y.scales->scales), bits(want.scales.scales));
          ASSERT_EQ(y.scales->blocks_in_row, want.scales.blocks_in_row);
        }
      }
    }
  }
  set_floats(DType::fp32);
  set_shift(0);
}

// Groups that begin and end anywhere in what a thread block goes through, and groups of several.
TEST_P(KernelConformance, QuantizeGroupsOfManyThreadBlocks) {
  const std::int64_t rows = 301, cols = 384;
  const Matrix x = awkward(rows, cols, 3, true);
  for (const std::vector<std::int32_t>& sizes :
       {std::vector<std::int32_t>{}, {0, 1, 2, 131, 0, 3, 164}, {86, 86, 0, 129}}) {
    for (const SmallFloat format : {SmallFloat::e4m3, SmallFloat::e5m2}) {
      const Quantization q{.format = format};
      const Reference want = quantized(x, sizes, DType::fp8, q);
      for (const DType floats : {DType::fp32, DType::bf16}) {
        SCOPED_TRACE(testing::Message() << sizes.size() << " groups, " << name_of(floats));
        set_floats(floats);
        const View counts = sizes.empty() ? none() : in_i32(sizes, 1, std::ssize(sizes));
        const QuantizedCopy copies[] = {{out_codes(DType::fp8, rows, cols), q},
                                        {out_codes(DType::fp8, rows, cols), q}};
        const View from = in(x);
        k().quantize_copies(from, counts, copies);
        k().quantize_copies(from, counts, copies);  // scales have their memory already
        for (const QuantizedCopy& copy : copies) {
          k().read_scales(copy.codes);
          ASSERT_EQ(get_codes(copy.codes), want.codes);
          ASSERT_EQ(copy.codes.scales->block_of_row, want.scales.block_of_row);
          ASSERT_EQ(bits(copy.codes.scales->scales), bits(want.scales.scales));
          ASSERT_EQ(bits(copy.codes.scales->group_scales), bits(want.scales.group_scales));
        }
      }
    }
  }
  set_floats(DType::fp32);
}

// Scales follow from the amax of before, and the own one is kept: of each group, where it is
// larger.
TEST_P(KernelConformance, DelayedScalingTakesThePastAmax) {
  struct Case {
    std::int64_t rows, cols;
    std::vector<std::int32_t> counts;
  };
  for (const Case& c : {Case{3, 7, {}},
                        {33, 128, {}},
                        {5, 160, {2, 0, 3}},
                        {9, 36, {4, 5, 0}},
                        {150, 320, {70, 80}}}) {
    for (const SmallFloat format : {SmallFloat::e4m3, SmallFloat::e5m2}) {
      for (const DType floats : {DType::fp32, DType::bf16}) {
        SCOPED_TRACE(testing::Message() << c.rows << 'x' << c.cols << ' ' << name_of(floats));
        set_floats(floats);
        const Matrix x = awkward(c.rows, c.cols, 4, false);
        const std::int64_t groups = std::max<std::int64_t>(1, std::ssize(c.counts));
        // Of group g the past was 3 (g + 1), or nothing; it has seen 2.5 before this.
        Matrix history(5, groups), seen(1, groups, 2.5);
        for (std::int64_t g = 0; g < groups; ++g) history(g % 5, g) = g == 1 ? 0 : 3 * (g + 1);
        const View past = out_f32(1, groups), amax = inout_f32(seen);
        k().largest_of_history(in_f32(history), past);
        for (std::int64_t g = 0; g < groups; ++g) EXPECT_EQ(get(past)(0, g), history(g % 5, g));
        const View y = out_codes(DType::fp8, c.rows, c.cols);
        const View counts = c.counts.empty() ? none() : in_i32(c.counts, 1, std::ssize(c.counts));
        k().quantize(in(x), counts, y,
                     {.format = format, .past_amax = past.f32(), .seen_amax = amax.f32()});
        k().read_scales(y);
        const std::vector<std::uint8_t> codes = get_codes(y);
        std::int64_t row = 0;
        std::size_t block = 0;
        for (std::int64_t g = 0; g < groups; ++g) {
          const auto number = static_cast<std::size_t>(g);
          const std::int64_t rows = c.counts.empty() ? c.rows : c.counts[number];
          const auto before = static_cast<float>(history(g % 5, g));
          const float factor = before == 0 ? 1.0F : largest(format) / before;
          double most = 2.5;
          for (std::int64_t i = row * c.cols; i < (row + rows) * c.cols; ++i) {
            const auto at = static_cast<std::size_t>(i);
            most = std::max(most, std::abs(x.values[at]));
            ASSERT_EQ(codes[at], encode(format, static_cast<float>(x.values[at]) * factor)) << i;
          }
          EXPECT_EQ(get(amax)(0, g), most) << "group " << g;
          if (rows == 0) continue;
          EXPECT_EQ(y.scales->scales[block++], 1 / factor);
          row += rows;
        }
      }
    }
  }
  set_floats(DType::fp32);
}

// A product of quantised operands is that of the numbers they stand for; what gathers scales from
// other ranks changes nothing.
TEST_P(KernelConformance, ProductsOfQuantizedOperands) {
  const std::vector<std::int32_t> rows{3, 0, 5};
  const Matrix x = awkward(8, 64, 1, false), w = awkward(3 * 16, 64, 2, false),
               d = awkward(8, 16, 3, false);
  for (const Recipe& recipe : recipes()) {
    SCOPED_TRACE(recipe.name);
    const View counts = in_i32(rows, 1, 3);
    const auto make = [&](const Matrix& m, View groups) {
      const View y = out_codes(type_of(recipe.q), m.rows, m.cols);
      k().quantize(in(m), groups, y, recipe.q);
      k().read_scales(y);
      k().write_scales(y);
      return y;
    };
    const View qx = make(x, counts), qw = make(w, in_i32({16, 16, 16}, 1, 3)), qd = make(d, counts);
    const auto meaning = [&](View v) {  // the product with a unit matrix
      Matrix unit(v.cols, v.cols);
      for (std::int64_t i = 0; i < v.cols; ++i) unit(i, i) = 1;
      const View y = out_f32(v.rows, v.cols);
      k().gemm(v, false, in_f32(unit), false, y, false);
      return get(y);
    };
    const Matrix mx = meaning(qx), mw = meaning(qw), md = meaning(qd);
    EXPECT_EQ(meaning(qx), mx);
    const View all = out_f32(8, 48), y = out_f32(8, 16), dx = out_f32(8, 64);
    const View dw = inout_f32(Matrix(48, 64, 1.0)), one = out_f32(16, 64);
    k().gemm(qx, false, qw, true, all, false);
    k().grouped_gemm(qx, qw, true, counts, y);
    k().grouped_gemm(qd, qw, false, counts, dx);
    k().grouped_wgrad(qd, qx, counts, dw, true);
    k().gemm(qd, true, qx, false, one, false);
    expect_close(get(all), times(mx, transposed(mw)), "gemm");
    expect_close(get(one), times(transposed(md), mx), "wgrad");
    Matrix want_y(8, 16), want_dx(8, 64), want_dw(48, 64, 1.0);
    std::int64_t row = 0;
    for (std::int64_t g = 0; g < 3; ++g) {
      for (std::int64_t i = 0; i < rows[static_cast<std::size_t>(g)]; ++i, ++row) {
        for (std::int64_t n = 0; n < 16; ++n) {
          for (std::int64_t c = 0; c < 64; ++c) {
            want_y(row, n) += mx(row, c) * mw(g * 16 + n, c);
            want_dx(row, c) += md(row, n) * mw(g * 16 + n, c);
            want_dw(g * 16 + n, c) += md(row, n) * mx(row, c);
          }
        }
      }
    }
    expect_close(get(y), want_y, "grouped forward");
    expect_close(get(dx), want_dx, "grouped dgrad");
    expect_close(get(dw), want_dw, "grouped wgrad");
  }
}

}  // namespace
}  // namespace pleat::conformance
