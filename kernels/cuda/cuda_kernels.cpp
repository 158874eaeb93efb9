// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_kernels.hpp"

#include "kernels/cuda/dense_gemm.hpp"
#include "kernels/cuda/fused_attention.hpp"
#include "kernels/cuda/grouped_library.hpp"
#include "kernels/cuda/resources.hpp"

namespace pleat {

CudaKernels::CudaKernels(const cuda::CudaDevice& device, const CudaOptions& options)
    : resources_(std::make_unique<cuda::Resources>(device, options.scratch_bytes)),
      dense_(std::make_unique<cuda::DenseGemm>(*resources_, options.tune_gemms)),
      groups_(std::make_unique<cuda::GroupedLibrary>(*resources_, options.library_groups)),
      fused_(cuda::fused_attention(*resources_, options.deterministic_attention)),
      codes_(options.attention_of_codes) {}

CudaKernels::~CudaKernels() = default;

std::uint64_t CudaKernels::age() const { return resources_->age(); }

std::unique_ptr<KernelSet> cuda_kernels(const cuda::CudaDevice& device,
                                        const CudaOptions& options) {
  return std::make_unique<CudaKernels>(device, options);
}

#ifndef PLEAT_WITH_CUDNN
namespace cuda {
std::unique_ptr<FusedAttention> fused_attention(Resources&, bool) { return nullptr; }
std::string cudnn_status() { return "not built in"; }
}  // namespace cuda
#endif

}  // namespace pleat
