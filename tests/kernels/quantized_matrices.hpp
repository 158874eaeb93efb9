// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Matrices in codes for tests of the CPU's kernels, and what they stand for.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

#include "kernels/kernel_set.hpp"
#include "tests/kernels/conformance/matrix.hpp"

namespace pleat::test {

using conformance::Matrix;
using Codes = std::vector<int>;

struct Quantized {
  std::vector<std::uint8_t> codes;
  BlockScales scales;
  View view;
};

class QuantizedMatrices : public ::testing::Test {
 protected:
  View floats(const Matrix& m) {
    kept_.push_back({m.values.begin(), m.values.end()});
    return {kept_.back().data(), DType::fp32, m.rows, m.cols};
  }
  View counts(const std::vector<std::int32_t>& rows) {
    counts_.push_back(rows);
    return {counts_.back().data(), DType::i32, 1, std::ssize(rows)};
  }
  const Quantized& quantize(const Matrix& m, const Quantization& q, View groups = {}) {
    const bool four_bits = q.format == SmallFloat::e2m1;
    const std::int64_t n = m.rows * m.cols;
    Quantized& made = made_.emplace_back();
    made.codes.resize(static_cast<std::size_t>(four_bits ? (n + 1) / 2 : n));
    made.view = {made.codes.data(), four_bits ? DType::nvfp4 : DType::fp8, m.rows, m.cols,
                 &made.scales};
    kernels_->quantize(floats(m), groups, made.view, q);
    return made;
  }
  static Codes codes(const Quantized& q) {
    Codes all;
    for (const std::uint8_t byte : q.codes) {
      if (q.scales.format != SmallFloat::e2m1) {
        all.push_back(byte);
      } else {
        all.insert(all.end(), {byte & 15, byte >> 4});
      }
    }
    return all;
  }
  // What its codes stand for: the product with a unit matrix.
  Matrix meaning(const Quantized& q) {
    Matrix unit(q.view.cols, q.view.cols), out(q.view.rows, q.view.cols);
    for (std::int64_t i = 0; i < unit.rows; ++i) unit(i, i) = 1;
    const View y = floats(out);
    kernels_->gemm(q.view, false, floats(unit), false, y, false);
    out.values.assign(y.f32(), y.f32() + y.elements());
    return out;
  }
  Matrix product(View a, bool ta, View b, bool tb, std::int64_t rows, std::int64_t cols) {
    Matrix out(rows, cols);
    const View c = floats(out);
    kernels_->gemm(a, ta, b, tb, c, false);
    out.values.assign(c.f32(), c.f32() + c.elements());
    return out;
  }

  std::unique_ptr<KernelSet> kernels_ = cpu_kernels();
  std::deque<std::vector<float>> kept_;
  std::deque<std::vector<std::int32_t>> counts_;
  std::deque<Quantized> made_;
};

}  // namespace pleat::test
