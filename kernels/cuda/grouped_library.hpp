// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The grouped product that cuBLASLt has from 13.4 on (used from 13.7), with sizes in device memory.
// CUDA 13.1's headers do not know it, so it is called through its C interface, if the library that
// is loaded has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "kernels/cuda/products.hpp"

namespace pleat::cuda {

// Of cublasLt.h and library_types.h; cublaslt_library.cpp compares those that its headers have.
namespace lt {
using Handle = void*;
using Descriptor = void*;
using Layout = void*;
using Preference = void*;
struct Algorithm {
  std::uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};
inline constexpr int kSuccess = 0, kCompute32 = 68, kFp32 = 0, kBf16 = 14;
inline constexpr int kPointerMode = 2, kTransposeA = 3, kTransposeB = 4, kAlphaStride = 39,
                     kBetaStride = 40;  // of a descriptor
inline constexpr int kPointersOnDevice = 1, kNormal = 0, kTransposed = 1;
inline constexpr int kMostWorkspace = 1, kAlignmentA = 5, kAlignmentB = 6, kAlignmentC = 7,
                     kAlignmentD = 8, kAverageDepth = 13, kAverageRows = 14,
                     kAverageColumns = 15;  // of a preference
inline constexpr int kShapeWidth = 12, kLdWidth = 13, kWidth64 = 1;  // of a grouped layout
// 13.4 has it, but before 13.7 products that share a workspace may hang on Hopper (known issue
// 6456362 of cuBLAS's release notes).
inline constexpr std::size_t kLeastVersion = 130700;
}  // namespace lt

struct GroupedFunctions {
  std::size_t (*version)() = nullptr;
  int (*create)(lt::Handle*) = nullptr;
  int (*destroy)(lt::Handle) = nullptr;
  int (*descriptor_create)(lt::Descriptor*, int compute, int scale) = nullptr;
  int (*descriptor_destroy)(lt::Descriptor) = nullptr;
  int (*descriptor_set)(lt::Descriptor, int attribute, const void*, std::size_t) = nullptr;
  int (*layout_create)(lt::Layout*, int type, int groups, const void* rows, const void* columns,
                       const void* ld) = nullptr;
  int (*layout_destroy)(lt::Layout) = nullptr;
  int (*layout_set)(lt::Layout, int attribute, const void*, std::size_t) = nullptr;
  int (*preference_create)(lt::Preference*) = nullptr;
  int (*preference_destroy)(lt::Preference) = nullptr;
  int (*preference_set)(lt::Preference, int attribute, const void*, std::size_t) = nullptr;
  int (*heuristic)(lt::Handle, lt::Descriptor, lt::Layout a, lt::Layout b, lt::Layout c,
                   lt::Layout d, lt::Preference, int most, lt::Heuristic*, int* found) = nullptr;
  int (*multiply)(lt::Handle, lt::Descriptor, const void* alpha, const void* a, lt::Layout,
                  const void* b, lt::Layout, const void* beta, const void* c, lt::Layout, void* d,
                  lt::Layout, const lt::Algorithm*, void* workspace, std::size_t, void* stream) =
      nullptr;
};

// Why a library that dlopen gave (null: none) has no such product that is used here; empty: it has.
[[nodiscard]] std::string grouped_objection(void* library);
// Null where there is an objection.
[[nodiscard]] std::unique_ptr<const GroupedFunctions> grouped_functions(void* library);

// The library that dense products use, or null.
[[nodiscard]] void* cublaslt_handle();

// What it reads in device memory for each group, in its order: columns first, so that C^T = B^T
// A^T.
struct GroupedArrays {
  std::int64_t *m, *n, *k, *ld_first, *ld_second, *ld_result;
  const void **first, **second;  // our B and A
  void** result;
  const float **alpha, **beta;
  float* factors;  // 1, and 1 or 0
};
inline constexpr std::int64_t kGroupedArrays = 12;
void fill_grouped_arrays(const Resources&, const Products&, const GroupedArrays&);
// Zeros in what an expert without rows has of C, fp32, counted by depth.
void clear_empty_groups(const Resources&, const Products&);

class GroupedLibrary {
 public:
  // Not `used`: multiply() does nothing.
  GroupedLibrary(Resources& resources, bool used) : resources_(resources), asked_(!used) {}
  ~GroupedLibrary();
  GroupedLibrary(const GroupedLibrary&) = delete;
  GroupedLibrary& operator=(const GroupedLibrary&) = delete;

  // bf16 to bf16 or fp32, on GPUs from sm_90 on. False where the library, the operands or the shape
  // do not allow it: nothing was done.
  [[nodiscard]] bool multiply(const Products&);

 private:
  struct Shape {
    std::int64_t m, n, k, groups;
    bool by_depth, transpose_first, transpose_second, wide_result;
    auto operator<=>(const Shape&) const = default;
  };
  class Call;
  bool ready();

  Resources& resources_;
  bool asked_ = false;
  std::unique_ptr<const GroupedFunctions> functions_;
  lt::Handle handle_ = nullptr;
  std::map<Shape, std::optional<lt::Algorithm>> chosen_;  // none: it has no kernel
};

}  // namespace pleat::cuda
