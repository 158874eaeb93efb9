// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// In place of cuBLASLt: our own product of any types.
#include "kernels/cuda/dense_gemm.hpp"

#include "kernels/cuda/products.hpp"
#include "kernels/cuda/stream.cuh"

namespace pleat::cuda {

struct DenseGemm::Library {
  Resources& resources;
};

DenseGemm::DenseGemm(Resources& resources, bool) : library_(new Library{resources}) {}
DenseGemm::~DenseGemm() = default;

bool DenseGemm::fits(View a, View b, View c) {
  return a.dtype == b.dtype && (c.dtype == DType::fp32 || c.dtype == a.dtype) && aligned16(c.data);
}

void DenseGemm::run(const DenseProblem& p, const void* a, const void* b, void* c) {
  const auto operand = [](const void* data, DType type, std::int64_t rows, std::int64_t cols,
                          bool transpose) {
    return Strided{const_cast<void*>(data), type, transpose ? 1 : cols, transpose ? rows : 1};
  };
  Products all{.a = operand(a, p.inputs, p.m, p.k, p.transpose_a),
               .b = operand(b, p.inputs, p.k, p.n, p.transpose_b),
               .c = operand(c, p.output, p.m, p.n, false),
               .m = p.m,
               .n = p.n,
               .k = p.k};
  all.accumulate = p.accumulate;
  multiply_any(library_->resources, all);
}

}  // namespace pleat::cuda
