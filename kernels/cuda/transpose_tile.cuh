// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A tile of 128 x 128 codes of 8 or 4 bits from rows to columns, by a block of 256 threads: patches
// of codes are turned in registers, go through shared memory in words and leave in packs of 16
// bytes. Bound: memory. Words that a warp writes at once lie in different banks, packs that a
// quarter of it reads likewise.
#pragma once

#include <cstdint>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/reduce.cuh"

namespace pleat::cuda {

inline constexpr int kTurnTile = 128;  // rows and columns

// Byte i of word j becomes byte j of word i.
__device__ __forceinline__ void turn_bytes(std::uint32_t (&w)[4]) {
  const std::uint32_t low_01 = __byte_perm(w[0], w[1], 0x5140);
  const std::uint32_t high_01 = __byte_perm(w[0], w[1], 0x7362);
  const std::uint32_t low_23 = __byte_perm(w[2], w[3], 0x5140);
  const std::uint32_t high_23 = __byte_perm(w[2], w[3], 0x7362);
  w[0] = __byte_perm(low_01, low_23, 0x5410);
  w[1] = __byte_perm(low_01, low_23, 0x7632);
  w[2] = __byte_perm(high_01, high_23, 0x5410);
  w[3] = __byte_perm(high_01, high_23, 0x7632);
}

// The shared memory of codes of 8 bits: 32 words a column, in packs of four that columns of one
// chunk of 16 have in another order than those of the next.
struct TurnedBytes {
  static constexpr int kCodesOfPack = 16, kWords = kTurnTile * kTurnTile / 4;
  static constexpr int kPacks = kTurnTile / kCodesOfPack;  // of a column
  static __device__ __forceinline__ int pack_at(int column, int pack) {
    return column * 32 + 4 * (pack ^ (column / 16));
  }

  // From `from`, the tile's first code: those of rows below `rows` and columns below `cols`, a
  // multiple of 16; the others are 0. `ld` bytes a row, a multiple of 16 as is the address.
  template <class Words>
  static __device__ __forceinline__ void read(const std::uint8_t* from, std::int64_t ld,
                                              std::int64_t rows, std::int64_t cols, Words tile) {
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const int col = lane % 8 * 16, four = warp * 4 + lane / 8;  // four rows of a thread
    uint4 row[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int r = 4 * four + i;
      row[i] = r < rows && col < cols ? *reinterpret_cast<const uint4*>(from + r * ld + col)
                                      : make_uint4(0, 0, 0, 0);
    }
    const auto store = [&](int first, std::uint32_t a, std::uint32_t b, std::uint32_t c,
                           std::uint32_t d) {
      std::uint32_t w[4] = {a, b, c, d};
      turn_bytes(w);
#pragma unroll
      for (int j = 0; j < 4; ++j) tile[pack_at(col + first + j, four / 4) + four % 4] = w[j];
    };
    store(0, row[0].x, row[1].x, row[2].x, row[3].x);
    store(4, row[0].y, row[1].y, row[2].y, row[3].y);
    store(8, row[0].z, row[1].z, row[2].z, row[3].z);
    store(12, row[0].w, row[1].w, row[2].w, row[3].w);
  }
};

// The same of codes of 4 bits, the first of two in the low half of a byte: 16 words a column, 4
// more after every 8 columns.
struct TurnedHalfBytes {
  static constexpr int kCodesOfPack = 32, kWords = kTurnTile * 16 + kTurnTile / 8 * 4;
  static constexpr int kPacks = kTurnTile / kCodesOfPack;
  static __device__ __forceinline__ int pack_at(int column, int pack) {
    return column * 16 + column / 8 * 4 + 4 * pack;
  }

  // Columns and rows are multiples of 8, `ld` and the address of 4 bytes.
  template <class Words>
  static __device__ __forceinline__ void read(const std::uint8_t* from, std::int64_t ld,
                                              std::int64_t rows, std::int64_t cols, Words tile) {
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const int col = (warp % 2 * 8 + lane % 8) * 8, eight = warp / 2 * 4 + lane / 8;
    const bool there = 8 * eight < rows && col < cols;
    std::uint32_t even[4], odd[4];  // columns; a byte has the codes of two rows
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      std::uint32_t first = 0, second = 0;
      if (there) {
        const std::uint8_t* const at = from + (8 * eight + 2 * i) * ld + col / 2;
        first = *reinterpret_cast<const std::uint32_t*>(at);
        second = *reinterpret_cast<const std::uint32_t*>(at + ld);
      }
      even[i] = (first & 0x0f0f0f0fu) | (second & 0x0f0f0f0fu) << 4;
      odd[i] = (first >> 4 & 0x0f0f0f0fu) | (second & 0xf0f0f0f0u);
    }
    turn_bytes(even);
    turn_bytes(odd);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      tile[pack_at(col + 2 * j, eight / 4) + eight % 4] = even[j];
      tile[pack_at(col + 2 * j + 1, eight / 4) + eight % 4] = odd[j];
    }
  }
};

// store(column, first row, 16 bytes of codes) for every pack of the tile's columns, after read.
template <class Turned, class Store>
__device__ __forceinline__ void store_turned(const std::uint32_t* tile, Store store) {
#pragma unroll
  for (int i = threadIdx.x; i < kTurnTile * Turned::kPacks; i += kThreads) {
    const int column = i / Turned::kPacks, pack = i % Turned::kPacks;
    store(column, pack * Turned::kCodesOfPack,
          *reinterpret_cast<const uint4*>(tile + Turned::pack_at(column, pack)));
  }
}

}  // namespace pleat::cuda
