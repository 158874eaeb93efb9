// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Codes for products over columns and over rows in one pass, of what is stored or of what a norm or
// SwiGLU makes: a thread block has 256 columns of a strip of rows, its warps share the rows.
// Bound: memory, read x + write both codes; of a norm, x is read for the statistics before.
#include <optional>

#include "core/numerics/small_float.hpp"
#include "kernels/cuda/codes.cuh"
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/norm.hpp"
#include "kernels/cuda/quantize.hpp"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/row_source.cuh"

namespace pleat {
namespace cuda {
namespace {

constexpr int kCopyWarps = 16, kCopyThreads = kCopyWarps * kWarp, kCopyColumns = kWarp * kPack;

struct Copy {
  BlockTable t;
  std::uint8_t* codes;
};

// Eight codes of one row.
template <pleat::SmallFloat type>
__device__ __forceinline__ void store_codes(const float (&v)[kPack], const float (&factor)[kPack],
                                            std::uint8_t* to) {
  std::uint32_t two[kPack / 2];
#pragma unroll
  for (int i = 0; i < kPack / 2; ++i) {
    two[i] = encode_two<type>(__fmul_rn(v[2 * i], factor[2 * i]),
                              __fmul_rn(v[2 * i + 1], factor[2 * i + 1]));
  }
  *reinterpret_cast<uint2*>(to) = uint2{two[0] | two[1] << 16, two[2] | two[3] << 16};
}

// Blocks of 1 x n and of n x 1, n = 16 * kRows; a warp has kRows of a strip's rows.
template <class Source, pleat::SmallFloat type, int kRows>
__global__ void __launch_bounds__(kCopyThreads)
    both_blocks_kernel(Source x, std::int64_t cols, Copy by_row, Copy by_column, float most_code,
                       ScaleRule rule) {
  constexpr int kStrip = kCopyWarps * kRows, kLanes = kStrip / kPack;  // lanes of a row's block
  __shared__ float largest_of[kCopyWarps][kCopyColumns];
  const BlockTable &rows = by_row.t, &columns = by_column.t;
  const std::int64_t tiles = (cols + kCopyColumns - 1) / kCopyColumns, strip = blockIdx.x / tiles;
  if (strip >= *columns.blocks) return;
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const std::int64_t first = columns.first_row[strip] + static_cast<std::int64_t>(warp) * kRows;
  const std::int64_t col = blockIdx.x % tiles * kCopyColumns + lane * kPack;
  float v[kRows][kPack], most[kPack] = {};
  bool there[kRows];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const std::int64_t row = first + i;
    there[i] = col < cols && row < columns.rows && columns.block_of_row[row] == strip;
    x.load(there[i] ? row * cols + col : 0, there[i] ? kPack : 0, v[i]);
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    float most_of_row = 0;
#pragma unroll
    for (int c = 0; c < kPack; ++c) {
      most[c] = larger(most[c], v[i][c]);
      most_of_row = larger(most_of_row, v[i][c]);
    }
#pragma unroll
    for (int distance = 1; distance < kLanes; distance *= 2) {
      most_of_row = fmaxf(most_of_row, __shfl_xor_sync(kAllLanes, most_of_row, distance));
    }
    if (!there[i]) continue;
    const std::int64_t row = first + i;
    const ScaleFactors f = factors_of(most_of_row, 1.0f, most_code, rule);
    if (lane % kLanes == 0) rows.scales[row * rows.blocks_in_row + col / kStrip] = f.decode;
    if (col == 0) rows.group_scales[row] = 1.0f;
    float factor[kPack];
#pragma unroll
    for (int c = 0; c < kPack; ++c) factor[c] = f.encode;
    store_codes<type>(v[i], factor, by_row.codes + row * cols + col);
  }
#pragma unroll
  for (int c = 0; c < kPack; ++c) largest_of[warp][c * kWarp + lane] = most[c];
  __syncthreads();
  if (col >= cols) return;
  float factor[kPack];
#pragma unroll
  for (int c = 0; c < kPack; ++c) {
#pragma unroll
    for (int w = 0; w < kCopyWarps; ++w) most[c] = fmaxf(most[c], largest_of[w][c * kWarp + lane]);
    const ScaleFactors f = factors_of(most[c], 1.0f, most_code, rule);
    factor[c] = f.encode;
    if (warp == 0) columns.scales[strip * cols + col + c] = f.decode;
  }
  if (warp == 0 && col == 0) columns.group_scales[strip] = 1.0f;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    if (there[i]) store_codes<type>(v[i], factor, by_column.codes + (first + i) * cols + col);
  }
}

// The length of blocks where both copies have the same within rows and within columns.
std::optional<std::int64_t> common_length(const RowSource& x, const QuantizedCopy& by_row,
                                          const QuantizedCopy& by_column) {
  const Quantization &row = by_row.how, &column = by_column.how;
  const std::int64_t n = row.block_cols;
  if (row.format != column.format || row.rule != column.rule) return std::nullopt;
  if (row.format == pleat::SmallFloat::e2m1 || row.rule == ScaleRule::nvfp4) return std::nullopt;
  if (row.hadamard || column.hadamard || row.stochastic || column.stochastic) return std::nullopt;
  if (row.block_rows != 1 || column.block_cols != 1 || column.block_rows != n) return std::nullopt;
  if (n != 16 && n != 32 && n != 128) return std::nullopt;
  const auto aligned = [](View v) { return reinterpret_cast<std::uintptr_t>(v.data) % 8 == 0; };
  if (x.elements() == 0 || x.cols() % n != 0) return std::nullopt;
  if (!aligned(by_row.codes) || !aligned(by_column.codes)) return std::nullopt;
  return n;
}

template <int kRows>
void both_blocks(const Resources& r, const RowSource& x, const Quantization& q, const Copy& by_row,
                 const Copy& by_column) {
  by_eight_bits(x, q.format, [&](auto source, auto format) {
    launch(r, both_blocks_kernel<decltype(source), decltype(format)::value, kRows>,
           blocks_of(by_column.t.most_blocks * ceil_div(x.cols(), kCopyColumns)), kCopyThreads, 0,
           source, x.cols(), by_row, by_column, largest(q.format), q.rule);
  });
}

bool quantize_both(Resources& r, const RowSource& x, View counts, const QuantizedCopy& by_row,
                   const QuantizedCopy& by_column) {
  const std::optional<std::int64_t> n = common_length(x, by_row, by_column);
  if (!n) return false;
  const auto copy = [&](const QuantizedCopy& c) {
    PLEAT_ASSERT(c.codes.rows == x.rows() && c.codes.cols == x.cols() && x.x.scales == nullptr);
    return Copy{describe_blocks(r, counts, c.codes, c.how),
                static_cast<std::uint8_t*>(c.codes.data)};
  };
  const Copy rows = copy(by_row), columns = copy(by_column);
  switch (*n) {
    case 16:
      both_blocks<1>(r, x, by_row.how, rows, columns);
      break;
    case 32:
      both_blocks<2>(r, x, by_row.how, rows, columns);
      break;
    default:
      both_blocks<8>(r, x, by_row.how, rows, columns);
  }
  return true;
}

void quantize_all(Resources& r, const RowSource& x, View counts,
                  std::span<const QuantizedCopy> copies) {
  if (copies.size() == 2 && (quantize_both(r, x, counts, copies[0], copies[1]) ||
                             quantize_both(r, x, counts, copies[1], copies[0]))) {
    return;
  }
  for (const QuantizedCopy& c : copies) quantize_rows(r, x, counts, c.codes, c.how);
}

}  // namespace
}  // namespace cuda

void CudaKernels::quantize_copies(View x, View counts, std::span<const QuantizedCopy> copies) {
  cuda::quantize_all(*resources_, cuda::stored(x), counts, copies);
}

void CudaKernels::rms_norm_quantize(View x, View residual, View sum, View w, View y, bool keep,
                                    View rstd, double eps,
                                    std::span<const QuantizedCopy> copies) {
  PLEAT_ASSERT(w.elements() == x.cols && y.rows == x.rows && y.cols == x.cols);
  PLEAT_ASSERT(rstd.elements() == x.rows);
  const bool adds = residual.data != nullptr;
  PLEAT_ASSERT(!adds || (residual.elements() == x.elements() && sum.elements() == x.elements()));
  cuda::norm_forward(
      *resources_, x, w, y, rstd, eps,
      {.rows = x.rows, .cols = x.cols, .x = {.ld = x.cols}, .y = {.ld = y.cols}, .rstd = {.ld = 1}},
      {.residual = residual, .sum = adds ? sum : View{}, .write_y = keep});
  if (keep) return quantize_copies(y, {}, copies);
  cuda::quantize_all(*resources_,
                     {.kind = cuda::RowSource::Kind::norm,
                      .x = adds ? sum : x,
                      .y = y,
                      .w = w,
                      .factors = rstd.f32()},
                     {}, copies);
}

void CudaKernels::swiglu_quantize(View u, View p, View counts, View y, bool keep,
                                  std::span<const QuantizedCopy> copies) {
  PLEAT_ASSERT(u.cols == 2 * y.cols && u.rows == y.rows);
  PLEAT_ASSERT(p.data == nullptr || (p.dtype == DType::fp32 && p.elements() == u.rows));
  if (keep) {
    swiglu(u, p, y);
    return quantize_copies(y, counts, copies);
  }
  cuda::quantize_all(
      *resources_,
      {.kind = cuda::RowSource::Kind::swiglu, .x = u, .y = y, .factors = p.f32()}, counts, copies);
}

}  // namespace pleat
