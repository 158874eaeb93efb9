// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The largest |x| of blocks of any shape. Bound: memory, x is read once.
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/quantize.hpp"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/row_source.cuh"

namespace pleat::cuda {
namespace {

constexpr int kRun = 32;        // rows a thread goes through
constexpr int kRowsAtOnce = 4;  // that it reads before it uses the first

// A number in place of a pack, where blocks begin within packs.
template <class Source>
struct OneOf {
  float x;
  __device__ __forceinline__ void load(const Source& from, std::int64_t at, std::int64_t count) {
    x = count > 0 ? from.get(at) : 0.0f;
  }
  [[nodiscard]] __device__ __forceinline__ float largest() const { return larger(0.0f, x); }
};

// A thread has kColumns columns, which are in one block, of kRun rows.
template <class Source, int kColumns>
__global__ void __launch_bounds__(kThreads)
    block_maxima_kernel(Source from, std::int64_t rows, std::int64_t cols, BlockMaxima m) {
  constexpr std::int64_t kWidth = std::int64_t{kThreads} * kColumns;
  const std::int64_t column_tiles = (cols + kWidth - 1) / kWidth;
  const std::int64_t first = blockIdx.x / column_tiles * kRun;
  std::int64_t col = (blockIdx.x % column_tiles * kThreads + threadIdx.x) * kColumns;
  const bool there = col < cols;
  if (!there) col = 0;  // its lanes go along
  if (m.limit != nullptr) rows = min(rows, static_cast<std::int64_t>(*m.limit));
  const std::int64_t in_row = col / m.block_cols;
  std::int32_t block = -1;
  std::uint32_t most = 0;
  const auto flush = [&] {  // by all lanes at once: rows are the same for all
    if (block < 0) return;
    const auto place = static_cast<std::uint32_t>(there ? in_row : -1);
    const std::uint32_t least = __reduce_min_sync(kAllLanes, place);
    if (least == __reduce_max_sync(kAllLanes, place) && there) {
      const std::uint32_t all = __reduce_max_sync(kAllLanes, most);
      if (threadIdx.x % kWarp == 0 && all != 0) {
        atomicMax(m.to + block * m.blocks_in_row + in_row, all);
      }
    } else if (there && most != 0) {
      atomicMax(m.to + block * m.blocks_in_row + in_row, most);
    }
    most = 0;
  };
  const std::int64_t end = min(first + kRun, rows);
  for (std::int64_t row = first; row < end; row += kRowsAtOnce) {
    std::int32_t blocks[kRowsAtOnce];
    std::conditional_t<kColumns == kPack, Held<Source>, OneOf<Source>> x[kRowsAtOnce];
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i) {  // rows beyond the last are that again
      const std::int64_t here = min(row + i, end - 1);
      blocks[i] = m.block_of_row[here];
      x[i].load(from, here * cols + col, there ? cols - col : 0);
    }
#pragma unroll
    for (int i = 0; i < kRowsAtOnce; ++i) {
      if (blocks[i] != block) {
        flush();
        block = blocks[i];
      }
      most = max(most, __float_as_uint(x[i].largest()));
    }
  }
  flush();
}

}  // namespace

void block_maxima(const Resources& r, const RowSource& from, const BlockMaxima& m) {
  const std::int64_t all = m.blocks * m.blocks_in_row;
  if (all == 0) return;
  r.device().make_current();
  PLEAT_CUDA_CHECK(
      cudaMemsetAsync(m.to, 0, static_cast<std::size_t>(all) * sizeof *m.to, native(r)));
  if (from.elements() == 0) return;
  const std::int64_t rows = from.rows(), cols = from.cols(), runs = ceil_div(rows, kRun);
  // The last block of a row may be narrower: a pack that is in one block is in no other's columns.
  const bool packs = m.block_cols % kPack == 0 || m.block_cols >= cols;
  const std::int64_t tiles = ceil_div(cols, std::int64_t{kThreads} * (packs ? kPack : 1));
  by_source(
      [&](auto x) {
        using Source = decltype(x);
        const auto kernel =
            packs ? block_maxima_kernel<Source, kPack> : block_maxima_kernel<Source, 1>;
        launch(r, kernel, blocks_of(runs * tiles), kThreads, 0, x, rows, cols, m);
      },
      from);
}

}  // namespace pleat::cuda
