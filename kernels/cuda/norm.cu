// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Norms of rows, forward.
#include "kernels/cuda/norm_rows.cuh"

namespace pleat::cuda {

// y = x * rstd * w, or (x - mean) * rstd * scale + shift.
// Bound: memory, rows * cols * (read x + write y), and what is added; the row stays in registers.

namespace {

template <class T>
struct NormOperands {
  Vec<T> x, w, y, residual, sum;
  bool adds, write_y;
};

// row += residual, rounded as it is stored in `sum`.
template <class Config, class T>
__device__ __forceinline__ void add_residual(const NormOperands<T>& o,
                                             const RowPacks<Config>& packs, std::int64_t at,
                                             const Packed<T> (&more)[Config::packs], bool exists,
                                             Packed<T> (&row)[Config::packs]) {
#pragma unroll
  for (int p = 0; p < Config::packs; ++p) {
    float value[kPack], added[kPack];
    row[p].unpack(value);
    more[p].unpack(added);
#pragma unroll
    for (int i = 0; i < kPack; ++i) value[i] = o.sum.rounded(value[i] + added[i]);
    row[p].pack(value);
    if (exists) o.sum.store(value, at + packs.first(p), packs.count(p));
  }
}

template <class T, class Config, bool kCentered>
__global__ void __launch_bounds__(Config::threads)
    norm_kernel(NormOperands<T> o, float* rstd, float eps, NormShape s) {
  constexpr int kPacks = Config::packs, kRows = Config::at_once;
  const RowPacks<Config> packs(s.cols);
  RowSum<Config> row_sum;
  const float count = static_cast<float>(s.cols);
  const int thread = static_cast<int>(threadIdx.x);
  int first = static_cast<int>(blockIdx.x) * Config::rows;
  if constexpr (Config::row_threads > 0) first += thread / Config::row_threads;
  // Row k of this thread is first + k * groups. One that does not exist is the last again, not
  // stored: all lanes take part in the sums.
  const auto exists = [&](int k) { return first + k * Config::groups < s.rows; };
  const auto at = [&](int k) { return NormRowAt(s, min(first + k * Config::groups, s.rows - 1)); };
  Packed<T> row[kRows][kPacks];
#pragma unroll
  for (int k = 0; k < kRows; ++k) packs.fetch(o.x, at(k).x, row[k]);
  if (o.adds) {
    Packed<T> more[kRows][kPacks];
#pragma unroll
    for (int k = 0; k < kRows; ++k) packs.fetch(o.residual, at(k).x, more[k]);
#pragma unroll
    for (int k = 0; k < kRows; ++k) add_residual(o, packs, at(k).x, more[k], exists(k), row[k]);
  }
  float mean[kRows] = {}, scale[kRows];
#pragma unroll
  for (int k = 0; k < kRows; ++k) {
    float value[kPack], squares = 0;
    if constexpr (kCentered) {
      float sum = 0;
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        row[k][p].unpack(value);
#pragma unroll
        for (int i = 0; i < kPack; ++i) sum += value[i];
      }
      mean[k] = row_sum(sum) / count;
    }
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      row[k][p].unpack(value);
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        const float v = !kCentered || i < packs.count(p) ? value[i] - mean[k] : 0.0f;
        squares = fmaf(v, v, squares);
      }
    }
    scale[k] = 1.0f / sqrtf(row_sum(squares) / count + eps);
    if (packs.lane == 0 && exists(k)) rstd[at(k).rstd] = scale[k];
  }
  if (!o.write_y) return;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    if (packs.count(p) == 0) continue;
    float weight[kPack], shift[kPack], value[kPack];
    o.w.load(packs.first(p), packs.count(p), weight);
    if constexpr (kCentered) o.w.load(s.cols + packs.first(p), packs.count(p), shift);
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      row[k][p].unpack(value);
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        const float z = __fmul_rn((value[i] - mean[k]), scale[k]);
        value[i] = kCentered ? fmaf(z, weight[i], shift[i]) : __fmul_rn(z, weight[i]);
      }
      if (exists(k)) o.y.store(value, at(k).y + packs.first(p), packs.count(p));
    }
  }
}

template <class T, bool kCentered>
void run(const Resources& r, View x, View w, View y, View rstd, double eps, const NormShape& s,
         const NormExtras& extras) {
  const bool adds = extras.residual.data != nullptr;
  const auto like_x = [&](View v) {
    return v.data == nullptr ? Vec<T>{} : vec<T>(v, s.x.ld, s.x.first, s.x.step);
  };
  const NormOperands<T> operands{like_x(x),
                                 vec<T>(w, kCentered ? s.cols : 0),
                                 vec<T>(y, s.y.ld, s.y.first, s.y.step),
                                 like_x(extras.residual),
                                 like_x(extras.sum),
                                 adds,
                                 extras.write_y};
  by_columns<4>(s.cols, [&](auto config, int threads) {
    using Config = decltype(config);
    launch(r, norm_kernel<T, Config, kCentered>, blocks_of(ceil_div(s.rows, Config::rows)), threads,
           0, operands, rstd.f32(), static_cast<float>(eps), s);
  });
}

}  // namespace

void norm_forward(const Resources& r, View x, View w, View y, View rstd, double eps,
                  const NormShape& s, const NormExtras& extras) {
  PLEAT_ASSERT((extras.residual.data == nullptr) == (extras.sum.data == nullptr));
  PLEAT_ASSERT(w.elements() == (s.centered ? 2 : 1) * s.cols && rstd.dtype == DType::fp32);
  if (s.rows == 0) return;
  if (s.centered) return run<AnyType, true>(r, x, w, y, rstd, eps, s, extras);
  by_type(
      [&](auto tag) {
        run<typename decltype(tag)::type, false>(r, x, w, y, rstd, eps, s, extras);
      },
      x, w, y, extras.residual, extras.sum);
}

}  // namespace pleat::cuda
