// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Gated activations: SwiGLU, and a sigmoid gate for each row.
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/math.cuh"
#include "kernels/cuda/reduce.cuh"

namespace pleat {

// SwiGLU with an optional probability a row. u[R,2f] (gate | up), p[R] -> y[R,f], and back.
// Bound: memory, 3 * R * f elements forward, 5 * R * f backward, and p.

namespace {

using namespace cuda;

constexpr int kAtOnce = 2;  // packs that a thread loads before it uses one

template <class T>
struct Swiglu {
  Vec<T> u, y;
  const float* p;
  std::int64_t f, row_packs, packs;
};

template <class T>
__global__ void __launch_bounds__(kThreads) swiglu_kernel(Swiglu<T> s) {
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * (kThreads * kAtOnce) + threadIdx.x;
  Packed<T> gates[kAtOnce], ups[kAtOnce];
  std::int64_t row[kAtOnce], col[kAtOnce];
  float probability[kAtOnce];
#pragma unroll
  for (int k = 0; k < kAtOnce; ++k) {
    const std::int64_t pack = first + k * kThreads;
    if (pack >= s.packs) break;
    split(pack, s.row_packs, row[k], col[k]);
    col[k] *= kPack;
    const std::int64_t at = row[k] * 2 * s.f + col[k];
    s.u.fetch(at, s.f - col[k], gates[k]);
    s.u.fetch(at + s.f, s.f - col[k], ups[k]);
    probability[k] = s.p == nullptr ? 1.0f : s.p[row[k]];
  }
#pragma unroll
  for (int k = 0; k < kAtOnce; ++k) {
    if (first + k * kThreads >= s.packs) break;
    float gate[kPack], up[kPack];
    gates[k].unpack(gate);
    ups[k].unpack(up);
#pragma unroll
    for (int i = 0; i < kPack; ++i) gate[i] = swiglu_of<T>(gate[i], up[i], probability[k]);
    s.y.store(gate, row[k] * s.f + col[k], s.f - col[k]);
  }
}

// Threads of a row each take packs of it; dp is their sum.
template <class T, int kRowThreads>
struct SwigluGradient {
  Vec<T> dy, u, du;
  const float* p;
  float* dp;
  std::int64_t f;
  __device__ void operator()(std::int64_t row, int lane) const {
    const float probability = p == nullptr ? 1.0f : p[row];
    float sum = 0;
    constexpr int kStep = kRowThreads * kPack;
    for (std::int64_t first = lane * kPack; first < f; first += kAtOnce * kStep) {
      Packed<T> ds[kAtOnce], gates[kAtOnce], ups[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const std::int64_t col = first + k * kStep;
        if (col >= f) break;
        dy.fetch(row * f + col, f - col, ds[k]);
        u.fetch(row * 2 * f + col, f - col, gates[k]);
        u.fetch(row * 2 * f + f + col, f - col, ups[k]);
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const std::int64_t col = first + k * kStep;
        if (col >= f) break;
        float d[kPack], gate[kPack], up[kPack];
        ds[k].unpack(d);
        gates[k].unpack(gate);
        ups[k].unpack(up);
#pragma unroll
        for (int i = 0; i < kPack; ++i) {
          const float s = sigmoid_for<T>(gate[i]), silu = gate[i] * s;
          sum = fmaf(d[i], silu * up[i], sum);
          const float weighted = d[i] * probability;
          const float dgate = weighted * up[i] * s * (1.0f + gate[i] * (1.0f - s));
          up[i] = weighted * silu;
          gate[i] = dgate;
        }
        du.store(gate, row * 2 * f + col, f - col);
        du.store(up, row * 2 * f + f + col, f - col);
      }
    }
    if (dp == nullptr) return;
    sum = group_sum<kRowThreads>(sum);
    if (lane == 0) dp[row] = sum;
  }
};

}  // namespace

void CudaKernels::swiglu(View u, View p, View y) {
  const std::int64_t f = y.cols;
  PLEAT_ASSERT(u.cols == 2 * f && u.rows == y.rows);
  PLEAT_ASSERT(p.data == nullptr || (p.dtype == DType::fp32 && p.elements() == u.rows));
  const std::int64_t row_packs = ceil_div(f, kPack), packs = y.rows * row_packs;
  if (packs == 0) return;
  by_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    launch(*resources_, swiglu_kernel<T>, blocks_of(ceil_div(packs, kThreads * kAtOnce)), kThreads,
           0, Swiglu<T>{vec<T>(u, f), vec<T>(y, f), p.f32(), f, row_packs, packs});
  }, u, y);
}

void CudaKernels::swiglu_bwd(View dy, View u, View p, View du, View dp) {
  const std::int64_t f = dy.cols;
  PLEAT_ASSERT(u.cols == 2 * f && u.rows == dy.rows && du.rows == u.rows && du.cols == u.cols);
  PLEAT_ASSERT((p.data == nullptr) == (dp.data == nullptr));
  PLEAT_ASSERT(p.data == nullptr || (p.elements() == u.rows && dp.elements() == u.rows));
  PLEAT_ASSERT(p.dtype == DType::fp32 && dp.dtype == DType::fp32);
  by_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    const Vec<T> d = vec<T>(dy, f), x = vec<T>(u, f), g = vec<T>(du, f);
    if (f <= 4096) {
      for_rows<32>(*resources_, u.rows, SwigluGradient<T, 32>{d, x, g, p.f32(), dp.f32(), f});
    } else {
      for_rows<256>(*resources_, u.rows, SwigluGradient<T, 256>{d, x, g, p.f32(), dp.f32(), f});
    }
  }, dy, u, du);
}

// A sigmoid gate for each row: z = y sigmoid(gate), and back. Bound: memory.

namespace {

using namespace cuda;

struct Gate {
  Vec<AnyType> y, gate, z;
  std::int64_t cols;
  __device__ void operator()(std::int64_t row, std::int64_t col, std::int64_t count) const {
    float v[kPack];
    const float s = sigmoid(gate.get(row));
    y.load(row * cols + col, count, v);
#pragma unroll
    for (int i = 0; i < kPack; ++i) v[i] *= s;
    z.store(v, row * cols + col, count);
  }
};

struct GateGradient {
  Vec<AnyType> dz, y, gate, dy, dgate;
  std::int64_t cols;
  __device__ void operator()(std::int64_t row, int lane) const {
    const float s = sigmoid(gate.get(row));
    float sum = 0;
    for (std::int64_t col = lane * kPack; col < cols; col += kThreads * kPack) {
      float d[kPack], v[kPack];
      dz.load(row * cols + col, cols - col, d);
      y.load(row * cols + col, cols - col, v);
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        sum = fmaf(d[i], v[i], sum);
        d[i] *= s;
      }
      dy.store(d, row * cols + col, cols - col);
    }
    sum = group_sum<kThreads>(sum);
    if (lane == 0) dgate.set(row, sum * s * (1.0f - s));
  }
};

}  // namespace

void CudaKernels::sigmoid_gate(View y, View gate, View z) {
  PLEAT_ASSERT(gate.elements() == y.rows && z.rows == y.rows && z.cols == y.cols);
  for_row_packs(*resources_, y.rows, y.cols,
                Gate{vec<AnyType>(y, y.cols), vec<AnyType>(gate), vec<AnyType>(z, y.cols), y.cols});
}

void CudaKernels::sigmoid_gate_bwd(View dz, View y, View gate, View dy, View dgate) {
  PLEAT_ASSERT(gate.elements() == y.rows && dgate.elements() == y.rows);
  PLEAT_ASSERT(dz.elements() == y.elements() && dy.elements() == y.elements());
  for_rows<kThreads>(*resources_, y.rows,
                     GateGradient{vec<AnyType>(dz, y.cols), vec<AnyType>(y, y.cols),
                                  vec<AnyType>(gate), vec<AnyType>(dy, y.cols),
                                  vec<AnyType>(dgate), y.cols});
}

}  // namespace pleat
