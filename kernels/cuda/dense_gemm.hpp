// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Dense products through cuBLASLt. Its candidates for a shape are timed when the shape first comes,
// and the process keeps the fastest: all ranks that are threads then compute with the same one.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/cuda/resources.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

// How codes of 8 and 4 bits are scaled, as cuBLASLt has it. Blocks lie along K.
//   tensor: one fp32. vec128: [K/128, outer] fp32. square128: [outer/128, K/128] fp32, rows padded
//   to 4. micro32 (E8M0), nvfp4_16 (E4M3): bytes [outer, K/block] in blocks of 128 x 4, both padded
//   with 0, blocks K first; within a block (outer, k) is at outer % 32 * 16 + outer / 32 * 4 + k.
enum class NarrowScales : std::uint8_t { none, tensor, vec128, square128, micro32, nvfp4_16 };
struct NarrowKind {
  pleat::SmallFloat format = pleat::SmallFloat::e4m3;
  NarrowScales scales = NarrowScales::none;
  auto operator<=>(const NarrowKind&) const = default;
};
// [outer, K] codes, K contiguous.
struct NarrowOperand {
  const void *codes = nullptr, *scales = nullptr;
  NarrowKind kind;
};

// c[m,n] = op(a) op(b) (+ c), row major.
struct DenseProblem {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false, accumulate = false;
  DType inputs = DType::bf16, output = DType::bf16;
  int device = 0;
  NarrowKind narrow_a = {},
             narrow_b = {};  // of codes: then neither is as `inputs` and transposes say
  // Of codes of 8 bits, on Hopper: sums of 14 bits or so for a stretch of K, at up to twice the
  // speed.
  bool fast_accumulation = false;
  bool operator==(const DenseProblem&) const = default;
  auto operator<=>(const DenseProblem&) const = default;
};

// The first bytes of the scratch memory are cuBLASLt's while a product runs.
inline constexpr std::size_t kGemmWorkspace = std::size_t{32} << 20U;

class DenseGemm {
 public:
  DenseGemm(Resources& resources, bool tune);
  ~DenseGemm();
  DenseGemm(const DenseGemm&) = delete;
  DenseGemm& operator=(const DenseGemm&) = delete;

  // cuBLASLt's types, and every operand and row a multiple of 16 bytes. That rules out by shape
  // what would otherwise depend on where an operand lies.
  [[nodiscard]] static bool fits(View a, View b, View c);
  void run(const DenseProblem&, const void* a, const void* b, void* c);

  // c[m,n] = alpha a b^T + beta c. `factors`: alpha and beta in device memory; null: 1, and 1 where
  // it accumulates. False where cuBLASLt has no kernel for it: nothing was done.
  [[nodiscard]] bool run(DenseProblem, const NarrowOperand& a, const NarrowOperand& b,
                         const float* factors, void* c);

  // For benchmarks: seconds of every candidate of cuBLASLt that runs, fastest first, each run after
  // `before`. `c` is overwritten, or added to where the problem accumulates.
  [[nodiscard]] std::vector<double> time_candidates(const DenseProblem&, const void* a,
                                                    const void* b, void* c, int runs,
                                                    const std::function<void()>& before = {});
  [[nodiscard]] std::vector<double> time_candidates(DenseProblem, const NarrowOperand& a,
                                                    const NarrowOperand& b, void* c, int runs,
                                                    const std::function<void()>& before = {});

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace pleat::cuda
