// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Runs of N elements that a thread loads and stores at once, computed on as fp32.
// Pack<T, kPackWidth<T>> is 16 bytes, the widest load there is; Pack<T, 1> is for what is not
// aligned.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace pleat::cuda {

template <typename T>
inline constexpr int kPackWidth = 16 / sizeof(T);

template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
  T element[N];
};

template <typename T, int N>
__device__ __forceinline__ void load(const T* from, float (&to)[N]) {
  const Pack<T, N> pack = *reinterpret_cast<const Pack<T, N>*>(from);
#pragma unroll
  for (int i = 0; i < N; ++i) to[i] = static_cast<float>(pack.element[i]);
}

template <typename T, int N>
__device__ __forceinline__ void store(const float (&from)[N], T* to) {
  Pack<T, N> pack;
#pragma unroll
  for (int i = 0; i < N; ++i) pack.element[i] = static_cast<T>(from[i]);  // to nearest even
  *reinterpret_cast<Pack<T, N>*>(to) = pack;
}

// Can every row be taken in whole packs of N? Rows start at multiples of `cols` elements.
template <typename T, int N>
inline bool packs_fit(const void* data, std::int64_t cols) {
  return reinterpret_cast<std::uintptr_t>(data) % (sizeof(T) * N) == 0 && cols % N == 0;
}

}  // namespace pleat::cuda
