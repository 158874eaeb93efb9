// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Dense products through cuBLASLt. Its candidates for a shape are timed when the shape first comes, and
// the process keeps the fastest: all ranks that are threads then compute with the same one.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/cuda/resources.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

// c[m,n] = op(a) op(b) (+ c), row major.
struct DenseProblem {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false, accumulate = false;
  DType inputs = DType::bf16, output = DType::bf16;
  int device = 0;
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

  // cuBLASLt's types, and every operand and row a multiple of 16 bytes. That rules out by shape what
  // would otherwise depend on where an operand lies.
  [[nodiscard]] static bool fits(View a, View b, View c);
  void run(const DenseProblem&, const void* a, const void* b, void* c);

  // For benchmarks: seconds of every candidate of cuBLASLt, fastest first. `c` is overwritten.
  [[nodiscard]] std::vector<double> time_candidates(const DenseProblem&, const void* a,
                                                    const void* b, void* c, int runs);

 private:
  struct Library;
  std::unique_ptr<Library> library_;
};

}  // namespace pleat::cuda
