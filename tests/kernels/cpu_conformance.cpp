// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The CPU kernels under the conformance suite.
#include <cstdlib>
#include <cstring>

#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

class CpuDevice final : public Device {
 public:
  KernelSet& kernels() override { return *kernels_; }
  void* allocate(std::size_t bytes) override {
    return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  }
  void release(void* data) override { std::free(data); }
  void upload(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }

 private:
  std::unique_ptr<KernelSet> kernels_ = cpu_kernels();
};

INSTANTIATE_TEST_SUITE_P(Cpu, KernelConformance,
                         ::testing::Values(DeviceFactory{
                             "cpu", [] { return std::make_unique<CpuDevice>(); }}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace pleat::conformance
