// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/mixed_gemm.hpp"

#include "kernels/cuda/for_packs.cuh"

namespace pleat::cuda {
namespace {

constexpr std::int64_t kWorthwhile = 1 << 22;  // multiplications: below, one launch is faster than three

// Row r of `from` to row r of the two halves, `ld` apart.
struct SplitHalves {
  Vec<float> from;
  Vec<Bf16Value> high, low;
  std::int64_t cols, ld;
  __device__ void operator()(std::int64_t row, std::int64_t col, std::int64_t count) const {
    float v[kPack], rounded[kPack];
    from.load(row * cols + col, count, v);
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      rounded[i] = static_cast<float>(static_cast<Bf16Value>(v[i]));
      v[i] -= rounded[i];
    }
    high.store(rounded, row * ld + col, count);
    low.store(v, row * ld + col, count);
  }
};

}  // namespace

bool multiply_mixed(Resources& r, DenseGemm& dense, DenseProblem p, View a, View b, View c) {
  const View whole = a.dtype == DType::fp32 ? a : b, other = a.dtype == DType::fp32 ? b : a;
  if (whole.dtype != DType::fp32 || other.dtype != DType::bf16) return false;
  if (p.m * p.n * p.k < kWorthwhile || !aligned16(whole.data) || whole.cols % kPack != 0) return false;
  const View half{whole.data, DType::bf16, whole.rows, whole.cols};
  if (!DenseGemm::fits(half, other, c)) return false;
  const bool left = a.dtype == DType::fp32;
  const std::int64_t n = whole.elements();
  p.inputs = DType::bf16;
  if (c.dtype == DType::fp32) {
    Scratch scratch(r, kGemmWorkspace + 2 * Scratch::bytes<Bf16Value>(n));
    static_cast<void>(scratch.take_bytes(kGemmWorkspace));  // cuBLASLt's
    auto *high = scratch.take<Bf16Value>(n), *low = scratch.take<Bf16Value>(n);
    for_row_packs(r, whole.rows, whole.cols,
                  SplitHalves{{whole.f32(), true}, {high, true}, {low, true}, whole.cols,
                              whole.cols});
    for (const Bf16Value* part : {high, low}) {
      dense.run(p, left ? static_cast<const void*>(part) : a.data,
                left ? b.data : static_cast<const void*>(part), c.data);
      p.accumulate = true;
    }
    return true;
  }
  if (!left || p.transpose_a || p.transpose_b) return false;
  // [high | low] times b on top of b.
  Scratch scratch(r, kGemmWorkspace + Scratch::bytes<Bf16Value>(2 * n) +
                         Scratch::bytes<Bf16Value>(2 * b.elements()));
  static_cast<void>(scratch.take_bytes(kGemmWorkspace));
  auto* halves = scratch.take<Bf16Value>(2 * n);
  auto* twice = scratch.take<Bf16Value>(2 * b.elements());
  for_row_packs(r, a.rows, a.cols,
                SplitHalves{{a.f32(), true}, {halves, true}, {halves + a.cols, true}, a.cols,
                            2 * a.cols});
  const auto bytes = static_cast<std::size_t>(bytes_of(b.dtype, b.elements()));
  for (const std::int64_t place : {std::int64_t{0}, b.elements()}) {
    PLEAT_CUDA_CHECK(
        cudaMemcpyAsync(twice + place, b.data, bytes, cudaMemcpyDeviceToDevice, native(r)));
  }
  p.k *= 2;
  dense.run(p, halves, twice, c.data);
  return true;
}

}  // namespace pleat::cuda
