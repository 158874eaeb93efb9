// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Operands of kernels that compute in fp32: fp32 or bf16 elements, loaded and stored eight at a
// time where they are aligned and one by one where they are not. A thread has the same elements
// either way, so that results do not depend on where a buffer lies.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>
#include <type_traits>

#include "core/diagnostics.hpp"
#include "kernels/cuda/cuda_check.cuh"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

using Bf16Value = __nv_bfloat16;
inline constexpr int kPack = 8;  // elements of a pack

struct AnyType {};  // fp32 or bf16, as the operand says when it is used

__device__ __forceinline__ void load_pack(const float* from, float (&to)[kPack]) {
  const float4 low = reinterpret_cast<const float4*>(from)[0];
  const float4 high = reinterpret_cast<const float4*>(from)[1];
  to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
  to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;
}
__device__ __forceinline__ void widen(uint4 raw, float (&to)[kPack]) {
  const std::uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    to[2 * i] = __uint_as_float(words[i] << 16);
    to[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
  }
}
__device__ __forceinline__ uint4 narrow(const float (&from)[kPack]) {
  std::uint32_t words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(from[2 * i], from[2 * i + 1]);
    words[i] = *reinterpret_cast<const std::uint32_t*>(&pair);
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}
__device__ __forceinline__ void load_pack(const Bf16Value* from, float (&to)[kPack]) {
  widen(*reinterpret_cast<const uint4*>(from), to);
}
__device__ __forceinline__ void store_pack(const float (&from)[kPack], float* to) {
  reinterpret_cast<float4*>(to)[0] = make_float4(from[0], from[1], from[2], from[3]);
  reinterpret_cast<float4*>(to)[1] = make_float4(from[4], from[5], from[6], from[7]);
}
__device__ __forceinline__ void store_pack(const float (&from)[kPack], Bf16Value* to) {
  *reinterpret_cast<uint4*>(to) = narrow(from);
}

// Eight elements of T between load and use: bf16 stays in four registers, which is half of what its
// values take, so that twice as many loads are under way.
template <class T>
struct Packed {
  float values[kPack];
  __device__ __forceinline__ void unpack(float (&to)[kPack]) const {
#pragma unroll
    for (int i = 0; i < kPack; ++i) to[i] = values[i];
  }
  __device__ __forceinline__ void pack(const float (&from)[kPack]) {
#pragma unroll
    for (int i = 0; i < kPack; ++i) values[i] = from[i];
  }
};
template <>
struct Packed<Bf16Value> {
  uint4 raw;
  __device__ __forceinline__ void unpack(float (&to)[kPack]) const { widen(raw, to); }
  __device__ __forceinline__ void pack(const float (&from)[kPack]) { raw = narrow(from); }
};

template <class T>
struct Vec {
  T* data = nullptr;
  bool wide = false;  // every pack that is asked for starts at a multiple of 16 bytes

  __device__ __forceinline__ float get(std::int64_t i) const { return static_cast<float>(data[i]); }
  __device__ __forceinline__ void set(std::int64_t i, float v) const {
    data[i] = static_cast<T>(v);
  }
  // What set would store.
  [[nodiscard]] __device__ __forceinline__ float rounded(float v) const {
    return static_cast<float>(static_cast<T>(v));
  }
  // Elements at … at + 7; those from `count` on are 0.
  __device__ __forceinline__ void load(std::int64_t at, std::int64_t count,
                                       float (&to)[kPack]) const {
    if (wide && count >= kPack) {
      load_pack(data + at, to);
      return;
    }
#pragma unroll
    for (int i = 0; i < kPack; ++i) to[i] = i < count ? get(at + i) : 0.0f;
  }
  __device__ __forceinline__ void store(const float (&from)[kPack], std::int64_t at,
                                        std::int64_t count) const {
    if (wide && count >= kPack) {
      store_pack(from, data + at);
      return;
    }
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      if (i < count) set(at + i, from[i]);
    }
  }
  // load without a conversion. A caller of several asks for `wide` once, so that no branch is
  // between them.
  __device__ __forceinline__ void fetch_wide(std::int64_t at, Packed<T>& to) const {
    if constexpr (sizeof(T) == 2) {
      to.raw = *reinterpret_cast<const uint4*>(data + at);
    } else {
      load_pack(data + at, to.values);
    }
  }
  __device__ __forceinline__ void fetch(std::int64_t at, std::int64_t count, Packed<T>& to) const {
    if (wide && count >= kPack) return fetch_wide(at, to);
    float values[kPack];
    load(at, count, values);
    to.pack(values);  // exact but for the payload of a NaN
  }
};

template <>
struct Vec<AnyType> {
  void* data = nullptr;
  bool wide = false, is_bf16 = false;

  __device__ __forceinline__ Vec<float> fp32() const { return {static_cast<float*>(data), wide}; }
  __device__ __forceinline__ Vec<Bf16Value> bf16() const {
    return {static_cast<Bf16Value*>(data), wide};
  }
  __device__ __forceinline__ float get(std::int64_t i) const {
    return is_bf16 ? bf16().get(i) : fp32().get(i);
  }
  [[nodiscard]] __device__ __forceinline__ float rounded(float v) const {
    return is_bf16 ? bf16().rounded(v) : v;
  }
  __device__ __forceinline__ void set(std::int64_t i, float v) const {
    if (is_bf16) {
      bf16().set(i, v);
    } else {
      fp32().set(i, v);
    }
  }
  __device__ __forceinline__ void load(std::int64_t at, std::int64_t count,
                                       float (&to)[kPack]) const {
    if (is_bf16) {
      bf16().load(at, count, to);
    } else {
      fp32().load(at, count, to);
    }
  }
  __device__ __forceinline__ void store(const float (&from)[kPack], std::int64_t at,
                                        std::int64_t count) const {
    if (is_bf16) {
      bf16().store(from, at, count);
    } else {
      fp32().store(from, at, count);
    }
  }
  __device__ __forceinline__ void fetch_wide(std::int64_t at, Packed<AnyType>& to) const {
    load(at, kPack, to.values);
  }
  __device__ __forceinline__ void fetch(std::int64_t at, std::int64_t count,
                                        Packed<AnyType>& to) const {
    load(at, count, to.values);
  }
};

// The elements of a view; packs start at multiples of every one of `steps` (besides 8).
template <class T, class... Steps>
[[nodiscard]] Vec<T> vec(View v, Steps... steps) {
  PLEAT_ASSERT(v.dtype == DType::fp32 || v.dtype == DType::bf16);
  const bool wide = aligned16(v.data) && ((bytes_of(v.dtype, steps) % 16 == 0) && ...);
  if constexpr (std::is_same_v<T, AnyType>) {
    return {v.data, wide, v.dtype == DType::bf16};
  } else {
    PLEAT_ASSERT(v.data == nullptr || (v.dtype == DType::bf16) == (sizeof(T) == 2));
    return {static_cast<T*>(v.data), wide};
  }
}

template <class T>
struct Tag {
  using type = T;
};

// f(Tag<T>): T is the type of all views that have data, or AnyType where they differ.
template <class F, class... Views>
void by_type(F f, Views... views) {
  const bool all32 = ((views.data == nullptr || views.dtype == DType::fp32) && ...);
  const bool all16 = ((views.data == nullptr || views.dtype == DType::bf16) && ...);
  if (all32) {
    f(Tag<float>{});
  } else if (all16) {
    f(Tag<Bf16Value>{});
  } else {
    f(Tag<AnyType>{});
  }
}

}  // namespace pleat::cuda
