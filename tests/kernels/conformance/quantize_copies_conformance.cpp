// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Several copies at once, and norms and SwiGLU that quantise what they make: the bits of calls of
// their own.
#include <array>
#include <bit>

#include "core/numerics/small_float.hpp"
#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

struct Pair {
  const char* name;
  Quantization row, column;
};

std::vector<Pair> pairs() {
  const auto blocks = [](const char* name, SmallFloat format, ScaleRule rule, std::int64_t n) {
    return Pair{name,
                {.format = format, .rule = rule, .block_rows = 1, .block_cols = n},
                {.format = format, .rule = rule, .block_rows = n, .block_cols = 1}};
  };
  using enum SmallFloat;
  std::vector<Pair> all{blocks("blocks of 128", e4m3, ScaleRule::power_of_two, 128),
                        blocks("microscaling", e4m3, ScaleRule::e8m0, 32),
                        blocks("blocks of 16", e5m2, ScaleRule::amax, 16),
                        blocks("four bits", e2m1, ScaleRule::nvfp4, 16),
                        {"tensor", {}, {}}};
  all[3].column.hadamard = true;
  all.push_back(all[0]);
  all.back().name = "lengths that differ";
  all.back().column.block_rows = 32;
  return all;
}

struct Size {
  std::int64_t rows, cols;
  std::vector<std::int32_t> counts;
};
const std::vector<Size>& sizes() {
  static const std::vector<Size> all{{0, 128, {0, 0}},      {1, 128, {}},
                                     {33, 384, {32, 0, 1}}, {140, 128, {0, 131, 9}},
                                     {5, 36, {2, 0, 3}},    {37, 32, {}}};
  return all;
}

// Zeros, huge and tiny numbers among them; each fits bf16.
Matrix of_all_sizes(std::int64_t rows, std::int64_t cols, int seed) {
  Matrix m = random_matrix(rows, cols, seed, 2);
  for (std::size_t i = 0; i < m.values.size(); ++i) {
    if (i % 41 == 3) m.values[i] = 0;
    if (i % 53 == 7) m.values[i] *= 0x1p20;
    if (i % 59 == 11) m.values[i] *= 0x1p-30;
    m.values[i] = to_float(to_bf16(static_cast<float>(m.values[i])));
  }
  return m;
}

using Copies = std::array<QuantizedCopy, 2>;

// Of what is not kept: nowhere.
View shape_of(View y) { return {nullptr, y.dtype, y.rows, y.cols}; }

class QuantizeCopies {
 public:
  using OutCodes = std::function<View(DType, std::int64_t, std::int64_t)>;
  using GetCodes = std::function<std::vector<std::uint8_t>(View)>;
  QuantizeCopies(KernelSet& k, OutCodes out, GetCodes get)
      : k_(k), out_(std::move(out)), get_(std::move(get)) {}

  // run(pair, size) for each, in fp32 and bf16.
  template <class SetFloats, class Run>
  void for_all(SetFloats set_floats, Run run) {
    for (const Pair& pair : pairs()) {
      for (const Size& size : sizes()) {
        for (const DType floats : {DType::fp32, DType::bf16}) {
          if (size.rows > 100 && floats == DType::fp32) continue;
          SCOPED_TRACE(testing::Message() << pair.name << ' ' << size.rows << 'x' << size.cols
                                          << ", " << name_of(floats));
          set_floats(floats);
          run(pair, size);
        }
      }
    }
    set_floats(DType::fp32);
  }

  [[nodiscard]] Copies make(const Pair& p, const Size& s) {
    const auto one = [&](const Quantization& q) {
      const DType type = q.format == SmallFloat::e2m1 ? DType::nvfp4 : DType::fp8;
      return QuantizedCopy{out_(type, s.rows, s.cols), q};
    };
    return {one(p.row), one(p.column)};
  }
  [[nodiscard]] Copies separately(const Pair& p, const Size& s, View x, View counts) {
    const Copies copies = make(p, s);
    for (const QuantizedCopy& c : copies) k_.quantize(x, counts, c.codes, c.how);
    return copies;
  }
  void expect_same(const Copies& got, const Copies& want) {
    for (std::size_t i = 0; i < 2; ++i) {
      const View g = got[i].codes, w = want[i].codes;
      k_.read_scales(g);
      k_.read_scales(w);
      EXPECT_EQ(get_(g), get_(w)) << "codes of copy " << i;
      EXPECT_EQ(g.scales->block_of_row, w.scales->block_of_row);
      EXPECT_EQ(bits(g.scales->scales), bits(w.scales->scales)) << "scales of copy " << i;
      EXPECT_EQ(bits(g.scales->group_scales), bits(w.scales->group_scales));
      EXPECT_EQ(g.scales->blocks_in_row, w.scales->blocks_in_row);
    }
  }

 private:
  static std::vector<std::uint32_t> bits(const std::vector<float>& values) {
    std::vector<std::uint32_t> all;
    for (const float v : values) all.push_back(std::bit_cast<std::uint32_t>(v));
    return all;
  }

  KernelSet& k_;
  OutCodes out_;
  GetCodes get_;
};

TEST_P(KernelConformance, CopiesAtOnceHaveTheBitsOfSingleOnes) {
  QuantizeCopies q(k(), [this](auto... a) { return out_codes(a...); },
                   [this](View v) { return get_codes(v); });
  q.for_all([this](DType type) { set_floats(type); }, [&](const Pair& pair, const Size& s) {
    set_shift(s.rows % 2);  // also codes and operands that no vector fits
    const View x = in(of_all_sizes(s.rows, s.cols, 1));
    const View counts = s.counts.empty() ? none() : in_i32(s.counts, 1, std::ssize(s.counts));
    const Copies got = q.make(pair, s);
    k().quantize_copies(x, counts, got);
    q.expect_same(got, q.separately(pair, s, x, counts));
  });
  set_shift(0);
}

TEST_P(KernelConformance, NormsQuantizeWhatTheyMake) {
  QuantizeCopies q(k(), [this](auto... a) { return out_codes(a...); },
                   [this](View v) { return get_codes(v); });
  q.for_all([this](DType type) { set_floats(type); }, [&](const Pair& pair, const Size& s) {
    const View x = in(of_all_sizes(s.rows, s.cols, 1)), more = in(of_all_sizes(s.rows, s.cols, 2));
    const View w = in(random_matrix(1, s.cols, 3));
    for (const bool adds : {false, true}) {
      const View sum = adds ? out(s.rows, s.cols) : none(), y = out(s.rows, s.cols);
      const View rstd = out_f32(1, s.rows);
      if (adds) k().add(x, more, none(), sum);
      k().rms_norm(adds ? sum : x, w, y, rstd, 1e-5);
      const Copies want = q.separately(pair, s, y, none());
      for (const bool keep : {false, true}) {
        if (keep && !adds) continue;
        SCOPED_TRACE(testing::Message() << (adds ? "adds " : "") << (keep ? "keeps" : ""));
        const Copies got = q.make(pair, s);
        const View got_sum = adds ? out(s.rows, s.cols) : none();
        const View got_y = keep ? out(s.rows, s.cols) : shape_of(y);
        const View got_rstd = out_f32(1, s.rows);
        k().rms_norm_quantize(x, adds ? more : none(), got_sum, w, got_y, keep, got_rstd, 1e-5,
                              got);
        q.expect_same(got, want);
        EXPECT_EQ(get_i32(got_rstd), get_i32(rstd));
        EXPECT_TRUE(!adds || get_i32(got_sum) == get_i32(sum));
        EXPECT_TRUE(!keep || get_i32(got_y) == get_i32(y));
      }
    }
    const View in_place = inout(of_all_sizes(s.rows, s.cols, 1)), sum = out(s.rows, s.cols);
    const View y = out(s.rows, s.cols), rstd = out_f32(1, s.rows);
    k().add(x, more, none(), sum);
    k().rms_norm_quantize(in_place, more, in_place, w, y, true, rstd, 1e-5, q.make(pair, s));
    EXPECT_EQ(get_i32(in_place), get_i32(sum));
  });
}

TEST_P(KernelConformance, SwigluQuantizesWhatItMakes) {
  QuantizeCopies q(k(), [this](auto... a) { return out_codes(a...); },
                   [this](View v) { return get_codes(v); });
  q.for_all([this](DType type) { set_floats(type); },
            [&](const Pair& pair, const Size& s) {
              const View u = in(random_matrix(s.rows, 2 * s.cols, 1, 3)),
                         p = in_f32(random_matrix(1, s.rows, 2));
              const View counts =
                  s.counts.empty() ? none() : in_i32(s.counts, 1, std::ssize(s.counts));
              for (const View weight : {p, none()}) {
                if (weight.data == nullptr && s.rows > 100) continue;
                const View y = out(s.rows, s.cols);
                k().swiglu(u, weight, y);
                const Copies want = q.separately(pair, s, y, counts);
                for (const bool keep : {false, true}) {
                  const Copies got = q.make(pair, s);
                  const View got_y = keep ? out(s.rows, s.cols) : shape_of(y);
                  k().swiglu_quantize(u, weight, counts, got_y, keep, got);
                  q.expect_same(got, want);
                  EXPECT_TRUE(!keep || get_i32(got_y) == get_i32(y));
                }
              }
            });
}

}  // namespace
}  // namespace pleat::conformance
