// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a GPU test needs: a skip that is never a pass, and matrices that move between host and
// device.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/environment.hpp"
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/device.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

// In SetUp: without a GPU the test is skipped, or fails with PLEAT_REQUIRE_GPU=1.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device_count() > 0) {
      device_ = std::make_unique<CudaDevice>();
      kernels_ = cuda_kernels(*device_);
      return;
    }
    if (gpu_required()) FAIL() << "PLEAT_REQUIRE_GPU=1 and there is no GPU";
    GTEST_SKIP() << "no GPU";
  }
  [[nodiscard]] KernelSet& kernels() { return *kernels_; }
  void wait() { device_->synchronize(); }

 private:
  std::unique_ptr<CudaDevice> device_;
  std::unique_ptr<KernelSet> kernels_;
};

// The nearest bf16, ties to even, as its 16 bits; and back. For finite values.
inline std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
inline float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// A matrix on the device. Host values are floats; for bf16 they are rounded on the way in.
class DeviceMatrix {
 public:
  DeviceMatrix(DType dtype, std::int64_t rows, std::int64_t cols)
      : dtype_(dtype),
        rows_(rows),
        cols_(cols),
        buffer_(static_cast<std::size_t>(bytes_of(dtype, rows * cols))) {}

  DeviceMatrix(DType dtype, std::int64_t rows, std::int64_t cols, const std::vector<float>& values)
      : DeviceMatrix(dtype, rows, cols) {
    if (dtype_ == DType::fp32) {
      buffer_.upload(values.data());
      return;
    }
    std::vector<std::uint16_t> rounded;
    for (const float value : values) rounded.push_back(to_bf16(value));
    buffer_.upload(rounded.data());
  }

  [[nodiscard]] View view() const { return {buffer_.data(), dtype_, rows_, cols_}; }

  [[nodiscard]] std::vector<float> values() const {
    const auto count = static_cast<std::size_t>(rows_ * cols_);
    std::vector<float> result(count);
    if (dtype_ == DType::fp32) {
      buffer_.download(result.data());
      return result;
    }
    std::vector<std::uint16_t> bits(count);
    buffer_.download(bits.data());
    for (std::size_t i = 0; i < count; ++i) result[i] = from_bf16(bits[i]);
    return result;
  }

 private:
  DType dtype_;
  std::int64_t rows_, cols_;
  DeviceBuffer buffer_;
};

// Values in [-4, 4) that every matrix of a test gets differently; exact in bf16, so that rounding
// on the way in changes nothing.
inline std::vector<float> test_values(std::int64_t count, std::uint32_t seed) {
  std::vector<float> values;
  std::uint32_t state = seed * 2654435761u + 1;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    values.push_back((static_cast<float>(state >> 24) - 128.0f) / 32.0f);
  }
  return values;
}

// fp32 results carry the rounding of fp32 sums; bf16 ones half a unit in the last of 8 places more.
inline double relative_tolerance(DType dtype) {
  return dtype == DType::fp32 ? 4e-6 : 1.0 / 256 + 4e-6;
}

}  // namespace pleat::cuda
