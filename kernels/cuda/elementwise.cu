// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Sums of matrices, GELU, and columns put beside each other. Bound: memory.
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/math.cuh"

namespace pleat {
namespace {

using namespace cuda;

template <class T>
struct Add {
  Vec<T> a, b, c, y;
  bool three;
  __device__ void operator()(std::int64_t at, std::int64_t count) const {
    float sum[kPack], more[kPack];
    a.load(at, count, sum);
    b.load(at, count, more);
#pragma unroll
    for (int i = 0; i < kPack; ++i) sum[i] += more[i];
    if (three) {
      c.load(at, count, more);
#pragma unroll
      for (int i = 0; i < kPack; ++i) sum[i] += more[i];
    }
    y.store(sum, at, count);
  }
};

template <class T>
struct GeluOf {
  Vec<T> u, y;
  __device__ void operator()(std::int64_t at, std::int64_t count) const {
    float v[kPack];
    u.load(at, count, v);
#pragma unroll
    for (int i = 0; i < kPack; ++i) v[i] = Gelu(v[i]).value;
    y.store(v, at, count);
  }
};

template <class T>
struct GeluGradient {
  Vec<T> dy, u, du;
  __device__ void operator()(std::int64_t at, std::int64_t count) const {
    float d[kPack], v[kPack];
    dy.load(at, count, d);
    u.load(at, count, v);
#pragma unroll
    for (int i = 0; i < kPack; ++i) d[i] *= Gelu(v[i]).slope;
    du.store(d, at, count);
  }
};

}  // namespace

void CudaKernels::add(View a, View b, View c, View y) {
  const std::int64_t n = y.elements();
  PLEAT_ASSERT(a.elements() == n && b.elements() == n);
  PLEAT_ASSERT(c.data == nullptr || c.elements() == n);
  by_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    const bool three = c.data != nullptr;
    for_packs(*resources_, n,
              Add<T>{vec<T>(a), vec<T>(b), three ? vec<T>(c) : Vec<T>{}, vec<T>(y), three});
  }, a, b, c, y);
}

void CudaKernels::gelu(View u, View y) {
  PLEAT_ASSERT(u.elements() == y.elements());
  by_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    for_packs(*resources_, u.elements(), GeluOf<T>{vec<T>(u), vec<T>(y)});
  }, u, y);
}

void CudaKernels::gelu_bwd(View dy, View u, View du) {
  PLEAT_ASSERT(u.elements() == dy.elements() && u.elements() == du.elements());
  by_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    for_packs(*resources_, u.elements(), GeluGradient<T>{vec<T>(dy), vec<T>(u), vec<T>(du)});
  }, dy, u, du);
}

void CudaKernels::concat_columns(View a, View b, View y) {
  PLEAT_ASSERT(a.rows == y.rows && b.rows == y.rows && a.cols + b.cols == y.cols);
  copy_columns(a, y, {.width = a.cols});
  copy_columns(b, y, {.width = b.cols, .to_first = a.cols});
}

void CudaKernels::concat_columns_bwd(View dy, View da, View db) {
  PLEAT_ASSERT(da.rows == dy.rows && db.rows == dy.rows && da.cols + db.cols == dy.cols);
  copy_columns(dy, da, {.width = da.cols});
  copy_columns(dy, db, {.width = db.cols, .from_first = da.cols});
}

}  // namespace pleat
