// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels under the conformance suite, in fp32 and in bf16.
#include "kernels/cuda/cuda_kernels.hpp"
#include "tests/kernels/conformance/bf16.hpp"
#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

class GpuDevice final : public Device {
 public:
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
  std::unique_ptr<KernelSet> kernels_ = cuda_kernels(device_);
};

DeviceFactory factory() {
  return {"gpu", []() -> std::unique_ptr<Device> {
            return cuda::device_count() > 0 ? std::make_unique<GpuDevice>() : nullptr;
          }};
}

INSTANTIATE_TEST_SUITE_P(Cuda, KernelConformance, ::testing::Values(factory()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Cuda, Bf16Conformance, ::testing::Values(factory()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace pleat::conformance
