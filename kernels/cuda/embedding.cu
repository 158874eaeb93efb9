// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rows of the token table, or of a shard of it. The gradient sorts the tokens by their row, stable,
// so that every row of the table adds its tokens' gradients in their order.
#include <cub/device/device_radix_sort.cuh>

#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"

namespace pleat {
namespace {

using namespace cuda;

constexpr std::uint32_t kElsewhere = 0xffffffffu;  // the row of another shard's token

template <class T>
struct Look {
  const std::int32_t* tokens;
  Vec<T> w, x;
  std::int64_t first, table_rows, cols;
  __device__ void operator()(std::int64_t t, std::int64_t col, std::int64_t count) const {
    const std::int64_t row = tokens[t] - first;
    float v[kPack] = {};
    if (row >= 0 && row < table_rows) w.load(row * cols + col, count, v);
    x.store(v, t * cols + col, count);
  }
};

struct RowsOfTokens {
  const std::int32_t* tokens;
  std::uint32_t* rows;
  std::int32_t* order;
  std::int64_t first, table_rows;
  __device__ void operator()(std::int64_t t) const {
    const std::int64_t row = tokens[t] - first;
    rows[t] = row >= 0 && row < table_rows ? static_cast<std::uint32_t>(row) : kElsewhere;
    order[t] = static_cast<std::int32_t>(t);
  }
};

// Threads at the first of a run of equal rows add up the run.
struct AddRuns {
  const std::uint32_t* rows;   // sorted
  const std::int32_t* order;   // the token at each place
  Vec<AnyType> dx, dw;
  std::int64_t tokens, cols;
  __device__ void operator()(std::int64_t i, std::int64_t col, std::int64_t count) const {
    const std::uint32_t row = rows[i];
    if (row == kElsewhere || (i > 0 && rows[i - 1] == row)) return;
    float sum[kPack], v[kPack];
    dw.load(static_cast<std::int64_t>(row) * cols + col, count, sum);
    for (std::int64_t j = i; j < tokens && rows[j] == row; ++j) {
      dx.load(static_cast<std::int64_t>(order[j]) * cols + col, count, v);
#pragma unroll
      for (int c = 0; c < kPack; ++c) sum[c] += v[c];
    }
    dw.store(sum, static_cast<std::int64_t>(row) * cols + col, count);
  }
};

}  // namespace

void CudaKernels::embedding(View tokens, View w, std::int64_t first, View x) {
  PLEAT_ASSERT(tokens.elements() == x.rows && w.cols == x.cols);
  by_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    for_row_packs(*resources_, x.rows, x.cols,
                  Look<T>{tokens.i32(), vec<T>(w, x.cols), vec<T>(x, x.cols), first, w.rows,
                          x.cols});
  }, w, x);
}

void CudaKernels::embedding_bwd(View dx, View tokens, std::int64_t first, View dw) {
  const std::int64_t n = dx.rows;
  PLEAT_ASSERT(tokens.elements() == n && dw.cols == dx.cols && n <= INT32_MAX);
  if (n == 0) return;
  Resources& r = *resources_;
  std::size_t sort_bytes = 0;
  PLEAT_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(
      nullptr, sort_bytes, static_cast<std::uint32_t*>(nullptr),
      static_cast<std::uint32_t*>(nullptr), static_cast<std::int32_t*>(nullptr),
      static_cast<std::int32_t*>(nullptr), static_cast<int>(n), 0, 32, native(r)));
  Scratch scratch(r, 4 * Scratch::bytes<std::uint32_t>(n) +
                         Scratch::bytes<std::byte>(static_cast<std::int64_t>(sort_bytes)));
  auto* rows = scratch.take<std::uint32_t>(n);
  auto* sorted = scratch.take<std::uint32_t>(n);
  auto* order = scratch.take<std::int32_t>(n);
  auto* sorted_order = scratch.take<std::int32_t>(n);
  void* temporary = scratch.take<std::byte>(static_cast<std::int64_t>(sort_bytes));
  for_each(r, n, RowsOfTokens{tokens.i32(), rows, order, first, dw.rows});
  PLEAT_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(temporary, sort_bytes, rows, sorted, order,
                                                   sorted_order, static_cast<int>(n), 0, 32,
                                                   native(r)));
  for_row_packs(r, n, dx.cols,
                AddRuns{sorted, sorted_order, vec<AnyType>(dx, dx.cols), vec<AnyType>(dw, dw.cols),
                        n, dx.cols});
}

}  // namespace pleat
