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

// A whole pack; what is computed is spared to find its row.
template <class Source>
__device__ __forceinline__ void load_of_row(const Source& x, std::int64_t row, std::int64_t col,
                                            std::int64_t cols, bool wide, Held<Source>& to) {
  if constexpr (requires { x.row; }) {
    float made[kPack];
    x.row.pack(row, col, kPack, made);
    to.set(made);
  } else if (wide) {
    to.load_wide(x, row * cols + col);
  } else {
    to.load(x, row * cols + col, kPack);
  }
}

// Blocks of 1 x n and of n x 1, n = 16 * kRows; a warp has kRows of a strip's rows. Two thread
// blocks run together where what they hold is bf16.
template <class Source, pleat::SmallFloat type, int kRows>
__global__ void __launch_bounds__(kCopyThreads, kGivesBf16<Source> ? 2 : 1)
    both_blocks_kernel(Source x, std::int64_t cols, Copy by_row, Copy by_column, float most_code,
                       ScaleRule rule) {
  using Pack = Held<Source>;
  constexpr int kStrip = kCopyWarps * kRows, kLanes = kStrip / kPack;  // lanes of a row's block
  __shared__ float largest_of_warp[kCopyWarps][kCopyColumns], factors[kCopyColumns];
  const BlockTable &rows = by_row.t, &columns = by_column.t;
  const std::int64_t tiles = (cols + kCopyColumns - 1) / kCopyColumns, strip = blockIdx.x / tiles;
  const std::int32_t strips = *columns.blocks;
  if (strip >= strips) return;
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  const std::int32_t begin = columns.first_row[strip], first = begin + warp * kRows;
  const auto end = strip + 1 < strips ? columns.first_row[strip + 1]
                                      : static_cast<std::int32_t>(columns.rows);
  const std::int64_t first_col = blockIdx.x % tiles * kCopyColumns, col = first_col + lane * kPack;
  const bool inside = col < cols;
  Pack v[kRows];
  typename Pack::Most most;
  const bool wide = has_wide_packs(x);
#pragma unroll
  for (int i = 0; i < kRows; ++i) {  // in place of rows beyond the last, the first once more
    const std::int64_t row = first + i < end ? first + i : begin;
    load_of_row(x, row, inside ? col : 0, cols, wide, v[i]);
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    v[i].raise(most);
    float most_of_row = v[i].largest();
#pragma unroll
    for (int distance = 1; distance < kLanes; distance *= 2) {
      most_of_row = fmaxf(most_of_row, __shfl_xor_sync(kAllLanes, most_of_row, distance));
    }
    const std::int64_t row = first + i;
    if (!inside || row >= end) continue;
    const ScaleFactors f = factors_of(most_of_row, 1.0f, most_code, rule);
    if (lane % kLanes == 0) rows.scales[row * rows.blocks_in_row + col / kStrip] = f.decode;
    if (col == 0) rows.group_scales[row] = 1.0f;
    *reinterpret_cast<uint2*>(by_row.codes + row * cols + col) =
        encode_pack<type>(v[i], [&](int) { return f.encode; });
  }
#pragma unroll
  for (int c = 0; c < kPack; ++c) largest_of_warp[warp][c * kWarp + lane] = most.get(c);
  __syncthreads();
  if (threadIdx.x < kCopyColumns) {  // column c * kWarp + lane of these is number c of a lane's
    float all = 0;
#pragma unroll
    for (int w = 0; w < kCopyWarps; ++w) all = fmaxf(all, largest_of_warp[w][threadIdx.x]);
    const ScaleFactors f = factors_of(all, 1.0f, most_code, rule);
    factors[threadIdx.x] = f.encode;
    const std::int64_t here = first_col + lane * kPack + warp;
    if (here < cols) columns.scales[strip * cols + here] = f.decode;
    if (here == 0) columns.group_scales[strip] = 1.0f;
  }
  __syncthreads();
  if (!inside) return;
  float factor[kPack];
#pragma unroll
  for (int c = 0; c < kPack; ++c) factor[c] = factors[c * kWarp + lane];
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    if (first + i >= end) break;
    *reinterpret_cast<uint2*>(by_column.codes + std::int64_t{first + i} * cols + col) =
        encode_pack<type>(v[i], [&](int c) { return factor[c]; });
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

// Whether both have the same codes and scales: one is enough to compute.
bool same_codes(const QuantizedCopy& a, const QuantizedCopy& b) {
  const Quantization &p = a.how, &q = b.how;
  if (p.format != q.format || p.rule != q.rule) return false;
  if (p.block_rows != q.block_rows || p.block_cols != q.block_cols) return false;
  if (p.past_amax != q.past_amax || p.seen_amax != q.seen_amax) return false;
  if (p.hadamard || q.hadamard || p.stochastic || q.stochastic) return false;
  return p.format != pleat::SmallFloat::e2m1 && a.codes.data != b.codes.data;
}

void quantize_all(Resources& r, const RowSource& x, View counts,
                  std::span<const QuantizedCopy> copies) {
  if (copies.size() == 2 && (quantize_both(r, x, counts, copies[0], copies[1]) ||
                             quantize_both(r, x, counts, copies[1], copies[0]))) {
    return;
  }
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const QuantizedCopy& c = copies[i];
    const bool two = i + 1 < copies.size() && same_codes(c, copies[i + 1]);
    quantize_rows(r, x, counts, c.codes, c.how, two ? copies[++i].codes : View{});
  }
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
