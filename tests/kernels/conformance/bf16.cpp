// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/conformance/bf16.hpp"

#include <bit>
#include <cmath>

namespace pleat::conformance {
namespace {

// The nearest bf16, ties to even, as its 16 bits; and back. For finite values.
std::uint16_t to_bits(double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U);
}
double from_bits(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

Matrix values(std::int64_t rows, std::int64_t cols, int seed, double size) {
  Matrix m = random_matrix(rows, cols, seed, size);
  for (double& v : m.values) v = from_bits(to_bits(v));
  return m;
}

}  // namespace

View Bf16Conformance::make(DType type, std::int64_t rows, std::int64_t cols, const Matrix* from) {
  const auto count = static_cast<std::size_t>(rows * cols);
  void* memory = device().allocate(std::max<std::size_t>(count * 4, 16));
  memory_.push_back(memory);
  std::vector<std::uint16_t> half(count, 0x7fc0);  // NaN
  std::vector<float> whole(count, NAN);
  for (std::size_t i = 0; from != nullptr && i < count; ++i) {
    half[i] = to_bits(from->values[i]);
    whole[i] = static_cast<float>(from->values[i]);
  }
  if (type == DType::bf16) {
    device().upload(memory, half.data(), count * 2);
  } else {
    device().upload(memory, whole.data(), count * 4);
  }
  return {memory, type, rows, cols};
}

std::vector<double> Bf16Conformance::values_of(View v) {
  const auto count = static_cast<std::size_t>(v.elements());
  std::vector<double> all(count);
  if (v.dtype == DType::bf16) {
    std::vector<std::uint16_t> bits(count);
    device().download(bits.data(), v.data, count * 2);
    for (std::size_t i = 0; i < count; ++i) all[i] = from_bits(bits[i]);
  } else if (v.dtype == DType::fp32) {
    std::vector<float> floats(count);
    device().download(floats.data(), v.data, count * 4);
    for (std::size_t i = 0; i < count; ++i) all[i] = floats[i];
  } else {
    std::vector<std::int32_t> whole(count);
    device().download(whole.data(), v.data, count * 4);
    for (std::size_t i = 0; i < count; ++i) all[i] = whole[i];
  }
  return all;
}

void Bf16Conformance::TearDown() {
  for (void* memory : memory_) device().release(memory);
  KernelConformance::TearDown();
}

View Bf16Conformance::Operands::in(std::int64_t rows, std::int64_t cols, int seed, double size) {
  const Matrix m = values(rows, cols, seed, size);
  return test_.make(next(), rows, cols, &m);
}
View Bf16Conformance::Operands::inout(std::int64_t rows, std::int64_t cols, int seed,
                                      double size) {
  return in(rows, cols, seed, size);
}
View Bf16Conformance::Operands::out(std::int64_t rows, std::int64_t cols) {
  return test_.make(next(), rows, cols, nullptr);
}
View Bf16Conformance::Operands::fp32(std::int64_t rows, std::int64_t cols, int seed, double size) {
  const Matrix m = values(rows, cols, seed, size);
  return test_.make(DType::fp32, rows, cols, &m);
}
View Bf16Conformance::Operands::fp32_out(std::int64_t rows, std::int64_t cols) {
  return test_.make(DType::fp32, rows, cols, nullptr);
}
View Bf16Conformance::Operands::i32(const std::vector<std::int32_t>& all) {
  View v = test_.make(DType::fp32, 1, std::ssize(all), nullptr);
  v.dtype = DType::i32;
  test_.device().upload(v.data, all.data(), all.size() * 4);
  return v;
}
View Bf16Conformance::Operands::i32_out(std::int64_t count) {
  View v = test_.make(DType::fp32, 1, count, nullptr);
  v.dtype = DType::i32;
  return v;
}
View Bf16Conformance::Operands::same(View as, std::int64_t rows, std::int64_t cols) {
  return test_.make(as.dtype, rows, cols, nullptr);
}
View Bf16Conformance::Operands::same_in(View as, std::int64_t rows, std::int64_t cols, int seed) {
  const Matrix m = values(rows, cols, seed, 1);
  return test_.make(as.dtype, rows, cols, &m);
}

void Bf16Conformance::expect_like_fp32(const Run& run, double tolerance, double small) {
  Operands reference(*this, 0);
  run(reference);
  std::vector<std::vector<double>> want;
  for (const auto& r : reference.results_) want.push_back(values_of(r.view));
  for (const int every : {1, 2, 3}) {
    Operands operands(*this, every);
    run(operands);
    for (std::size_t r = 0; r < want.size(); ++r) {
      const std::vector<double> got = values_of(operands.results_[r].view);
      ASSERT_EQ(got.size(), want[r].size());
      double largest = 0.1;
      for (const double v : want[r]) largest = std::max(largest, std::abs(v));
      for (std::size_t i = 0; i < got.size(); ++i) {
        const double allowed = tolerance * std::abs(want[r][i]) + small * largest;
        ASSERT_TRUE(std::abs(got[i] - want[r][i]) <= allowed)
            << operands.results_[r].name << "[" << i << "] with every operand " << every
            << " in bf16 is " << got[i] << ", in fp32 " << want[r][i];
      }
    }
  }
}

}  // namespace pleat::conformance
