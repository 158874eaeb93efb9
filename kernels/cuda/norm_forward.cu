// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// y = x * rstd * w, or (x - mean) * rstd * scale + shift.
// Bound: memory, rows * cols * (read x + write y), and what is added; the row stays in registers.
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/norm_config.cuh"

namespace pleat::cuda {
namespace {

template <class T>
struct NormOperands {
  Vec<T> x, w, y, residual, sum;
  bool adds, write_y;
};

template <class T, class Config, bool kCentered>
__global__ void __launch_bounds__(Config::threads)
    norm_kernel(NormOperands<T> o, float* rstd, float eps, NormShape s) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * Config::rows +
                           static_cast<int>(threadIdx.x) / Config::row_threads;
  if (row >= s.rows) return;  // a whole warp, where a block has several rows
  const RowPacks<Config> packs{s.cols};
  const std::int64_t x_row = s.x(row), y_row = s.y(row);
  const float count = static_cast<float>(s.cols);
  float value[Config::packs][kPack];
  float mean = 0, squares = 0;
#pragma unroll
  for (int p = 0; p < Config::packs; ++p) {
    o.x.load(x_row + packs.first(p), packs.count(p), value[p]);
    if (o.adds) {
      float more[kPack];
      o.residual.load(x_row + packs.first(p), packs.count(p), more);
#pragma unroll
      for (int i = 0; i < kPack; ++i) value[p][i] = o.sum.rounded(value[p][i] + more[i]);
      o.sum.store(value[p], x_row + packs.first(p), packs.count(p));
    }
  }
  if constexpr (kCentered) {
    float sum = 0;
#pragma unroll
    for (int p = 0; p < Config::packs; ++p) {
#pragma unroll
      for (int i = 0; i < kPack; ++i) sum += value[p][i];
    }
    mean = group_sum<Config::row_threads>(sum) / count;
  }
#pragma unroll
  for (int p = 0; p < Config::packs; ++p) {
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      const float v = i < packs.count(p) ? value[p][i] - mean : 0.0f;
      squares = fmaf(v, v, squares);
    }
  }
  const float scale = 1.0f / sqrtf(group_sum<Config::row_threads>(squares) / count + eps);
  if (threadIdx.x % Config::row_threads == 0) rstd[s.rstd(row)] = scale;
  if (!o.write_y) return;
#pragma unroll
  for (int p = 0; p < Config::packs; ++p) {
    if (packs.count(p) == 0) continue;
    float weight[kPack], shift[kPack];
    o.w.load(packs.first(p), packs.count(p), weight);
    if constexpr (kCentered) o.w.load(s.cols + packs.first(p), packs.count(p), shift);
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      const float z = __fmul_rn((value[p][i] - mean), scale);
      value[p][i] = kCentered ? fmaf(z, weight[i], shift[i]) : __fmul_rn(z, weight[i]);
    }
    o.y.store(value[p], y_row + packs.first(p), packs.count(p));
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
  by_columns(s.cols, [&](auto config) {
    using Config = decltype(config);
    launch(r, norm_kernel<T, Config, kCentered>, blocks_of(ceil_div(s.rows, Config::rows)),
           Config::threads, 0, operands, rstd.f32(), static_cast<float>(eps), s);
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
