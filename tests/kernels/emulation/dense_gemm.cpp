// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// In place of cuBLASLt: our own product of any types, and loops over narrow ones in its layouts.
#include "kernels/cuda/dense_gemm.hpp"

#include "core/numerics/small_float.hpp"
#include "kernels/cuda/cuda_check.cuh"
#include "kernels/cuda/grouped_library.hpp"
#include "kernels/cuda/products.hpp"

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

namespace {

// An operand as dense_gemm.hpp says cuBLASLt reads it.
float element(const NarrowOperand& x, std::int64_t o, std::int64_t i, std::int64_t outer,
              std::int64_t k) {
  const auto* const codes = static_cast<const std::uint8_t*>(x.codes);
  const std::int64_t at = o * k + i;
  const bool four_bits = x.kind.format == pleat::SmallFloat::e2m1;
  const auto code =
      !four_bits ? codes[at]
                 : static_cast<std::uint8_t>(at % 2 == 0 ? codes[at / 2] & 15 : codes[at / 2] >> 4);
  const float value = decode(x.kind.format, code);
  const auto* const wide = static_cast<const float*>(x.scales);
  const auto* const bytes = static_cast<const std::uint8_t*>(x.scales);
  const auto interleaved = [&](std::int64_t block) {
    const std::int64_t blocks = (k + block - 1) / block, across = (blocks + 3) / 4, kb = i / block;
    return bytes[(o / 128 * across + kb / 4) * 512 + o % 32 * 16 + o / 32 % 4 * 4 + kb % 4];
  };
  switch (x.kind.scales) {
    case NarrowScales::none:
      return value;
    case NarrowScales::tensor:
      return value * wide[0];
    case NarrowScales::vec128:
      return value * wide[i / 128 * outer + o];
    case NarrowScales::square128:
      return value * wide[o / 128 * (((k + 127) / 128 + 3) / 4 * 4) + i / 128];
    case NarrowScales::micro32:
      return value * decode_e8m0(interleaved(32));
    case NarrowScales::nvfp4_16:
      return value * decode(pleat::SmallFloat::e4m3, interleaved(16));
  }
  return 0;
}

int narrow_products = 0, fast_products = 0;

}  // namespace

int emulated_narrow_products() { return narrow_products; }
int emulated_fast_products() { return fast_products; }

void* emulated_cublaslt = nullptr;  // of its grouped products
void* cublaslt_handle() { return emulated_cublaslt; }

bool DenseGemm::run(DenseProblem p, const NarrowOperand& a, const NarrowOperand& b,
                    const float* factors, void* c) {
  ++narrow_products;
  fast_products += p.fast_accumulation;
  emulated_work(native(library_->resources), [=] {
  for (std::int64_t m = 0; m < p.m; ++m) {
    for (std::int64_t n = 0; n < p.n; ++n) {
      float sum = 0;
      for (std::int64_t i = 0; i < p.k; ++i)
        sum += element(a, m, i, p.m, p.k) * element(b, n, i, p.n, p.k);
      float* const to = static_cast<float*>(c) + m * p.n + n;  // tests have fp32 results
      const float beta = factors != nullptr ? factors[1] : p.accumulate ? 1.0F : 0.0F;
      *to = (factors != nullptr ? factors[0] : 1.0F) * sum + (beta == 0 ? 0 : beta * *to);
    }
  }
  });
  return true;
}

}  // namespace pleat::cuda
