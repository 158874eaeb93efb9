// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/conformance/suite.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/numerics/small_float.hpp"

#include "core/environment.hpp"

namespace pleat::conformance {
namespace {

constexpr std::int64_t kGuard = 16;  // elements, on each side
constexpr std::byte kGuardByte{0xEF};

template <class T>
void append(std::vector<std::byte>& bytes, T value) {
  const auto* from = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof value);
}

std::vector<std::byte> bytes_of_values(const Matrix& m, DType type) {
  std::vector<std::byte> bytes;
  for (const double v : m.values) {
    const auto value = static_cast<float>(v);
    type == DType::bf16 ? append(bytes, to_bf16(value)) : append(bytes, value);
  }
  return bytes;
}

std::vector<std::byte> bytes_of_values(const std::vector<std::int32_t>& values) {
  std::vector<std::byte> bytes;
  for (const std::int32_t v : values) append(bytes, v);
  return bytes;
}

Matrix nans(std::int64_t rows, std::int64_t cols) {
  return {rows, cols, std::numeric_limits<double>::quiet_NaN()};
}

}  // namespace

View KernelConformance::make(const std::vector<std::byte>& bytes, DType type, std::int64_t rows,
                             std::int64_t cols, bool read_only) {
  EXPECT_EQ(std::ssize(bytes), bytes_of(type, rows * cols));
  const auto before = static_cast<std::size_t>(bytes_of(type, kGuard + shift_));
  const auto after = static_cast<std::size_t>(bytes_of(type, kGuard));
  std::vector<std::byte> all(before, kGuardByte);
  all.insert(all.end(), bytes.begin(), bytes.end());
  all.insert(all.end(), after, kGuardByte);
  void* memory = device_->allocate(all.size());
  device_->upload(memory, all.data(), all.size());
  buffers_.push_back({memory, before, after, read_only, std::move(all)});
  return {
      .data = static_cast<std::byte*>(memory) + before, .dtype = type, .rows = rows, .cols = cols};
}

View KernelConformance::in(const Matrix& m) {
  return make(bytes_of_values(m, floats_), floats_, m.rows, m.cols, true);
}
View KernelConformance::inout(const Matrix& m) {
  return make(bytes_of_values(m, floats_), floats_, m.rows, m.cols, false);
}
View KernelConformance::out(std::int64_t rows, std::int64_t cols) {
  return inout(nans(rows, cols));
}
View KernelConformance::in_f32(const Matrix& m) {
  return make(bytes_of_values(m, DType::fp32), DType::fp32, m.rows, m.cols, true);
}
View KernelConformance::inout_f32(const Matrix& m) {
  return make(bytes_of_values(m, DType::fp32), DType::fp32, m.rows, m.cols, false);
}
View KernelConformance::out_f32(std::int64_t rows, std::int64_t cols) {
  return inout_f32(nans(rows, cols));
}
View KernelConformance::in_i32(const std::vector<std::int32_t>& values, std::int64_t rows,
                               std::int64_t cols) {
  return make(bytes_of_values(values), DType::i32, rows, cols, true);
}
View KernelConformance::out_i32(std::int64_t rows, std::int64_t cols) {
  constexpr std::int32_t kNan = 0x7FC00000;
  const std::vector<std::int32_t> values(static_cast<std::size_t>(rows * cols), kNan);
  return make(bytes_of_values(values), DType::i32, rows, cols, false);
}

View KernelConformance::out_codes(DType type, std::int64_t rows, std::int64_t cols) {
  const auto bytes = static_cast<std::size_t>(bytes_of(type, rows * cols));
  View v = make(std::vector<std::byte>(bytes, std::byte{0x7f}), type, rows, cols, false);
  v.scales = &scales_.emplace_back();
  return v;
}
std::vector<std::uint8_t> KernelConformance::get_codes(View v) {
  const std::int64_t n = v.elements();
  std::vector<std::uint8_t> codes(
      static_cast<std::size_t>(v.dtype == DType::nvfp4 ? (n + 1) / 2 : n));
  if (n > 0) device_->download(codes.data(), v.data, codes.size());
  return codes;
}

std::vector<std::int32_t> KernelConformance::get_i32(View v) {
  const auto n = static_cast<std::size_t>(v.elements());
  if (v.dtype == DType::bf16) {
    std::vector<std::uint16_t> halves(n);
    device_->download(halves.data(), v.data, n * 2);
    return {halves.begin(), halves.end()};
  }
  std::vector<std::int32_t> words(n);
  device_->download(words.data(), v.data, n * 4);
  return words;
}

Matrix KernelConformance::get(View v) {
  Matrix m(v.rows, v.cols);
  const std::vector<std::int32_t> words = get_i32(v);
  for (std::size_t i = 0; i < words.size(); ++i) {
    m.values[i] = v.dtype == DType::bf16 ? to_float(Bf16{static_cast<std::uint16_t>(words[i])})
                                         : std::bit_cast<float>(words[i]);
  }
  return m;
}

void KernelConformance::expect_same_in_bf16(const std::function<std::vector<View>()>& run,
                                            double inside) {
  std::vector<Matrix> wanted;
  set_floats(DType::fp32);
  for (const View v : run()) wanted.push_back(get(v));
  set_floats(DType::bf16);
  const std::vector<View> views = run();
  set_floats(DType::fp32);
  ASSERT_EQ(views.size(), wanted.size());
  for (std::size_t n = 0; n < views.size(); ++n) {
    const Matrix got = get(views[n]), &want = wanted[n];
    ASSERT_EQ(got.values.size(), want.values.size());
    double largest = 1;
    for (const double v : want.values) largest = std::max(largest, std::abs(v));
    for (std::size_t i = 0; i < want.values.size(); ++i) {
      const double difference = std::abs(got.values[i] - want.values[i]);
      ASSERT_LE(difference, 1.6e-2 * std::abs(want.values[i]) + inside * largest)
          << "result " << n << " at " << i << " is " << got.values[i] << ", in fp32 "
          << want.values[i];
    }
  }
}

void KernelConformance::SetUp() {
  device_ = GetParam().make();
  if (device_ != nullptr) return;
  if (gpu_required()) FAIL() << "PLEAT_REQUIRE_GPU=1 and there is no GPU";
  GTEST_SKIP() << "no GPU";
}

void KernelConformance::TearDown() {
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    const Buffer& buffer = buffers_[b];
    const std::size_t size = buffer.bytes.size();
    std::vector<std::byte> now(size);
    device_->download(now.data(), buffer.memory, size);
    for (std::size_t i = 0; i < size; ++i) {
      const bool guard = i < buffer.before || i >= size - buffer.after;
      if ((!guard && !buffer.read_only) || now[i] == buffer.bytes[i]) continue;
      ADD_FAILURE() << (guard ? "wrote outside of buffer " : "changed the input in buffer ") << b
                    << " at byte " << static_cast<std::int64_t>(i - buffer.before);
      break;
    }
    device_->release(buffer.memory);
  }
  scales_.clear();  // before the device
}

}  // namespace pleat::conformance
