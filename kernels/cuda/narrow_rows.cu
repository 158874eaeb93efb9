// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rows that travel between ranks in fp8. Sixteen lanes have a block of 128 columns, eight columns
// each, so that x is read once. Bound: memory.
#include "kernels/narrow_rows.hpp"

#include "core/numerics/small_float.hpp"
#include "kernels/cuda/codes.cuh"
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/vec.cuh"

namespace pleat::cuda {
namespace {

constexpr int kNarrowLanes = kNarrowRowBlock / kPack;
constexpr auto kE4m3 = pleat::SmallFloat::e4m3;

struct NarrowRows {
  std::int64_t packs;  // sixteen for each block, some of the last block of a row without columns
  std::int64_t row_packs, cols, row_bytes;
  bool words;  // codes and scales may be read and written four bytes at a time

  __device__ std::int64_t scale_at(std::int64_t row, std::int64_t col) const {
    return row * row_bytes + cols + col / kNarrowRowBlock * 4;
  }
};

__device__ __forceinline__ void store_word(std::uint8_t* to, std::uint32_t word, bool words) {
  if (words) {
    *reinterpret_cast<std::uint32_t*>(to) = word;
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) to[i] = static_cast<std::uint8_t>(word >> 8 * i);
}

__device__ __forceinline__ std::uint32_t load_word(const std::uint8_t* from, bool words) {
  if (words) return *reinterpret_cast<const std::uint32_t*>(from);
  std::uint32_t word = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) word |= static_cast<std::uint32_t>(from[i]) << 8 * i;
  return word;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    pack_rows_kernel(Vec<T> x, NarrowRows n, float most_code, std::uint8_t* packed) {
  const std::int64_t pack = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  std::int64_t row = 0, col = 0;
  split(pack, n.row_packs, row, col);
  col *= kPack;
  const std::int64_t count = pack < n.packs ? n.cols - col : 0;
  float v[kPack] = {}, most = 0;
  if (count > 0) x.load(row * n.cols + col, count, v);
#pragma unroll
  for (int i = 0; i < kPack; ++i) most = fmaxf(most, fabsf(v[i]));
#pragma unroll
  for (int distance = 1; distance < kNarrowLanes; distance *= 2) {
    most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, distance));
  }
  if (count <= 0) return;
  const float scale = most > 0 ? most / most_code : 1.0f;
  if (col % kNarrowRowBlock == 0) {
    store_word(packed + n.scale_at(row, col), __float_as_uint(scale), n.words);
  }
  std::uint32_t two[kPack / 2];
#pragma unroll
  for (int i = 0; i < kPack / 2; ++i) {
    two[i] = encode_two<kE4m3>(v[2 * i] / scale, v[2 * i + 1] / scale);
  }
  std::uint8_t* const to = packed + row * n.row_bytes + col;
  if (count >= kPack) {
    store_word(to, two[0] | two[1] << 16, n.words);
    store_word(to + 4, two[2] | two[3] << 16, n.words);
    return;
  }
#pragma unroll
  for (int i = 0; i < kPack; ++i) {
    if (i < count) to[i] = static_cast<std::uint8_t>(two[i / 2] >> i % 2 * 8);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    unpack_rows_kernel(const std::uint8_t* packed, NarrowRows n, std::int64_t rows,
                       std::int64_t parts, bool accumulate, Vec<T> x) {
  const std::int64_t pack = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  std::int64_t row = 0, col = 0;
  split(pack, n.row_packs, row, col);
  col *= kPack;
  const std::int64_t count = n.cols - col;
  if (pack >= n.packs || count <= 0) return;
  float sum[kPack] = {};
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t from = part * rows + row;
    const float scale = __uint_as_float(load_word(packed + n.scale_at(from, col), n.words));
    const std::uint8_t* const at = packed + from * n.row_bytes + col;
    std::uint32_t codes[2] = {};
    if (count >= kPack) {
      codes[0] = load_word(at, n.words);
      codes[1] = load_word(at + 4, n.words);
    } else {
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        if (i < count) codes[i / 4] |= static_cast<std::uint32_t>(at[i]) << i % 4 * 8;
      }
    }
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      const float v = __fmul_rn(scale, decode_code<kE4m3>(codes[i / 4] >> i % 4 * 8 & 0xffu));
      sum[i] = part == 0 ? v : sum[i] + v;
    }
  }
  const std::int64_t at = row * n.cols + col;
  if (accumulate) {
    float before[kPack];
    x.load(at, count, before);
#pragma unroll
    for (int i = 0; i < kPack; ++i) sum[i] += before[i];
  }
  x.store(sum, at, count);
}

NarrowRows narrow_rows(View x, const void* packed) {
  const std::int64_t row_packs = narrow_row_blocks(x.cols) * kNarrowLanes;
  return {.packs = x.rows * row_packs,
          .row_packs = row_packs,
          .cols = x.cols,
          .row_bytes = narrow_row_bytes(x.cols),
          .words = x.cols % 4 == 0 && reinterpret_cast<std::uintptr_t>(packed) % 4 == 0};
}

}  // namespace
}  // namespace pleat::cuda

namespace pleat {

void CudaKernels::pack_rows(View x, std::byte* packed) {
  if (x.elements() == 0) return;
  const cuda::NarrowRows n = cuda::narrow_rows(x, packed);
  cuda::by_type(
      [&](auto tag) {
        using T = typename decltype(tag)::type;
        cuda::launch(*resources_, cuda::pack_rows_kernel<T>,
                     cuda::blocks_of(cuda::ceil_div(n.packs, cuda::kThreads)), cuda::kThreads, 0,
                     cuda::vec<T>(x, x.cols), n, largest(SmallFloat::e4m3),
                     reinterpret_cast<std::uint8_t*>(packed));
      },
      x);
}

void CudaKernels::unpack_rows(const std::byte* packed, std::int64_t parts, bool accumulate,
                              View x) {
  if (x.elements() == 0) return;
  const cuda::NarrowRows n = cuda::narrow_rows(x, packed);
  cuda::by_type(
      [&](auto tag) {
        using T = typename decltype(tag)::type;
        cuda::launch(*resources_, cuda::unpack_rows_kernel<T>,
                     cuda::blocks_of(cuda::ceil_div(n.packs, cuda::kThreads)), cuda::kThreads, 0,
                     reinterpret_cast<const std::uint8_t*>(packed), n, x.rows, parts, accumulate,
                     cuda::vec<T>(x, x.cols));
      },
      x);
}

}  // namespace pleat
