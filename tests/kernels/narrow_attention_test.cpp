// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "core/numerics/small_float.hpp"
#include "tests/kernels/quantized_matrices.hpp"

namespace pleat {
namespace {

using conformance::random_matrix;
using test::Matrix;
using NarrowAttention = test::QuantizedMatrices;

// Attention that reads 8 bits is attention of operands that were rounded before: those of a head in
// a run of rows together, or 32 columns of a row.
TEST_F(NarrowAttention, ReadsRoundedHeads) {
  const std::int64_t rows = 10, heads = 2, width = 40, batch = 2;
  const std::vector<std::int32_t> whole_head{rows / batch, rows / batch};
  std::vector<std::array<std::int32_t, 2>> visible;
  for (std::int64_t i = 0; i < rows; ++i) {
    visible.push_back({0, static_cast<std::int32_t>(i % (rows / batch)) + 1});
  }
  const auto rounded_bf16 = [](const Matrix& m) {
    Matrix out = m;
    for (double& v : out.values) v = to_float(to_bf16(static_cast<float>(v)));
    return out;
  };
  const Matrix q = rounded_bf16(random_matrix(rows, heads * width, 1, 2));
  const Matrix k = rounded_bf16(random_matrix(rows, width, 2, 3));
  const Matrix v = rounded_bf16(random_matrix(rows, width, 3));
  for (const DType math : {DType::fp8, DType::mxfp8}) {
    Quantization recipe;
    if (math == DType::mxfp8) {
      recipe = {.rule = ScaleRule::e8m0, .block_rows = 1, .block_cols = 32};
    }
    const auto read = [&](const Matrix& m) {  // head by head
      Matrix out = m;
      for (std::int64_t h = 0; h < m.cols / width; ++h) {
        Matrix head(rows, width);
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t c = 0; c < width; ++c) head(r, c) = m(r, h * width + c);
        }
        head = meaning(quantize(head, recipe, counts(whole_head)));
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t c = 0; c < width; ++c) out(r, h * width + c) = head(r, c);
        }
      }
      return out;
    };
    const auto attend = [&](const std::array<View, 3>& from, DType as) {
      const View o = floats(Matrix(rows, heads * width)), lse = floats(Matrix(rows, heads));
      AttentionPiece p{.batch = batch, .heads = heads, .scale = 0.2, .q = {}, .k = {}, .v = {}};
      p.q[0] = {.x = from[0], .first = 0, .stride = width, .width = width};
      p.k[0] = {.x = from[1], .first = 0, .stride = width, .width = width, .share = heads};
      p.v = {.x = from[2], .first = 0, .stride = width, .width = width, .share = heads};
      p.visible = reinterpret_cast<const std::int32_t(*)[2]>(visible.data());
      p.math = as;
      kernels_->attention_piece(p, {.x = o, .first = 0, .stride = width, .width = width}, lse,
                                false);
      return std::vector<float>(o.f32(), o.f32() + o.elements());
    };
    std::deque<std::vector<Bf16>> halves;
    const auto narrow = [&](const Matrix& m) {
      std::vector<Bf16>& to = halves.emplace_back();
      for (const double x : m.values) to.push_back(to_bf16(static_cast<float>(x)));
      return View{to.data(), DType::bf16, m.rows, m.cols};
    };
    const std::vector<float> got = attend({narrow(q), narrow(k), narrow(v)}, math);
    EXPECT_EQ(got, attend({floats(read(q)), floats(read(k)), floats(read(v))}, DType::fp32));
    EXPECT_NE(got, attend({floats(q), floats(k), floats(v)}, DType::fp32));
  }
}

}  // namespace
}  // namespace pleat
