// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Operands of grouped products on 8-bit codes: what is K contiguous stays where it is, the rest is
// transposed by strips of 128 rows. Bound: memory, 2 bytes a code that is transposed.
#include "kernels/cuda/narrow_layout.hpp"

#include "kernels/cuda/block_scales.hpp"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/tile_scheduler.cuh"
#include "kernels/cuda/transpose_tile.cuh"

namespace pleat::cuda {
namespace {

static_assert(kTurnTile == kStripRows);

// Codes [rows, cols], cols a multiple of 16, to [cols, 128 strips]: see NarrowGroups' depth.
__global__ void __launch_bounds__(kThreads)
    transpose_strips_kernel(const std::uint8_t* from, std::int64_t cols,
                            const std::int32_t* first_row, const std::int32_t* first_strip,
                            std::int64_t groups, std::int64_t ld, std::uint8_t* to) {
  __shared__ __align__(16) std::uint32_t tile[TurnedBytes::kWords];
  const auto tiles = static_cast<unsigned>((cols + kTurnTile - 1) / kTurnTile);
  const std::int64_t strip = blockIdx.x / tiles;
  if (strip >= first_strip[groups]) return;
  const std::int64_t g = group_of_row(first_strip, groups, strip);
  const std::int64_t row = first_row[g] + (strip - first_strip[g]) * kTurnTile;
  const std::int64_t rows = first_row[g + 1] - row,
                     col = std::int64_t{blockIdx.x % tiles} * kTurnTile;
  TurnedBytes::read(from + row * cols + col, cols, rows, cols - col, tile);
  __syncthreads();
  store_turned<TurnedBytes>(tile, [&](int c, int r, uint4 codes) {
    if (col + c >= cols) return;
    *reinterpret_cast<uint4*>(to + (col + c) * ld + strip * kTurnTile + r) = codes;
  });
}

struct SetCount {
  std::int32_t* counts;
  std::int32_t count;
  __device__ void operator()(std::int64_t g) const { counts[g] = count; }
};

// [groups, across, down] of [groups, down, across].
struct TransposeScales {
  const float* from;
  std::int64_t down, across;
  float* to;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t d = i % down, a = i / down % across, g = i / (down * across);
    to[i] = from[(g * down + d) * across + a];
  }
};

bool aligned(const Products& p, View a, View b) {
  return aligned16(a.data) && aligned16(b.data) && aligned16(p.c.data) && p.c.row % 8 == 0 &&
         p.group_step % 16 == 0 && a.cols % 16 == 0 && b.cols % 16 == 0;
}

bool one_scale(View v, std::int64_t groups) {
  const BlockTable& t = blocks_of_matrix(v);
  return t.whole_groups && t.groups == groups && t.most_blocks == groups;
}

bool has_blocks(View v, std::int64_t rows, std::int64_t cols, std::int64_t groups) {
  const BlockTable& t = blocks_of_matrix(v);
  return t.block_rows == rows && t.block_cols == cols && (rows == 1 || t.groups == groups) &&
         v.cols % cols == 0 && v.scales->format == pleat::SmallFloat::e4m3 &&
         (v.scales->rule == ScaleRule::amax || v.scales->rule == ScaleRule::power_of_two);
}

// Which scales the product would have; `blocks` where neither fits, and then `fits` is false.
struct Fit {
  bool fits = false;
  NarrowGroups::Scales scales = NarrowGroups::Scales::blocks;
};
Fit fit(const Products& p, View a, View b) {
  using enum pleat::SmallFloat;
  if (a.scales == nullptr || b.scales == nullptr) return {};
  const bool by_depth = p.grouping == Products::Grouping::depth;
  const pleat::SmallFloat first = a.scales->format, second = b.scales->format;
  if (first == e2m1 || second != e4m3) return {};
  if (one_scale(a, p.groups) && one_scale(b, p.groups)) {
    return {first == e5m2 || !by_depth, NarrowGroups::Scales::group};
  }
  if (by_depth) return {has_blocks(a, 128, 1, p.groups) && has_blocks(b, 128, 1, p.groups)};
  return {has_blocks(a, 1, 128, p.groups) && has_blocks(b, 128, 128, p.groups) &&
          b.rows / p.groups % 128 == 0};
}

std::int64_t padded(std::int64_t rows) { return ceil_div(rows, kStripRows) * kStripRows; }

// Room for a transposed operand of so many strips and columns.
std::size_t transposed_bytes(std::int64_t strips, std::int64_t cols) {
  return Scratch::bytes<std::uint8_t>(strips * kStripRows * cols);
}

// counts: rows of the groups; `strips` there are at most.
const std::uint8_t* transpose_strips(Resources& r, View from, View counts, std::int64_t strips,
                                     std::uint8_t* to) {
  const std::int64_t groups = counts.elements();
  Scratch scratch(r, 2 * Scratch::bytes<std::int32_t>(groups + 1));
  auto *first_row = scratch.take<std::int32_t>(groups + 1),
       *first_strip = scratch.take<std::int32_t>(groups + 1);
  first_rows(r, counts, from.rows, first_row);
  first_strips(r, first_row, groups, kStripRows, first_strip, first_strip + groups);
  launch(r, transpose_strips_kernel, blocks_of(strips * ceil_div(from.cols, kTurnTile)), kThreads,
         0, static_cast<const std::uint8_t*>(from.data), from.cols,
         static_cast<const std::int32_t*>(first_row), static_cast<const std::int32_t*>(first_strip),
         groups, strips * kStripRows, to);
  return to;
}

}  // namespace

bool multiply_grouped_codes(Resources& r, const Products& p, View a, View b) {
  const bool by_depth = p.grouping == Products::Grouping::depth;
  if (p.grouping == Products::Grouping::none || p.counts == nullptr || p.groups > 1024)
    return false;
  if (p.m == 0 || p.n == 0 || p.k < 16 || !aligned(p, a, b)) return false;
  // Below one block of K, sums on tensor cores are not worth a transposition.
  if (by_depth ? p.c.dtype != DType::fp32 || p.k < kStripRows
               : p.c.dtype != DType::bf16 || p.accumulate) {
    return false;
  }
  const std::int64_t longest = std::max({p.m, p.n, p.k}) + kStripRows * p.groups;
  const Fit kind = fit(p, a, b);
  if (!kind.fits || longest > INT32_MAX || !has_code_kernels(r)) return false;
  const bool blocks = kind.scales == NarrowGroups::Scales::blocks;
  const bool b_as_it_is = !by_depth && p.b.row == 1;
  const std::int64_t strips = by_depth ? p.k / kStripRows + p.groups  // at most
                                       : padded(p.k) / kStripRows * p.groups;
  const std::int64_t scales = blocks && !by_depth && !b_as_it_is
                                  ? p.groups * (p.k / kStripRows) * (p.n / kStripRows)
                                  : 0;
  const std::size_t bytes = (by_depth ? transposed_bytes(strips, a.cols) : 0) +
                            (b_as_it_is ? 0 : transposed_bytes(strips, b.cols)) +
                            Scratch::bytes<float>(p.groups) + Scratch::bytes<float>(scales) +
                            Scratch::bytes<std::int32_t>(p.groups);
  Scratch copies(r.copies(bytes), bytes);
  const View counts{const_cast<std::int32_t*>(p.counts), DType::i32, 1, p.groups};
  NarrowGroups all{.grouping = p.grouping,
                   .scales = kind.scales,
                   .format_a = a.scales->format,
                   .format_b = b.scales->format,
                   .groups = p.groups,
                   .m = p.m,
                   .n = p.n,
                   .k = p.k,
                   .counts = p.counts,
                   .a = static_cast<const std::uint8_t*>(a.data),
                   .b = static_cast<const std::uint8_t*>(b.data),
                   .a_ld = a.cols,
                   .b_ld = b.cols,
                   .b_step = p.group_step,
                   .c = p.c,
                   .c_step = by_depth ? p.group_step : 0,
                   .accumulate = p.accumulate};
  if (blocks) {
    all.scales_a = blocks_of_matrix(a).scales;
    all.scales_b = blocks_of_matrix(b).scales;
  } else {
    auto* const factors = copies.take<float>(p.groups);
    group_factors(r, a, b, p.groups, factors);
    all.factors = factors;
  }
  const auto transposed = [&](View v, View rows) {
    return transpose_strips(r, v, rows, strips,
                            copies.take<std::uint8_t>(strips * kStripRows * v.cols));
  };
  if (by_depth) {
    all.a = transposed(a, counts);
    all.b = transposed(b, counts);
    all.a_ld = all.b_ld = strips * kStripRows;
  } else if (!b_as_it_is) {
    auto* const rows = copies.take<std::int32_t>(p.groups);
    for_each(r, p.groups, SetCount{rows, static_cast<std::int32_t>(p.k)});
    all.b = transposed(b, {rows, DType::i32, 1, p.groups});
    all.b_ld = strips * kStripRows;
    all.b_step = padded(p.k);
    if (scales > 0) {
      auto* const turned = copies.take<float>(scales);
      for_each(r, scales,
               TransposeScales{all.scales_b, p.k / kStripRows, p.n / kStripRows, turned});
      all.scales_b = turned;
    }
  }
  multiply_codes(r, all);
  return true;
}

}  // namespace pleat::cuda
