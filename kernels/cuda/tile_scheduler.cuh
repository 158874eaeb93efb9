// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Group sizes in device memory: which group a row or a tile belongs to.
#pragma once

#include <cstdint>

#include "kernels/cuda/products.hpp"
#include "kernels/cuda/reduce.cuh"

namespace pleat::cuda {

// The last of `groups` that begins at or before `row`: groups without rows are passed over.
// first: [groups] where they begin, ascending.
template <class T>
__device__ __forceinline__ std::int64_t group_of_row(const T* first, std::int64_t groups,
                                                     std::int64_t row) {
  std::int64_t low = 0, high = groups;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    if (first[middle] <= row) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

// Which tile of which group a block computes, from group sizes in device memory. Every block adds
// up the sizes itself; then tiles are dealt out in order, blocks apart.

struct Tile {
  std::int64_t group, m, n;    // of the tile: its first row and column within the group's C
  std::int64_t first, count;   // rows of the grouped dimension, in all groups and in this one
};

// Shared memory: [groups + 1] first rows and [groups + 1] first tiles.
class TileScheduler {
 public:
  [[nodiscard]] static std::size_t shared_bytes(std::int64_t groups) {
    return static_cast<std::size_t>(2 * (groups + 1)) * sizeof(std::int64_t);
  }

  __device__ TileScheduler(const Products& p, int tile_m, int tile_n, void* shared)
      : p_(p), tile_m_(tile_m), tile_n_(tile_n), columns_((p.n + tile_n - 1) / tile_n) {
    rows_ = static_cast<std::int64_t*>(shared);
    tiles_ = rows_ + p.groups + 1;
    if (threadIdx.x < kWarp) fill();
    __syncthreads();
  }
  [[nodiscard]] __device__ std::int64_t tiles() const { return tiles_[p_.groups]; }

  [[nodiscard]] __device__ Tile tile(std::int64_t index) const {
    const std::int64_t g = group_of_row(tiles_, p_.groups, index);
    const std::int64_t in_group = index - tiles_[g];
    const std::int64_t row_tiles = (tiles_[g + 1] - tiles_[g]) / columns_;
    // Rows first: the blocks that run together share columns of B.
    return {g, in_group % row_tiles * tile_m_, in_group / row_tiles * tile_n_, rows_[g],
            rows_[g + 1] - rows_[g]};
  }

 private:
  __device__ void fill() {
    const int lane = threadIdx.x;
    std::int64_t row = 0, tile = 0;
    for (std::int64_t first = 0; first < p_.groups; first += kWarp) {
      const std::int64_t g = first + lane;
      std::int64_t size = 0, count = 0;
      if (g < p_.groups) {
        size = p_.grouping == Products::Grouping::depth  ? p_.k
               : p_.grouping == Products::Grouping::rows ? p_.m
                                                         : 0;
        if (p_.counts != nullptr) size = p_.counts[g];
        const std::int64_t m = p_.grouping == Products::Grouping::rows ? size : p_.m;
        count = (m + tile_m_ - 1) / tile_m_ * columns_;
      }
      std::int64_t row_sum = size, tile_sum = count;
#pragma unroll
      for (int distance = 1; distance < kWarp; distance *= 2) {
        const std::int64_t rows_before = __shfl_up_sync(kAllLanes, row_sum, distance);
        const std::int64_t tiles_before = __shfl_up_sync(kAllLanes, tile_sum, distance);
        if (lane >= distance) {
          row_sum += rows_before;
          tile_sum += tiles_before;
        }
      }
      if (g < p_.groups) {
        rows_[g] = row + row_sum - size;
        tiles_[g] = tile + tile_sum - count;
      }
      row += __shfl_sync(kAllLanes, row_sum, kWarp - 1);
      tile += __shfl_sync(kAllLanes, tile_sum, kWarp - 1);
    }
    if (lane == 0) {
      rows_[p_.groups] = row;
      tiles_[p_.groups] = tile;
    }
  }

  const Products& p_;
  int tile_m_, tile_n_;
  std::int64_t columns_;
  std::int64_t *rows_, *tiles_;
};

// The group's own matrices: sizes and offsets in elements.
struct GroupOperands {
  std::int64_t m, n, k, a, b, c;
  __device__ GroupOperands(const Products& p, const Tile& t)
      : m(p.m), n(p.n), k(p.k), a(0), b(0), c(0) {
    if (p.grouping == Products::Grouping::rows) {
      m = t.count;
      a = t.first * p.a.row;
      b = t.group * p.group_step;
      c = t.first * p.c.row;
    } else if (p.grouping == Products::Grouping::depth) {
      k = t.count;
      a = t.first * p.a.col;
      b = t.first * p.b.row;
      c = t.group * p.group_step;
    }
  }
};

}  // namespace pleat::cuda
