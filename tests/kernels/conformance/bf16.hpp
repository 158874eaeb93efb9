// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Kernels with operands in bf16 against the same kernels in fp32 on the same values: every operand
// bf16, and every second one. fp32 itself is held against its definition by the other files. A
// kernel set joins by INSTANTIATE_TEST_SUITE_P(Name, Bf16Conformance, …).
#pragma once

#include <functional>

#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {

class Bf16Conformance : public KernelConformance {
 protected:
  // Makes the operands of one run. Values are rounded to bf16 in every run.
  class Operands {
   public:
    Operands(Bf16Conformance& test, int every) : test_(test), every_(every) {}
    View in(std::int64_t rows, std::int64_t cols, int seed, double size = 1);
    View inout(std::int64_t rows, std::int64_t cols, int seed, double size = 1);
    View out(std::int64_t rows, std::int64_t cols);
    View fp32(std::int64_t rows, std::int64_t cols, int seed, double size = 1);  // never bf16
    View fp32_out(std::int64_t rows, std::int64_t cols);
    View i32(const std::vector<std::int32_t>& values);
    View i32_out(std::int64_t count);
    View same(View as, std::int64_t rows, std::int64_t cols);            // an output of its type
    View same_in(View as, std::int64_t rows, std::int64_t cols, int seed);  // an input of its type
    void result(View v, const char* name) { results_.push_back({v, name}); }

   private:
    friend class Bf16Conformance;
    [[nodiscard]] DType next() {
      return every_ > 0 && ++made_ % every_ == 0 ? DType::bf16 : DType::fp32;
    }
    struct Result {
      View view;
      const char* name;
    };
    Bf16Conformance& test_;
    int every_, made_ = 0;
    std::vector<Result> results_;
  };
  using Run = std::function<void(Operands&)>;

  // Results of bf16 and of mixed operands: |got - want| <= tolerance * |want| + small * largest
  // |want|. 2^-8 is one rounding to nearest and what may lie just beside it.
  void expect_like_fp32(const Run& run, double tolerance = 1.0 / 256, double small = 1e-5);

  [[nodiscard]] std::vector<double> values_of(View v);
  [[nodiscard]] Matrix of(View v) {
    Matrix m(v.rows, v.cols);
    m.values = values_of(v);
    return m;
  }

 private:
  View make(DType type, std::int64_t rows, std::int64_t cols, const Matrix* values);
  void TearDown() override;
  std::vector<void*> memory_;
};

}  // namespace pleat::conformance
