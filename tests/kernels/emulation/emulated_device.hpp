// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels' own code on the CPU, threads between barriers in ascending or descending order.
#pragma once

#include "kernels/cuda/cuda_kernels.hpp"
#include "tests/kernels/conformance/suite.hpp"
#include "tests/kernels/emulation/block.hpp"

namespace pleat::cuda {
extern bool emulated_cudnn;
}  // namespace pleat::cuda

namespace pleat::conformance {

class EmulatedDevice final : public Device {
 public:
  explicit EmulatedDevice(bool descending) { emulation::set_descending(descending); }
  KernelSet& kernels() override { return *kernels_; }
  void* allocate(std::size_t bytes) override { return device_.allocate(bytes); }
  void release(void* data) override { device_.release(data); }
  void upload(void* to, const void* from, std::size_t bytes) override {
    device_.upload(to, from, bytes);
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    device_.download(to, from, bytes);
  }

 private:
  cuda::CudaDevice device_;
  std::unique_ptr<KernelSet> kernels_ = cuda_kernels(device_, {.scratch_bytes = 256});
};

inline DeviceFactory emulated(const char* name, bool descending) {
  return {name, [descending] { return std::make_unique<EmulatedDevice>(descending); }};
}

// With loops in cuDNN's place.
inline DeviceFactory emulated_library() {
  return {"library", [] {
            cuda::emulated_cudnn = true;
            auto device = std::make_unique<EmulatedDevice>(false);
            cuda::emulated_cudnn = false;
            return device;
          }};
}

}  // namespace pleat::conformance
