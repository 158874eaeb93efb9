// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Grouped products through a library that stands in for cuBLASLt 13.7, and where there is none.
#include <dlfcn.h>

#include <numeric>

#include "core/numerics/small_float.hpp"
#include "kernels/cuda/grouped_library.hpp"
#include "tests/kernels/emulation/emulated_device.hpp"
#include "tests/kernels/emulation/include/cuda_runtime.h"

namespace pleat::cuda {
extern void* emulated_cublaslt;
}

namespace pleat::conformance {
namespace {

void* library(const char* file) {
  void* const found = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(found, nullptr) << dlerror();
  return found;
}

class GroupedLibraryTest : public ::testing::Test {
 protected:
  void SetUp() override { emulated_capability = 90; }
  void TearDown() override {
    emulated_capability = 80;
    cuda::emulated_cublaslt = nullptr;
  }
};

std::vector<Bf16> bf16(const Matrix& m) {
  std::vector<Bf16> all;
  for (const double v : m.values) all.push_back(to_bf16(static_cast<float>(v)));
  return all;
}

// One grouped product of bf16 numbers.
struct Case {
  std::vector<std::int32_t> counts;
  std::int64_t n, k;
};

// Whether the library did it.
bool multiply(const Case& c, cuda::Products::Grouping grouping, bool transpose_b, bool accumulate,
              bool used = true) {
  const cuda::CudaDevice device;
  cuda::Resources resources(device, 256);
  cuda::GroupedLibrary groups(resources, used);
  std::vector<std::int32_t> counts = c.counts;
  const std::int64_t rows = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const std::int64_t experts = std::ssize(counts), n = c.n, k = c.k;
  const bool depth = grouping == cuda::Products::Grouping::depth;
  // By depth A is [rows, n], B is [rows, k]; else A [rows, k] times [n, k]^T or [k, n].
  const Matrix ma = random_matrix(rows, depth ? n : k, 1);
  const Matrix mb = depth         ? random_matrix(rows, k, 2)
                    : transpose_b ? random_matrix(experts * n, k, 2)
                                  : random_matrix(experts * k, n, 2);
  std::vector<Bf16> a = bf16(ma), b = bf16(mb), y(static_cast<std::size_t>(rows * n));
  std::vector<float> dw(static_cast<std::size_t>(experts * n * k), 3);
  cuda::Products p{.a = {a.data(), DType::bf16, ma.cols, 1},
                   .b = {b.data(), DType::bf16, mb.cols, 1},
                   .c = {},
                   .m = rows,
                   .n = n,
                   .k = k,
                   .grouping = grouping,
                   .groups = experts,
                   .counts = counts.data(),
                   .group_step = n * k,
                   .accumulate = accumulate};
  if (depth) {
    std::swap(p.a.row, p.a.col);
    p.c = {dw.data(), DType::fp32, k, 1};
    p.m = n;
    p.n = k;
    p.k = rows;
  } else {
    if (transpose_b) std::swap(p.b.row, p.b.col);
    p.c = {y.data(), DType::bf16, n, 1};
  }
  if (!groups.multiply(p)) return false;
  const auto at = [](const std::vector<Bf16>& m, std::int64_t i) {
    return static_cast<double>(to_float(m[static_cast<std::size_t>(i)]));
  };
  Matrix got, want;
  if (depth) {
    got = want = Matrix(experts * n, k, accumulate ? 3 : 0);
    got.values.assign(dw.begin(), dw.end());
  } else {
    got = want = Matrix(rows, n);
    for (std::int64_t i = 0; i < rows * n; ++i) got.values[static_cast<std::size_t>(i)] = at(y, i);
  }
  std::int64_t row = 0;
  for (std::int64_t g = 0; g < experts; ++g) {
    for (std::int64_t r = 0; r < counts[static_cast<std::size_t>(g)]; ++r, ++row) {
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < k; ++j) {
          if (depth) {
            want(g * n + i, j) += at(a, row * n + i) * at(b, row * k + j);
          } else {
            want(row, i) += at(a, row * k + j) *
                            at(b, transpose_b ? (g * n + i) * k + j : (g * k + j) * n + i);
          }
        }
      }
    }
  }
  expect_close(got, want, "product", depth ? 1e-6 : 4e-3);
  return true;
}

TEST_F(GroupedLibraryTest, ForwardAndBothBackwardProducts) {
  cuda::emulated_cublaslt = library(PLEAT_CUBLASLT_13_7);
  using enum cuda::Products::Grouping;
  for (const Case& c : {Case{{3, 0, 17, 1}, 24, 40}, Case{{0, 0, 5}, 16, 8}, Case{{64}, 32, 16}}) {
    EXPECT_TRUE(multiply(c, rows, true, false));
    EXPECT_TRUE(multiply(c, rows, false, false));
    EXPECT_TRUE(multiply({c.counts, c.n, 16}, depth, false, false));
    EXPECT_TRUE(multiply({c.counts, c.n, 16}, depth, false, true));
  }
}

TEST_F(GroupedLibraryTest, IsLeftOutWhereItIsMissing) {
  const Case c{{3, 0, 17, 1}, 24, 40};
  const auto rows = cuda::Products::Grouping::rows;
  EXPECT_FALSE(multiply(c, rows, true, false)) << "no library";
  cuda::emulated_cublaslt = library(PLEAT_CUBLASLT_13_6);
  EXPECT_FALSE(multiply(c, rows, true, false)) << "an older library";
  cuda::emulated_cublaslt = library("libm.so.6");
  EXPECT_FALSE(multiply(c, rows, true, false)) << "a library without the functions";
  cuda::emulated_cublaslt = library(PLEAT_CUBLASLT_13_7);
  EXPECT_FALSE(multiply(c, rows, true, false, false)) << "not asked for";
  EXPECT_FALSE(multiply({c.counts, 8, 40}, rows, true, false)) << "no kernel for the shape";
  EXPECT_FALSE(multiply({c.counts, 20, 40}, rows, true, false)) << "rows of 40 bytes";
  emulated_capability = 80;
  EXPECT_FALSE(multiply(c, rows, true, false)) << "an older GPU";
}

}  // namespace
}  // namespace pleat::conformance
