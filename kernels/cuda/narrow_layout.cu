// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/codes.cuh"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/narrow_layout.hpp"
#include "kernels/cuda/transpose_tile.cuh"

namespace pleat::cuda {
namespace {

constexpr std::int64_t kScaleRows = 128, kScaleColumns = 4;  // of cuBLASLt's blocks of scales

std::int64_t block_of(NarrowScales s) {
  switch (s) {
    case NarrowScales::none:
    case NarrowScales::tensor:
      return 0;
    case NarrowScales::vec128:
    case NarrowScales::square128:
      return 128;
    case NarrowScales::micro32:
      return 32;
    case NarrowScales::nvfp4_16:
      return 16;
  }
  return 0;
}

// Scales there are: outer by blocks of K, as they are padded.
struct ScaleShape {
  std::int64_t outer = 0, blocks = 0;
};
ScaleShape scale_shape(std::int64_t outer, std::int64_t k, NarrowScales s) {
  const std::int64_t blocks = block_of(s) == 0 ? 0 : ceil_div(k, block_of(s));
  switch (s) {
    case NarrowScales::none:
    case NarrowScales::tensor:
      return {};
    case NarrowScales::vec128:
      return {outer, blocks};
    case NarrowScales::square128:
      return {ceil_div(outer, 128), ceil_div(blocks, 4) * 4};
    case NarrowScales::micro32:
    case NarrowScales::nvfp4_16:
      return {ceil_div(outer, kScaleRows) * kScaleRows,
              ceil_div(blocks, kScaleColumns) * kScaleColumns};
  }
  return {};
}

// Codes [rows, cols] to [cols, rows], a tile a block; rows and columns are as narrow_kind asks, so
// that every row, there and here, is whole packs.
template <class Turned>
__global__ void __launch_bounds__(kThreads)
    transpose_codes_kernel(const std::uint8_t* from, std::int64_t rows, std::int64_t cols,
                           std::uint8_t* to) {
  __shared__ __align__(16) std::uint32_t tile[Turned::kWords];
  constexpr std::int64_t kCodes = Turned::kCodesOfPack, kBytes = 16;  // of a pack
  const auto tiles = static_cast<unsigned>((cols + kTurnTile - 1) / kTurnTile);
  const std::int64_t row = std::int64_t{blockIdx.x / tiles} * kTurnTile;
  const std::int64_t col = std::int64_t{blockIdx.x % tiles} * kTurnTile;
  const std::int64_t ld = cols * kBytes / kCodes;
  Turned::read(from + row * ld + col * kBytes / kCodes, ld, rows - row, cols - col, tile);
  __syncthreads();
  store_turned<Turned>(tile, [&](int c, int r, uint4 codes) {
    if (col + c >= cols || row + r >= rows) return;
    *reinterpret_cast<uint4*>(to + ((col + c) * rows + row + r) * kBytes / kCodes) = codes;
  });
}

struct LayScales {
  BlockTable t;
  bool k_contiguous;
  NarrowScales kind;
  std::int64_t outer, blocks, block, padded_blocks;
  void* to;

  // Of the block of K and the row of a K-contiguous operand.
  __device__ float scale(std::int64_t o, std::int64_t kb) const {
    const std::int64_t row = k_contiguous ? o : kb * block, col = k_contiguous ? kb * block : o;
    return t.scales[row / t.block_rows * t.blocks_in_row + col / t.block_cols];
  }
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t o = i / padded_blocks, kb = i % padded_blocks;
    const std::int64_t height = kind == NarrowScales::square128 ? 128 : 1;
    const bool there = o * height < outer && kb < blocks;
    const float s = there ? scale(o * height, kb) : 0.0f;
    if (kind == NarrowScales::vec128) {
      static_cast<float*>(to)[kb * outer + o] = s;
    } else if (kind == NarrowScales::square128) {
      static_cast<float*>(to)[i] = s;
    } else {
      const std::int64_t block_at =
          (o / kScaleRows * (padded_blocks / kScaleColumns) + kb / kScaleColumns) * 512;
      const std::int64_t at = block_at + o % 32 * 16 + o % kScaleRows / 32 * 4 + kb % kScaleColumns;
      const std::uint32_t bits = __float_as_uint(s);
      const std::uint32_t byte = !there ? 0u
                                 : kind == NarrowScales::micro32
                                     ? bits >> 23
                                     : encode_nearest<pleat::SmallFloat::e4m3>(s);
      static_cast<std::uint8_t*>(to)[at] = static_cast<std::uint8_t>(byte);
    }
  }
};

struct SetOne {
  float* factors;
  __device__ void operator()(std::int64_t g) const { factors[g] = 1.0f; }
};

struct TimesScale {
  BlockTable t;
  float* factors;
  __device__ void operator()(std::int64_t block) const {  // of different groups
    if (block < *t.blocks) factors[t.group_of[block]] *= t.scales[block] * t.group_scales[block];
  }
};

struct SetFactors {
  const float *a, *b;
  float beta;
  float* factors;
  __device__ void operator()(std::int64_t) const {
    factors[0] = a[0] * b[0];
    factors[1] = beta;
  }
};

}  // namespace

int capability(const Resources& r) {
  int major = 0, minor = 0;
  PLEAT_CUDA_CHECK(
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, r.device().index()));
  PLEAT_CUDA_CHECK(
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, r.device().index()));
  return 10 * major + minor;
}

NarrowKind narrow_kind(View v, bool k_contiguous, int capability) {
  if (v.scales == nullptr) return {};
  const BlockTable& t = blocks_of_matrix(v);
  const std::int64_t outer = k_contiguous ? v.rows : v.cols, k = k_contiguous ? v.cols : v.rows;
  const bool four_bits = v.scales->format == pleat::SmallFloat::e2m1;
  if (!t.regular || outer % 16 != 0 || k % (four_bits ? 32 : 16) != 0) return {};
  // Blocks of `n` along K, or squares.
  const auto along = [&](std::int64_t n) {
    return k_contiguous ? t.block_rows == 1 && t.block_cols == n
                        : t.block_rows == n && t.block_cols == 1;
  };
  const auto square = [&](std::int64_t n) { return t.block_rows == n && t.block_cols == n; };
  const ScaleRule rule = v.scales->rule;
  const NarrowKind none{v.scales->format, NarrowScales::none};
  const auto kind = [&](NarrowScales s) { return NarrowKind{v.scales->format, s}; };
  switch (rule) {
    case ScaleRule::amax:
    case ScaleRule::power_of_two:
      if (four_bits) return none;
      if (capability < 89) return none;
      if (t.block_rows == 0 && t.blocks_in_row == 1) return kind(NarrowScales::tensor);
      if (capability / 10 != 9) return none;
      if (along(128)) return kind(NarrowScales::vec128);
      return square(128) ? kind(NarrowScales::square128) : none;
    case ScaleRule::e8m0:
      return capability >= 100 && !four_bits && along(32) ? kind(NarrowScales::micro32) : none;
    case ScaleRule::nvfp4:
      return capability >= 100 && four_bits && (along(16) || square(16))
                 ? kind(NarrowScales::nvfp4_16)
                 : none;
  }
  return none;
}

std::size_t narrow_bytes(View v, bool k_contiguous, NarrowKind kind) {
  const ScaleShape s =
      scale_shape(k_contiguous ? v.rows : v.cols, k_contiguous ? v.cols : v.rows, kind.scales);
  return (k_contiguous ? 0 : Scratch::bytes<std::byte>(v.elements())) +
         Scratch::bytes<float>(s.outer * s.blocks);
}

NarrowOperand narrow_operand(const Resources& r, View v, bool k_contiguous, NarrowKind kind,
                             Scratch& copies) {
  const BlockTable& t = blocks_of_matrix(v);
  NarrowOperand made{v.data, t.scales, kind};
  if (!k_contiguous) {
    auto* const to = copies.take<std::uint8_t>(v.elements());
    const auto tiles = blocks_of(ceil_div(v.rows, kTurnTile) * ceil_div(v.cols, kTurnTile));
    const auto* const from = static_cast<const std::uint8_t*>(v.data);
    if (kind.format == pleat::SmallFloat::e2m1) {
      launch(r, transpose_codes_kernel<TurnedHalfBytes>, tiles, kThreads, 0, from, v.rows, v.cols,
             to);
    } else {
      launch(r, transpose_codes_kernel<TurnedBytes>, tiles, kThreads, 0, from, v.rows, v.cols, to);
    }
    made.codes = to;
  }
  const std::int64_t outer = k_contiguous ? v.rows : v.cols, k = k_contiguous ? v.cols : v.rows;
  const ScaleShape s = scale_shape(outer, k, kind.scales);
  if (s.outer == 0) return made;
  auto* const to = copies.take<float>(s.outer * s.blocks);
  const std::int64_t block = block_of(kind.scales);
  for_each(r, s.outer * s.blocks,
           LayScales{t, k_contiguous, kind.scales, outer, ceil_div(k, block), block, s.blocks, to});
  made.scales = to;
  return made;
}

void group_factors(const Resources& r, View a, View b, std::int64_t groups, float* factors) {
  for_each(r, groups, SetOne{factors});
  for (const View v : {a, b}) {
    const BlockTable& t = blocks_of_matrix(v);
    for_each(r, t.most_blocks, TimesScale{t, factors});
  }
}

void narrow_factors(const Resources& r, View a, View b, float beta, float* factors) {
  for_each(r, 1,
           SetFactors{blocks_of_matrix(a).group_scales, blocks_of_matrix(b).group_scales, beta,
                      factors});
}

}  // namespace pleat::cuda
