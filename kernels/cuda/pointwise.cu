// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The functions of core/elementwise.hpp. A second operand is the gate, or a probability a row.
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/math.cuh"
#include "kernels/cuda/reduce.cuh"

namespace pleat {
namespace {

using namespace cuda;

struct Slope {
  float value, by_first, by_second;  // and its derivatives
};

template <Elementwise f>
__device__ __forceinline__ Slope apply(float first, float second) {
  if constexpr (f == Elementwise::gelu) {
    const Gelu g(first);
    return {g.value, g.slope, 0};
  } else if constexpr (f == Elementwise::gated_gelu) {
    const Gelu g(first);
    return {g.value * second, g.slope * second, g.value};
  } else if constexpr (f == Elementwise::relu_squared) {
    const float x = first > 0 ? first : 0.0f;
    return {x * x, 2 * x, 0};
  } else if constexpr (f == Elementwise::gated_relu_squared) {
    const float x = first > 0 ? first : 0.0f;
    return {x * x * second, 2 * x * second, x * x};
  } else if constexpr (f == Elementwise::clamped_swiglu) {
    const float g = fminf(first, kGluLimit);
    const float u = fminf(fmaxf(second, -kGluLimit), kGluLimit) + 1.0f;
    const float s = sigmoid(kGluSlope * g), slope = s * (1.0f + kGluSlope * g * (1.0f - s));
    return {g * s * u, first > kGluLimit ? 0.0f : slope * u,
            fabsf(second) > kGluLimit ? 0.0f : g * s};
  } else {
    const float s = sigmoid(second);
    return {first * s, s, first * s * (1 - s)};
  }
}

// Where the operands of a function with n result columns are: b is the gate, or p in fp32.
template <Elementwise f>
struct Operands {
  static constexpr bool gate = f == Elementwise::sigmoid_gate, two = reads_gate_and_up(f);
  Vec<AnyType> a, b;
  const float* p;
  std::int64_t n;
  __device__ std::int64_t first(std::int64_t row) const { return row * (two ? 2 * n : n); }
  __device__ void load(std::int64_t row, std::int64_t col, float (&x)[kPack],
                       float (&y)[kPack]) const {
    a.load(first(row) + col, n - col, x);
    if constexpr (two) {
      a.load(first(row) + n + col, n - col, y);
    } else if constexpr (gate) {
      b.load(row * n + col, n - col, y);
    }
  }
};

template <Elementwise f>
struct Apply {
  Operands<f> in;
  Vec<AnyType> y;
  __device__ void operator()(std::int64_t row, std::int64_t col, std::int64_t count) const {
    float first[kPack], second[kPack] = {};
    in.load(row, col, first, second);
    const float p = in.p == nullptr ? 1.0f : in.p[row];
#pragma unroll
    for (int i = 0; i < kPack; ++i) first[i] = apply<f>(first[i], second[i]).value * p;
    y.store(first, row * in.n + col, count);
  }
};

template <Elementwise f, int kRowThreads>
struct ApplyGradient {
  Operands<f> in;
  Vec<AnyType> dy, da, db;
  float* dp;
  __device__ void operator()(std::int64_t row, int lane) const {
    const float p = in.p == nullptr ? 1.0f : in.p[row];
    float sum = 0;
    for (std::int64_t col = lane * kPack; col < in.n; col += kRowThreads * kPack) {
      float first[kPack], second[kPack] = {}, d[kPack];
      in.load(row, col, first, second);
      dy.load(row * in.n + col, in.n - col, d);
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        const Slope s = apply<f>(first[i], second[i]);
        sum = fmaf(d[i], s.value, sum);
        first[i] = d[i] * s.by_first * p;
        second[i] = d[i] * s.by_second * p;
      }
      da.store(first, in.first(row) + col, in.n - col);
      if constexpr (Operands<f>::two) da.store(second, in.first(row) + in.n + col, in.n - col);
      if constexpr (Operands<f>::gate) db.store(second, row * in.n + col, in.n - col);
    }
    if (dp == nullptr) return;
    sum = group_sum<kRowThreads>(sum);
    if (lane == 0) dp[row] = sum;
  }
};

void check(Elementwise f, View a, View b, std::int64_t rows, std::int64_t n) {
  PLEAT_ASSERT(f != Elementwise::none);
  PLEAT_ASSERT(a.rows == rows && a.cols == (reads_gate_and_up(f) ? 2 * n : n));
  const bool gate = f == Elementwise::sigmoid_gate;
  PLEAT_ASSERT(gate ? b.rows == rows && b.cols == n : b.data == nullptr || b.elements() == rows);
  PLEAT_ASSERT(gate || b.dtype == DType::fp32);
}

// g(std::integral_constant of the function)
template <class G>
void by_function(Elementwise f, G g) {
  switch (f) {
    case Elementwise::gelu:
      return g(std::integral_constant<Elementwise, Elementwise::gelu>{});
    case Elementwise::gated_gelu:
      return g(std::integral_constant<Elementwise, Elementwise::gated_gelu>{});
    case Elementwise::relu_squared:
      return g(std::integral_constant<Elementwise, Elementwise::relu_squared>{});
    case Elementwise::gated_relu_squared:
      return g(std::integral_constant<Elementwise, Elementwise::gated_relu_squared>{});
    case Elementwise::clamped_swiglu:
      return g(std::integral_constant<Elementwise, Elementwise::clamped_swiglu>{});
    case Elementwise::sigmoid_gate:
      return g(std::integral_constant<Elementwise, Elementwise::sigmoid_gate>{});
    case Elementwise::none: break;
  }
  PLEAT_ASSERT(!"no function");
}

template <Elementwise f>
Operands<f> operands(View a, View b, std::int64_t n) {
  const bool gate = f == Elementwise::sigmoid_gate;
  return {vec<AnyType>(a, n), gate ? vec<AnyType>(b, n) : Vec<AnyType>{}, gate ? nullptr : b.f32(),
          n};
}

}  // namespace

void CudaKernels::pointwise(Elementwise f, View a, View b, View y) {
  check(f, a, b, y.rows, y.cols);
  by_function(f, [&](auto function) {
    constexpr Elementwise kF = decltype(function)::value;
    for_row_packs(*resources_, y.rows, y.cols,
                  Apply<kF>{operands<kF>(a, b, y.cols), vec<AnyType>(y, y.cols)});
  });
}

void CudaKernels::pointwise_bwd(Elementwise f, View dy, View a, View b, View da, View db) {
  const std::int64_t n = dy.cols;
  check(f, a, b, dy.rows, n);
  PLEAT_ASSERT(da.elements() == a.elements() && db.elements() == b.elements());
  by_function(f, [&](auto function) {
    constexpr Elementwise kF = decltype(function)::value;
    const bool gate = kF == Elementwise::sigmoid_gate;
    for_rows<256>(*resources_, dy.rows,
                  ApplyGradient<kF, 256>{operands<kF>(a, b, n), vec<AnyType>(dy, n),
                                         vec<AnyType>(da, n),
                                         gate ? vec<AnyType>(db, n) : Vec<AnyType>{},
                                         gate || b.data == nullptr ? nullptr : db.f32()});
  });
}

}  // namespace pleat
