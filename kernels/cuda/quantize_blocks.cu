// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Blocks that fit in registers: x is read once. Within a row, some lanes a block; of rows, a thread
// block has 64 columns, and its warps share the rows. Bound: memory.
#include "core/numerics/small_float.hpp"
#include "kernels/cuda/codes.cuh"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/quantize.hpp"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/row_source.cuh"

namespace pleat::cuda {
namespace {

constexpr int kWarps = kThreads / kWarp, kLaneColumns = 2, kColumns = kWarp * kLaneColumns;

// kLanes lanes of eight columns a block; packs before `packs` are those of all rows.
template <class Source, pleat::SmallFloat type, int kLanes>
__global__ void __launch_bounds__(kThreads)
    row_blocks_kernel(Source x, std::int64_t packs, BlockTable t, std::uint8_t* codes,
                      float most_code, ScaleRule rule) {
  const std::int64_t pack = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  float v[kPack] = {}, most = 0;
  if (pack < packs) x.load(pack * kPack, kPack, v);
#pragma unroll
  for (int i = 0; i < kPack; ++i) most = larger(most, v[i]);
#pragma unroll
  for (int distance = 1; distance < kLanes; distance *= 2) {
    most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, distance));
  }
  if (pack >= packs) return;
  const ScaleFactors f = factors_of(most, 1.0f, most_code, rule);
  if (pack % kLanes == 0) {
    const std::int64_t block = pack / kLanes;
    t.scales[block] = f.decode;
    if (block % t.blocks_in_row == 0) t.group_scales[block / t.blocks_in_row] = 1.0f;
  }
  std::uint32_t two[kPack / 2];
#pragma unroll
  for (int i = 0; i < kPack / 2; ++i) {
    two[i] = encode_two<type>(__fmul_rn(v[2 * i], f.encode), __fmul_rn(v[2 * i + 1], f.encode));
  }
  *reinterpret_cast<uint2*>(codes + pack * kPack) =
      uint2{two[0] | two[1] << 16, two[2] | two[3] << 16};
}

// Strips of 8 * kRows rows; a warp has kRows of them.
template <class Source, pleat::SmallFloat type, int kRows>
__global__ void __launch_bounds__(kThreads)
    column_blocks_kernel(Source x, std::int64_t cols, BlockTable t, std::uint8_t* codes,
                         float most_code, ScaleRule rule) {
  __shared__ float largest_of[kWarps][kColumns];
  const std::int64_t tiles = (cols + kColumns - 1) / kColumns, strip = blockIdx.x / tiles;
  if (strip >= *t.blocks) return;
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const std::int64_t first = t.first_row[strip] + static_cast<std::int64_t>(warp) * kRows;
  const std::int64_t col = blockIdx.x % tiles * kColumns + lane * kLaneColumns;
  float v[kRows][kLaneColumns], most[kLaneColumns] = {};
  bool there[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    there[i] = first + i < t.rows && t.block_of_row[first + i] == strip;
#pragma unroll
    for (int c = 0; c < kLaneColumns; ++c) {
      v[i][c] = there[i] && col + c < cols ? x.get((first + i) * cols + col + c) : 0.0f;
      most[c] = larger(most[c], v[i][c]);
    }
  }
#pragma unroll
  for (int c = 0; c < kLaneColumns; ++c) largest_of[warp][lane * kLaneColumns + c] = most[c];
  __syncthreads();
#pragma unroll
  for (int c = 0; c < kLaneColumns; ++c) {
#pragma unroll
    for (int w = 0; w < kWarps; ++w)
      most[c] = fmaxf(most[c], largest_of[w][lane * kLaneColumns + c]);
  }
  float encode[kLaneColumns];
#pragma unroll
  for (int c = 0; c < kLaneColumns; ++c) {
    const ScaleFactors f = factors_of(most[c], 1.0f, most_code, rule);
    encode[c] = f.encode;
    if (warp == 0 && col + c < cols) t.scales[strip * cols + col + c] = f.decode;
  }
  if (warp == 0 && col == 0) t.group_scales[strip] = 1.0f;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    if (!there[i] || col >= cols) continue;
    const std::uint32_t two =
        encode_two<type>(__fmul_rn(v[i][0], encode[0]), __fmul_rn(v[i][1], encode[1]));
    std::uint8_t* const to = codes + (first + i) * cols + col;
    if (cols % 2 == 0 && reinterpret_cast<std::uintptr_t>(codes) % 2 == 0) {
      *reinterpret_cast<std::uint16_t*>(to) = static_cast<std::uint16_t>(two);
    } else {
      to[0] = static_cast<std::uint8_t>(two);
      if (col + 1 < cols) to[1] = static_cast<std::uint8_t>(two >> 8);
    }
  }
}

template <int kLanes>
void row_blocks(const Resources& r, const RowSource& x, View y, const BlockTable& t,
                const Quantization& q) {
  by_eight_bits(x, q.format, [&](auto source, auto format) {
    const std::int64_t packs = x.elements() / kPack;
    launch(r, row_blocks_kernel<decltype(source), decltype(format)::value, kLanes>,
           blocks_of(ceil_div(packs, kThreads)), kThreads, 0, source, packs, t,
           static_cast<std::uint8_t*>(y.data), largest(q.format), q.rule);
  });
}

template <int kRows>
void column_blocks(const Resources& r, const RowSource& x, View y, const BlockTable& t,
                   const Quantization& q) {
  by_eight_bits(x, q.format, [&](auto source, auto format) {
    launch(r, column_blocks_kernel<decltype(source), decltype(format)::value, kRows>,
           blocks_of(t.most_blocks * ceil_div(x.cols(), kColumns)), kThreads, 0, source, x.cols(),
           t, static_cast<std::uint8_t*>(y.data), largest(q.format), q.rule);
  });
}

}  // namespace

bool quantize_blocks(const Resources& r, const RowSource& x, View y, const BlockTable& t,
                     const Quantization& q) {
  if (q.format == pleat::SmallFloat::e2m1 || q.rule == ScaleRule::nvfp4 || q.stochastic)
    return false;
  if (x.elements() == 0) return false;
  if (q.block_rows == 1 && q.block_cols >= kPack && x.cols() % q.block_cols == 0 &&
      reinterpret_cast<std::uintptr_t>(y.data) % 8 == 0) {
    switch (q.block_cols) {
      case 16:
        return row_blocks<2>(r, x, y, t, q), true;
      case 32:
        return row_blocks<4>(r, x, y, t, q), true;
      case 128:
        return row_blocks<16>(r, x, y, t, q), true;
      default:
        return false;
    }
  }
  if (q.block_cols != 1) return false;
  switch (q.block_rows) {
    case 16:
      return column_blocks<2>(r, x, y, t, q), true;
    case 32:
      return column_blocks<4>(r, x, y, t, q), true;
    case 128:
      return column_blocks<16>(r, x, y, t, q), true;
    default:
      return false;
  }
}

}  // namespace pleat::cuda
