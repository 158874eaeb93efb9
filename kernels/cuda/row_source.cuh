// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What is quantised, as kernels read it: numbers in memory, or those that a norm or SwiGLU makes of
// what is there, rounded as they would have been stored. Sources have Vec's get and load.
#pragma once

#include "kernels/cuda/codes.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/math.cuh"
#include "kernels/cuda/quantize.hpp"
#include "kernels/cuda/vec.cuh"

namespace pleat::cuda {

// get and load by `Row::pack(row, col, count, to)`, of columns that are in one row.
template <class Row>
struct ComputedRows {
  Row row;
  std::int64_t cols;
  __device__ __forceinline__ float get(std::int64_t at) const {
    float one[kPack];
    std::int64_t r, col;
    split(at, cols, r, col);
    row.pack(r, col, 1, one);
    return one[0];
  }
  __device__ __forceinline__ void load(std::int64_t at, std::int64_t count,
                                       float (&to)[kPack]) const {
    if (cols % kPack == 0) {
      std::int64_t r, col;
      split(at, cols, r, col);
      row.pack(r, col, count, to);
      return;
    }
#pragma unroll
    for (int i = 0; i < kPack; ++i) to[i] = i < count ? get(at + i) : 0.0f;
  }
};

// x * rstd * w
template <class T>
struct NormRow {
  Vec<T> x, w, y;  // y: the type of the result
  const float* rstd;
  std::int64_t cols;
  __device__ __forceinline__ void pack(std::int64_t row, std::int64_t col, std::int64_t count,
                                       float (&to)[kPack]) const {
    float weight[kPack];
    x.load(row * cols + col, count, to);
    w.load(col, count, weight);
    const float scale = rstd[row];
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      to[i] = i < count ? y.rounded(__fmul_rn(__fmul_rn(to[i], scale), weight[i])) : 0.0f;
    }
  }
};

template <class T>
struct SwigluRow {
  Vec<T> u, y;
  const float* p;  // of every row, or null
  std::int64_t cols;
  __device__ __forceinline__ void pack(std::int64_t row, std::int64_t col, std::int64_t count,
                                       float (&to)[kPack]) const {
    float up[kPack];
    u.load(row * 2 * cols + col, count, to);
    u.load(row * 2 * cols + cols + col, count, up);
    const float probability = p == nullptr ? 1.0f : p[row];
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      to[i] = i < count ? y.rounded(swiglu_of<T>(to[i], up[i], probability)) : 0.0f;
    }
  }
};

// f(source): packs begin at multiples of 8 in a row, or (`flat`) in the matrix.
template <class F>
void by_source(F f, const RowSource& s, bool flat = false) {
  const auto computed = [&](auto make) {
    if (s.x.dtype == DType::bf16 && s.y.dtype == DType::bf16 &&
        (s.w.data == nullptr || s.w.dtype == DType::bf16)) {
      make(Tag<Bf16Value>{});
    } else {
      make(Tag<AnyType>{});
    }
  };
  switch (s.kind) {
    case RowSource::Kind::stored:
      return by_type(
          [&](auto tag) {
            using T = typename decltype(tag)::type;
            f(flat ? vec<T>(s.x) : vec<T>(s.x, s.x.cols));
          },
          s.x);
    case RowSource::Kind::norm:
      return computed([&](auto tag) {
        using T = typename decltype(tag)::type;
        f(ComputedRows<NormRow<T>>{{vec<T>(s.x, s.cols()), vec<T>(s.w), vec<T>(s.y), s.factors,
                                    s.cols()}, s.cols()});
      });
    case RowSource::Kind::swiglu:
      return computed([&](auto tag) {
        using T = typename decltype(tag)::type;
        f(ComputedRows<SwigluRow<T>>{{vec<T>(s.x, s.cols()), vec<T>(s.y), s.factors, s.cols()},
                                     s.cols()});
      });
  }
}

// f(source, Format): e4m3 or e5m2.
template <class F>
void by_eight_bits(const RowSource& x, pleat::SmallFloat type, F f) {
  by_source(
      [&](auto source) {
        if (type == pleat::SmallFloat::e4m3) f(source, Format<pleat::SmallFloat::e4m3>{});
        if (type == pleat::SmallFloat::e5m2) f(source, Format<pleat::SmallFloat::e5m2>{});
      },
      x);
}

__device__ __forceinline__ float larger(float most, float x) {
  const float size = fabsf(x);
  return size > most ? size : most;  // passes over NaN
}

}  // namespace pleat::cuda
