// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/conformance/suite.hpp"

#include <bit>

namespace pleat::conformance {
namespace {

constexpr std::int64_t kGuard = 16;  // elements, on each side
constexpr std::int32_t kGuardWord = 0x5EAFBEEF;
constexpr std::int32_t kNan = 0x7FC00000;

std::vector<std::int32_t> words_of(const Matrix& m) {
  std::vector<std::int32_t> words;
  for (const double v : m.values) {
    words.push_back(std::bit_cast<std::int32_t>(static_cast<float>(v)));
  }
  return words;
}

}  // namespace

View KernelConformance::make(std::vector<std::int32_t> words, DType type, std::int64_t rows,
                             std::int64_t cols, bool read_only) {
  EXPECT_EQ(static_cast<std::int64_t>(words.size()), rows * cols);
  const auto before = static_cast<std::size_t>(kGuard + shift_);
  words.insert(words.begin(), before, kGuardWord);
  words.insert(words.end(), static_cast<std::size_t>(kGuard), kGuardWord);
  void* memory = device_->allocate(words.size() * 4);
  device_->upload(memory, words.data(), words.size() * 4);
  buffers_.push_back({memory, shift_, read_only, std::move(words)});
  return {.data = static_cast<std::int32_t*>(memory) + before,
          .dtype = type,
          .rows = rows,
          .cols = cols};
}

View KernelConformance::in(const Matrix& m) {
  return make(words_of(m), DType::fp32, m.rows, m.cols, true);
}
View KernelConformance::inout(const Matrix& m) {
  return make(words_of(m), DType::fp32, m.rows, m.cols, false);
}
View KernelConformance::out(std::int64_t rows, std::int64_t cols) {
  return make(std::vector<std::int32_t>(static_cast<std::size_t>(rows * cols), kNan), DType::fp32,
              rows, cols, false);
}
View KernelConformance::in_i32(const std::vector<std::int32_t>& values, std::int64_t rows,
                               std::int64_t cols) {
  return make(values, DType::i32, rows, cols, true);
}
View KernelConformance::out_i32(std::int64_t rows, std::int64_t cols) {
  return make(std::vector<std::int32_t>(static_cast<std::size_t>(rows * cols), kNan), DType::i32,
              rows, cols, false);
}

std::vector<std::int32_t> KernelConformance::get_i32(View v) {
  std::vector<std::int32_t> words(static_cast<std::size_t>(v.elements()));
  device_->download(words.data(), v.data, words.size() * 4);
  return words;
}

Matrix KernelConformance::get(View v) {
  Matrix m(v.rows, v.cols);
  const std::vector<std::int32_t> words = get_i32(v);
  for (std::size_t i = 0; i < words.size(); ++i) m.values[i] = std::bit_cast<float>(words[i]);
  return m;
}

void KernelConformance::TearDown() {
  for (std::size_t b = 0; b < buffers_.size(); ++b) {
    const Buffer& buffer = buffers_[b];
    const std::int64_t size = std::ssize(buffer.words);
    std::vector<std::int32_t> now(buffer.words.size());
    device_->download(now.data(), buffer.memory, now.size() * 4);
    for (std::int64_t i = 0; i < size; ++i) {
      const bool guard = i < kGuard + buffer.shift || i >= size - kGuard;
      if (!guard && !buffer.read_only) continue;
      const auto at = static_cast<std::size_t>(i);
      if (now[at] == buffer.words[at]) continue;
      ADD_FAILURE() << (guard ? "wrote outside of buffer " : "changed the input in buffer ") << b
                    << " at element " << i - kGuard - buffer.shift;
      break;
    }
    device_->release(buffer.memory);
  }
}

}  // namespace pleat::conformance
