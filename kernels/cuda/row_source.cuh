// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What is quantised, as kernels read it: numbers in memory, or those that a norm or SwiGLU makes of
// what is there, rounded as they would have been stored. Sources have Vec's get and load.
#pragma once

#include <type_traits>

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

// |x| as bits, which are ordered as the numbers are; 0 of NaN.
__device__ __forceinline__ std::uint32_t size_bits(float x) {
  const std::uint32_t bits = __float_as_uint(x) & 0x7fffffffu;
  return bits > 0x7f800000u ? 0 : bits;
}

// `larger` of two bf16 numbers in a word; `most` has no NaN.
__device__ __forceinline__ std::uint32_t larger_two(std::uint32_t most, std::uint32_t two) {
  two &= 0x7fff7fffu;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  std::uint32_t larger_ones;
  asm("max.bf16x2 %0, %1, %2;" : "=r"(larger_ones) : "r"(most), "r"(two));
  return larger_ones;
#else
  const auto pick = [](std::uint32_t a, std::uint32_t b) { return b > 0x7f80u || a > b ? a : b; };
  return pick(most & 0xffffu, two & 0xffffu) | pick(most >> 16, two >> 16) << 16;
#endif
}

// Whether all that a source gives fits bf16.
template <class Source>
inline constexpr bool kGivesBf16 = false;
template <>
inline constexpr bool kGivesBf16<Vec<Bf16Value>> = true;
template <>
inline constexpr bool kGivesBf16<ComputedRows<NormRow<Bf16Value>>> = true;
template <>
inline constexpr bool kGivesBf16<ComputedRows<SwigluRow<Bf16Value>>> = true;

// 16 bytes, aligned, that nothing writes meanwhile. Not moved behind the use of others: compilers
// save registers at the price of loads that wait for each other.
__device__ __forceinline__ void load_words(const void* from, std::uint32_t (&to)[4]) {
#if defined(__CUDA_ARCH__)
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "l"(from));
#else
  const uint4 raw = *static_cast<const uint4*>(from);
  to[0] = raw.x, to[1] = raw.y, to[2] = raw.z, to[3] = raw.w;
#endif
}

// Eight numbers of a source as they wait in registers: two a word where they fit bf16, so that
// more of them can be on their way. Most: the largest |x| of each place, over packs.
template <class Source, bool kHalf = kGivesBf16<Source>>
struct Held {
  struct Most {
    float of[kPack] = {};
    [[nodiscard]] __device__ __forceinline__ float get(int i) const { return of[i]; }
  };
  float x[kPack];

  // Of a source whose packs are all aligned and whole (`wide`): without a branch where it stores
  // numbers.
  __device__ __forceinline__ void load_wide(const Source& from, std::int64_t at) {
    if constexpr (std::is_same_v<Source, Vec<float>>) {
      load_pack(from.data + at, x);
    } else {
      from.load(at, kPack, x);
    }
  }
  __device__ __forceinline__ void load(const Source& from, std::int64_t at, std::int64_t count) {
    from.load(at, count, x);
  }
  __device__ __forceinline__ void set(const float (&numbers)[kPack]) {
#pragma unroll
    for (int i = 0; i < kPack; ++i) x[i] = numbers[i];
  }
  [[nodiscard]] __device__ __forceinline__ float get(int i) const { return x[i]; }
  __device__ __forceinline__ void raise(Most& most) const {
#pragma unroll
    for (int i = 0; i < kPack; ++i) most.of[i] = larger(most.of[i], x[i]);
  }
  [[nodiscard]] __device__ __forceinline__ float largest() const {
    float all = 0;
#pragma unroll
    for (int i = 0; i < kPack; ++i) all = larger(all, x[i]);
    return all;
  }
};

template <class Source>
struct Held<Source, true> {
  static constexpr int kWords = kPack / 2;
  struct Most {
    std::uint32_t of[kWords] = {};
    [[nodiscard]] __device__ __forceinline__ float get(int i) const {
      return __uint_as_float(i % 2 == 0 ? of[i / 2] << 16 : of[i / 2] & 0xffff0000u);
    }
  };
  std::uint32_t x[kWords];

  __device__ __forceinline__ void load_wide(const Source& from, std::int64_t at) {
    if constexpr (std::is_same_v<Source, Vec<Bf16Value>>) {
      load_words(from.data + at, x);
    } else {
      load(from, at, kPack);
    }
  }
  __device__ __forceinline__ void load(const Source& from, std::int64_t at, std::int64_t count) {
    if constexpr (std::is_same_v<Source, Vec<Bf16Value>>) {
      if (from.wide && count >= kPack) return load_wide(from, at);  // nothing waits for it here
    }
    float wide[kPack];
    from.load(at, count, wide);
    set(wide);
  }
  __device__ __forceinline__ void set(const float (&wide)[kPack]) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      x[i] = __float_as_uint(wide[2 * i]) >> 16 | (__float_as_uint(wide[2 * i + 1]) & 0xffff0000u);
#if defined(__CUDA_ARCH__)
      asm volatile("" : "+r"(x[i]));  // else compilers see through it and keep the eight
#endif
    }
  }
  [[nodiscard]] __device__ __forceinline__ float get(int i) const {
    return __uint_as_float(i % 2 == 0 ? x[i / 2] << 16 : x[i / 2] & 0xffff0000u);
  }
  __device__ __forceinline__ void raise(Most& most) const {
#pragma unroll
    for (int i = 0; i < kWords; ++i) most.of[i] = larger_two(most.of[i], x[i]);
  }
  [[nodiscard]] __device__ __forceinline__ float largest() const {
    std::uint32_t all = 0;
#pragma unroll
    for (int i = 0; i < kWords; ++i) all = larger_two(all, x[i]);
    return fmaxf(__uint_as_float(all << 16), __uint_as_float(all & 0xffff0000u));
  }
};

// Of all eight places.
template <class Most>
__device__ __forceinline__ float largest_of(const Most& most) {
  float all = 0;
#pragma unroll
  for (int i = 0; i < kPack; ++i) all = fmaxf(all, most.get(i));
  return all;
}

// Whether load_wide may be used; what is computed asks for itself.
template <class Source>
__device__ __forceinline__ bool has_wide_packs(const Source& from) {
  if constexpr (requires { from.wide; }) {
    return from.wide;
  } else {
    return true;
  }
}

// Eight codes of one row, `factor(i)` times number i.
template <pleat::SmallFloat type, class Pack, class Factor>
__device__ __forceinline__ uint2 encode_pack(const Pack& x, Factor factor) {
  std::uint32_t two[kPack / 2];
#pragma unroll
  for (int i = 0; i < kPack; i += 2) {
    two[i / 2] =
        encode_two<type>(__fmul_rn(x.get(i), factor(i)), __fmul_rn(x.get(i + 1), factor(i + 1)));
  }
  return uint2{two[0] | two[1] << 16, two[2] | two[3] << 16};
}

}  // namespace pleat::cuda
