// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Optimizer moments in narrow types. Bound: memory.
#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/adam.cuh"
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/reduce.cuh"

namespace pleat::cuda {

// Floats of 8 and 16 bits in a block with a scale, bit by bit as the CPU's
// (kernels/cpu/moments.cpp).

// A float of 1 sign bit, exponent and mantissa.
struct SmallFloat {
  int exponent_bits, mantissa_bits;
  float largest;  // that blocks are scaled to: no rounding leaves its range
};
inline constexpr SmallFloat kE4M3{4, 3, 448.0F}, kF16{5, 10, 32768.0F};

__device__ __forceinline__ int exponent_of(float x) {
  return static_cast<int>((__float_as_uint(x) >> 23) & 255u) - 127;
}
__device__ __forceinline__ float power_of_two(int e) {
  return __uint_as_float(static_cast<std::uint32_t>(e + 127) << 23);
}

// |x| <= largest. Rounded to nearest even, the smallest numbers to multiples of the smallest one.
__device__ __forceinline__ unsigned encode(float x, SmallFloat t) {
  const unsigned sign = (__float_as_uint(x) >> 31) << (t.exponent_bits + t.mantissa_bits);
  const int lowest = 2 - (1 << (t.exponent_bits - 1));
  const int e = max(exponent_of(x), lowest);
  const auto units = static_cast<unsigned>(rintf(fabsf(x) / power_of_two(e - t.mantissa_bits)));
  // Fewer than `full` units have no leading one, twice as many carry into the exponent by
  // themselves.
  const unsigned full = 1u << t.mantissa_bits;
  return sign | (static_cast<unsigned>(e - lowest) * full + units);
}

__device__ __forceinline__ float decode(unsigned bits, SmallFloat t) {
  const unsigned full = 1u << t.mantissa_bits;
  const unsigned mantissa = bits & (full - 1);
  const int lowest = 2 - (1 << (t.exponent_bits - 1));
  const int exponent = static_cast<int>((bits >> t.mantissa_bits) & ((1u << t.exponent_bits) - 1));
  const float unit =
      power_of_two((exponent == 0 ? lowest : lowest - 1 + exponent) - t.mantissa_bits);
  const float size = static_cast<float>(exponent == 0 ? mantissa : mantissa + full) * unit;
  return (bits >> (t.exponent_bits + t.mantissa_bits)) != 0 ? -size : size;
}

// The least power of two that brings a block's largest element to at most `largest`.
__device__ __forceinline__ float block_scale(float most, float largest) {
  if (!(most > 0.0f)) return 1.0f;
  int e = min(max(exponent_of(most) - exponent_of(largest) - 1, -120), 110);
  while (e < 110 && largest * power_of_two(e) < most) ++e;
  return power_of_two(e);
}

}  // namespace pleat::cuda

namespace pleat {
// Optimizer moments in narrow types: a warp takes a block of them to fp32, steps, and brings it
// back. Bound: memory.

namespace {

using namespace cuda;

constexpr int kLaneElements = static_cast<int>(kMomentBlockElements) / kWarp;

// A lane has the elements lane, lane + 32, lane + 64 and so on of a block.
__device__ __forceinline__ std::int64_t place(std::int64_t block, int lane, int i) {
  return block * kMomentBlockElements + lane + i * kWarp;
}

struct MomentBlocks {
  void* values;
  float* scales;
  DType type;
  std::int64_t n;

  __device__ void read(std::int64_t block, int lane, float (&x)[kLaneElements]) const {
    const bool scaled = type == DType::fp16 || type == DType::fp8;
    const float scale = scaled ? scales[block] : 1.0f;
#pragma unroll
    for (int i = 0; i < kLaneElements; ++i) {
      const std::int64_t at = place(block, lane, i);
      x[i] = at < n ? scale * raw(at) : 0.0f;
    }
  }
  __device__ void write(std::int64_t block, int lane, const float (&x)[kLaneElements]) const {
    float scale = 1.0f;
    if (type == DType::fp16 || type == DType::fp8) {
      float most = 0.0f;
#pragma unroll
      for (int i = 0; i < kLaneElements; ++i) most = fmaxf(most, fabsf(x[i]));
      scale = block_scale(warp_max(most), type == DType::fp16 ? kF16.largest : kE4M3.largest);
      __syncwarp();  // all have read the old one
      if (lane == 0) scales[block] = scale;
    }
#pragma unroll
    for (int i = 0; i < kLaneElements; ++i) {
      const std::int64_t at = place(block, lane, i);
      if (at < n) set(at, x[i], 1.0f / scale);
    }
  }

 private:
  __device__ float raw(std::int64_t at) const {
    if (type == DType::fp32) return static_cast<const float*>(values)[at];
    if (type == DType::bf16) return static_cast<float>(static_cast<const Bf16Value*>(values)[at]);
    if (type == DType::fp16) return decode(static_cast<const std::uint16_t*>(values)[at], kF16);
    return decode(static_cast<const std::uint8_t*>(values)[at], kE4M3);
  }
  __device__ void set(std::int64_t at, float x, float inverse) const {
    if (type == DType::fp32) {
      static_cast<float*>(values)[at] = x;
    } else if (type == DType::bf16) {
      static_cast<Bf16Value*>(values)[at] = static_cast<Bf16Value>(x);
    } else if (type == DType::fp16) {
      static_cast<std::uint16_t*>(values)[at] =
          static_cast<std::uint16_t>(encode(x * inverse, kF16));
    } else {
      static_cast<std::uint8_t*>(values)[at] =
          static_cast<std::uint8_t>(encode(x * inverse, kE4M3));
    }
  }
};

MomentBlocks blocks(const Moment& m) {
  const DType t = m.values.dtype;
  PLEAT_ASSERT(t == DType::fp32 || t == DType::bf16 || t == DType::fp16 || t == DType::fp8);
  return {m.values.data, m.scales, t, m.values.elements()};
}

struct Read {
  MomentBlocks from;
  Vec<AnyType> to;
  __device__ void operator()(std::int64_t block, int lane) const {
    float x[kLaneElements];
    from.read(block, lane, x);
    for (int i = 0; i < kLaneElements; ++i) {
      const std::int64_t at = place(block, lane, i);
      if (at < from.n) to.set(at, x[i]);
    }
  }
};

struct Write {
  Vec<AnyType> from;
  MomentBlocks to;
  __device__ void operator()(std::int64_t block, int lane) const {
    float x[kLaneElements];
    for (int i = 0; i < kLaneElements; ++i) {
      const std::int64_t at = place(block, lane, i);
      x[i] = at < to.n ? from.get(at) : 0.0f;
    }
    to.write(block, lane, x);
  }
};

struct NarrowAdam {
  MomentBlocks m, v;
  Vec<AnyType> g, w;
  Vec<Bf16Value> weights;  // without data: not written
  AdamFactors decayed, undecayed;
  const ElementSpan* spans;  // without decay, in order
  std::int64_t span_count;

  __device__ bool decays(std::int64_t at) const {
    std::int64_t low = 0, high = span_count;  // the first span that ends behind `at`
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (spans[middle].first + spans[middle].elements <= at) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low == span_count || spans[low].first > at;
  }
  __device__ void operator()(std::int64_t block, int lane) const {
    float mean[kLaneElements], square[kLaneElements];
    m.read(block, lane, mean);
    v.read(block, lane, square);
    for (int i = 0; i < kLaneElements; ++i) {
      const std::int64_t at = place(block, lane, i);
      if (at >= m.n) continue;
      float weight = w.get(at);
      (decays(at) ? decayed : undecayed).step(g.get(at), mean[i], square[i], weight);
      w.set(at, weight);
      if (weights.data != nullptr) weights.set(at, weight);
    }
    m.write(block, lane, mean);
    v.write(block, lane, square);
  }
};

}  // namespace

void CudaKernels::read_moment(Moment from, View to) {
  PLEAT_ASSERT(from.values.elements() == to.elements());
  for_rows<kWarp>(*resources_, ceil_div(to.elements(), kMomentBlockElements),
                  Read{blocks(from), vec<AnyType>(to)});
}

void CudaKernels::write_moment(View from, Moment to) {
  PLEAT_ASSERT(to.values.elements() == from.elements());
  for_rows<kWarp>(*resources_, ceil_div(from.elements(), kMomentBlockElements),
                  Write{vec<AnyType>(from), blocks(to)});
}

void CudaKernels::adamw_narrow(View g, Moment m, Moment v, View w, double grad_scale,
                               const AdamW& a, std::span<const ElementSpan> undecayed,
                               View weights) {
  const std::int64_t n = w.elements();
  PLEAT_ASSERT(g.elements() == n && m.values.elements() == n && v.values.elements() == n);
  const bool rounds = weights.data != nullptr;
  PLEAT_ASSERT(!rounds || (weights.elements() == n && weights.dtype == DType::bf16));
  if (n == 0) return;
  const auto count = static_cast<std::int64_t>(undecayed.size());
  Scratch scratch(*resources_, Scratch::bytes<ElementSpan>(count));
  auto* const spans = scratch.take<ElementSpan>(count);
  if (count > 0) resources_->device().stage(spans, undecayed.data(), undecayed.size_bytes());
  AdamW without = a;
  without.weight_decay = 0;
  for_rows<kWarp>(*resources_, ceil_div(n, kMomentBlockElements),
                  NarrowAdam{blocks(m), blocks(v), vec<AnyType>(g), vec<AnyType>(w),
                             rounds ? vec<Bf16Value>(weights) : Vec<Bf16Value>{},
                             AdamFactors(a, grad_scale), AdamFactors(without, grad_scale), spans,
                             count});
}

}  // namespace pleat
