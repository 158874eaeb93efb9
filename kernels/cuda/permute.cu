// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Copies of token rows in expert order, and back. Bound: memory. Forward a token's row is read once
// and written for each of its copies; backward its copies are read and their sum is written.
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/permute_map.hpp"
#include "kernels/cuda/row_copy.cuh"

namespace pleat {
namespace {

using namespace cuda;

std::int64_t copies_per_token(View row_map, std::int64_t tokens) {
  if (tokens == 0) return 0;
  PLEAT_ASSERT(row_map.elements() % tokens == 0);
  return row_map.elements() / tokens;
}

// Unit `i` of all tokens' rows to the rows of its copies.
template <class U>
struct Spread {
  const U* from;
  U* to;
  const std::int32_t* row_map;
  std::int64_t units, k;
  __device__ void operator()(std::int64_t i) const {
    std::int64_t token, unit;
    split(i, units, token, unit);
    const U value = from[i];
    for (std::int64_t j = 0; j < k; ++j) {
      const std::int64_t row = row_map[token * k + j];
      if (row >= 0) to[row * units + unit] = value;
    }
  }
};

struct PlaceProbs {
  const float* probs;
  float* placed;
  const std::int32_t* row_map;
  __device__ void operator()(std::int64_t i) const {
    if (row_map[i] >= 0) placed[row_map[i]] = probs[i];
  }
};

// Rows that an expert counts and no copy fills. A block an expert.
template <class U>
__global__ void __launch_bounds__(kThreads)
    fill_up_kernel(const std::int32_t* counts, PermuteMap m, std::int64_t units, U* rows,
                   float* probs) {
  const std::int64_t first = m.begin[blockIdx.x] + m.filled[blockIdx.x];
  const std::int64_t last = m.begin[blockIdx.x] + counts[blockIdx.x];
  for (std::int64_t i = first * units + threadIdx.x; i < last * units; i += kThreads) rows[i] = U{};
  for (std::int64_t i = first + threadIdx.x; i < last; i += kThreads) probs[i] = 0;
}

// y[t] = (add ? y[t] : 0) + the rows of its copies, j ascending.
template <class T>
struct Gather {
  Vec<T> px, y;
  const std::int32_t* row_map;
  std::int64_t cols, k;
  bool add;
  __device__ void operator()(std::int64_t token, std::int64_t col, std::int64_t count) const {
    float sum[kPack] = {}, v[kPack];
    if (add) y.load(token * cols + col, count, sum);
#pragma unroll 4
    for (std::int64_t j = 0; j < k; ++j) {
      const std::int64_t row = row_map[token * k + j];
      if (row < 0) continue;
      px.load(row * cols + col, count, v);
#pragma unroll
      for (int i = 0; i < kPack; ++i) sum[i] += v[i];
    }
    y.store(sum, token * cols + col, count);
  }
};

struct ProbGradient {
  const float* dpp;
  float* dprobs;
  const std::int32_t* row_map;
  __device__ void operator()(std::int64_t i) const {
    dprobs[i] = row_map[i] < 0 ? 0.0f : dpp[row_map[i]];
  }
};

struct MarkRows {
  const std::int32_t* row_map;
  std::uint8_t* marks;
  __device__ void operator()(std::int64_t i) const {
    if (row_map[i] >= 0) marks[row_map[i]] = 1;
  }
};

template <class U>
struct ZeroUnmarked {
  const std::uint8_t* marks;
  U* rows;
  std::int64_t units;
  __device__ void operator()(std::int64_t row) const {
    if (marks[row] != 0) return;  // nearly always
    for (std::int64_t i = 0; i < units; ++i) rows[row * units + i] = U{};
  }
};

void gather(const Resources& r, View px, View row_map, View y, bool add) {
  const std::int64_t k = copies_per_token(row_map, y.rows);
  by_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    for_row_packs(r, y.rows, y.cols,
                  Gather<T>{vec<T>(px, px.cols), vec<T>(y, y.cols), row_map.i32(), y.cols, k, add});
  }, px, y);
}

void spread(const Resources& r, View x, View row_map, View px) {
  const std::int64_t k = copies_per_token(row_map, x.rows);
  by_row_unit([&](auto tag, std::int64_t width) {
    using U = typename decltype(tag)::type;
    for_each(r, x.rows * width,
             Spread<U>{units<U>(x), units<U>(px), row_map.i32(), width, k});
  }, x, px);
}

}  // namespace

void CudaKernels::permute(View x, View probs, View experts, View counts, std::int64_t first,
                          View px, View pp, View row_map) {
  Resources& r = *resources_;
  const std::int64_t copies = experts.elements(), groups = counts.elements();
  PLEAT_ASSERT(probs.elements() == copies && px.cols == x.cols);
  PLEAT_ASSERT(pp.elements() == px.rows && row_map.elements() == copies);
  PLEAT_ASSERT(probs.dtype == DType::fp32 && pp.dtype == DType::fp32);
  PermuteMap m = PermuteMap::sized(copies);
  Scratch scratch(r, m.scratch_bytes(groups));
  m.before = scratch.take<int>(m.runs * groups);
  m.filled = scratch.take<int>(groups);
  m.begin = scratch.take<int>(groups);
  make_permute_map(r, experts, counts, first, row_map, m);
  spread(r, x, row_map, px);
  for_each(r, copies, PlaceProbs{probs.f32(), pp.f32(), row_map.i32()});
  by_row_unit([&](auto tag, std::int64_t width) {
    using U = typename decltype(tag)::type;
    launch(r, fill_up_kernel<U>, blocks_of(groups), kThreads, 0,
           static_cast<const std::int32_t*>(counts.i32()), m, width, units<U>(px), pp.f32());
  }, px);
}

void CudaKernels::permute_bwd(View dpx, View dpp, View row_map, View dx, View dprobs,
                              bool accumulate) {
  PLEAT_ASSERT(dpx.cols == dx.cols && dpp.elements() == dpx.rows);
  PLEAT_ASSERT(dprobs.elements() == row_map.elements());
  PLEAT_ASSERT(dpp.dtype == DType::fp32 && dprobs.dtype == DType::fp32);
  gather(*resources_, dpx, row_map, dx, accumulate);
  for_each(*resources_, row_map.elements(),
           ProbGradient{dpp.f32(), dprobs.f32(), row_map.i32()});
}

void CudaKernels::unpermute(View px, View row_map, View y) {
  PLEAT_ASSERT(px.cols == y.cols);
  gather(*resources_, px, row_map, y, false);
}

void CudaKernels::unpermute_bwd(View dy, View row_map, View dpx) {
  PLEAT_ASSERT(dpx.cols == dy.cols);
  if (dpx.rows == 0) return;
  Resources& r = *resources_;
  Scratch scratch(r, Scratch::bytes<std::uint8_t>(dpx.rows));
  auto* marks = scratch.take<std::uint8_t>(dpx.rows);
  r.device().make_current();
  PLEAT_CUDA_CHECK(cudaMemsetAsync(marks, 0, static_cast<std::size_t>(dpx.rows), native(r)));
  for_each(r, row_map.elements(), MarkRows{row_map.i32(), marks});
  by_row_unit([&](auto tag, std::int64_t width) {
    using U = typename decltype(tag)::type;
    for_each(r, dpx.rows, ZeroUnmarked<U>{marks, units<U>(dpx), width});
  }, dpx);
  if (dy.rows > 0) spread(r, dy, row_map, dpx);
}

}  // namespace pleat
