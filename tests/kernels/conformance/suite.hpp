// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The conformance suite of KernelSet. A kernel set passes by linking the sources of this folder and
// one file that says INSTANTIATE_TEST_SUITE_P(Name, KernelConformance, Values(DeviceFactory{…})).
// Every buffer has guard elements on both sides; inputs must stay as they were; outputs start as
// NaN.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/kernel_set.hpp"
#include "tests/kernels/conformance/matrix.hpp"

namespace pleat::conformance {

// Where the kernels run; memory is theirs, upload and download wait until it is safe.
class Device {
 public:
  virtual ~Device() = default;
  virtual KernelSet& kernels() = 0;
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* data) = 0;
  virtual void upload(void* to, const void* from, std::size_t bytes) = 0;
  virtual void download(void* to, const void* from, std::size_t bytes) = 0;
};

struct DeviceFactory {
  std::string name;
  std::function<std::unique_ptr<Device>()> make;  // none: this machine has no such device
  friend std::ostream& operator<<(std::ostream& out, const DeviceFactory& f) {
    return out << f.name;
  }
};

class KernelConformance : public ::testing::TestWithParam<DeviceFactory> {
 protected:
  void SetUp() override;  // skips, or fails with PLEAT_REQUIRE_GPU=1, where there is no device
  void TearDown() override;

  [[nodiscard]] KernelSet& k() { return device_->kernels(); }
  [[nodiscard]] Device& device() { return *device_; }
  // Elements by which the next buffers are shifted from the allocator's alignment.
  void set_shift(std::int64_t elements) { shift_ = elements; }

  // In the type of floats, fp32 unless set.
  void set_floats(DType type) { floats_ = type; }
  View in(const Matrix& values);                   // must not change
  View inout(const Matrix& values);                // starts with these values
  View out(std::int64_t rows, std::int64_t cols);  // starts as NaN
  View in_f32(const Matrix& values);               // what is fp32 beside bf16 operands
  View inout_f32(const Matrix& values);
  View out_f32(std::int64_t rows, std::int64_t cols);
  View in_i32(const std::vector<std::int32_t>& values, std::int64_t rows, std::int64_t cols);
  View out_i32(std::int64_t rows, std::int64_t cols);
  // Codes of fp8, mxfp8 or nvfp4, with scales of their own; starts as poison.
  View out_codes(DType type, std::int64_t rows, std::int64_t cols);
  [[nodiscard]] std::vector<std::uint8_t> get_codes(View v);
  [[nodiscard]] Matrix get(View v);
  [[nodiscard]] std::vector<std::int32_t> get_i32(View v);  // also the bits of floats
  static View none() { return {}; }
  // What `run` makes of floats in bf16 against what it makes of fp32: every |got - want| <=
  // 1.6e-2 |want| + inside max(largest |want|, 1). Its inputs are bf16 numbers. `inside`: what
  // rounding to bf16 between products leaves of the largest value.
  void expect_same_in_bf16(const std::function<std::vector<View>()>& run, double inside = 1e-5);

 private:
  struct Buffer {
    void* memory;
    std::size_t before, after;  // bytes of guards
    bool read_only;
    std::vector<std::byte> bytes;  // as uploaded, guards included
  };
  View make(const std::vector<std::byte>& bytes, DType type, std::int64_t rows, std::int64_t cols,
            bool read_only);

  std::unique_ptr<Device> device_;
  std::vector<Buffer> buffers_;
  std::deque<BlockScales> scales_;
  std::int64_t shift_ = 0;
  DType floats_ = DType::fp32;
};

}  // namespace pleat::conformance
