// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The kernels on one CUDA stream. fp32 and bf16 operands, each by itself; arithmetic and sums are
// fp32, or fp64 where the CPU's are. Every result is the same bitwise every time on the same GPU.
// Views point to device memory; RopeShape::positions and AttentionPiece::visible to the host's.
#pragma once

#include <memory>

#include "kernels/cuda/cuda_options.hpp"
#include "kernels/cuda/device.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat {
namespace cuda {
class Resources;
class DenseGemm;
class FusedAttention;
class GroupedLibrary;
}  // namespace cuda

class CudaKernels final : public KernelSet {
 public:
  // The device must outlive the set.
  explicit CudaKernels(const cuda::CudaDevice& device, const CudaOptions& options = {});
  ~CudaKernels() override;
  [[nodiscard]] std::uint64_t age() const;  // cuda::Resources::age

#define PLEAT_KERNEL(result, name, parameters) result name parameters override;
#define PLEAT_MIXED_KERNEL(result, name, parameters) result name parameters override;
#include "kernels/kernel_functions.inc"

  void quantize(View x, View counts, View y, const Quantization&) override;
  void quantize_copies(View x, View counts, std::span<const QuantizedCopy>) override;
  void rms_norm_quantize(View x, View residual, View sum, View w, View y, bool keep, View rstd,
                         double eps, std::span<const QuantizedCopy>) override;
  void swiglu_quantize(View u, View p, View counts, View y, bool keep,
                       std::span<const QuantizedCopy>) override;
  void largest_of_history(View history, View amax) override;
  void read_scales(View y) override;
  void write_scales(View y) override;

 private:
  std::unique_ptr<cuda::Resources> resources_;
  std::unique_ptr<cuda::DenseGemm> dense_;
  std::unique_ptr<cuda::GroupedLibrary> groups_;
  std::unique_ptr<cuda::FusedAttention> fused_;  // none: our own kernels alone
  bool codes_;                                   // CudaOptions::attention_of_codes
};

[[nodiscard]] std::unique_ptr<KernelSet> cuda_kernels(const cuda::CudaDevice& device,
                                                      const CudaOptions& options = {});

}  // namespace pleat
