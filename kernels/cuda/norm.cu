// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Norms of rows, forward and backward. Bound: memory.
#include "kernels/cuda/norm.hpp"

#include "core/diagnostics.hpp"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/partial_sums.hpp"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/vec.cuh"

namespace pleat::cuda {

// How rows of a norm are dealt to threads: a warp a row, or a block a row, with every value of the
// row in registers, kPacks packs of eight a thread.

template <int kThreadsARow, int kPacksAThread>
struct NormConfig {
  static constexpr int row_threads = kThreadsARow, packs = kPacksAThread;
  static constexpr int threads = kThreadsARow > 256 ? kThreadsARow : 256;
  static constexpr int rows = threads / kThreadsARow;  // of a block
};

// f(NormConfig<…>{}) of the smallest configuration that holds a row.
template <class F>
void by_columns(std::int64_t cols, F f) {
  PLEAT_ASSERT(cols > 0 && cols <= kMaxNormColumns);
  if (cols <= 256) {
    f(NormConfig<32, 1>{});
  } else if (cols <= 1024) {
    f(NormConfig<32, 4>{});
  } else if (cols <= 2048) {
    f(NormConfig<256, 1>{});
  } else if (cols <= 4096) {
    f(NormConfig<256, 2>{});
  } else if (cols <= 8192) {
    f(NormConfig<256, 4>{});
  } else {
    f(NormConfig<512, 8>{});
  }
}

// Columns [first(p), +8) are pack p of a thread.
template <class Config>
struct RowPacks {
  std::int64_t cols;
  __device__ std::int64_t first(int p) const {
    return (p * Config::row_threads + static_cast<int>(threadIdx.x) % Config::row_threads) *
           static_cast<std::int64_t>(kPack);
  }
  __device__ int count(int p) const {  // values of it that exist
    const std::int64_t left = cols - first(p);
    return left >= kPack ? kPack : left > 0 ? static_cast<int>(left) : 0;
  }
};

// y = x * rstd * w, or (x - mean) * rstd * scale + shift.
// Bound: memory, rows * cols * (read x + write y), and what is added; the row stays in registers.

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

// dx = rstd (g - mean(g) - z mean(g z)) with g = dy w and z = (x - mean) rstd; without mean(g)
// where the norm is not centered. dw: every group of threads adds up its rows, then the groups are
// added. Bound: memory, rows * cols * (read dy, x, dresidual + write dx); dw's partial sums are
// small.

namespace {

template <class T>
struct NormGradient {
  Vec<T> dy, x, w, dresidual, dx;
  const float* rstd;
  float* partial;  // [groups, cols], or [groups, 2 cols]
  bool residual;
};

template <class T, class Config, bool kCentered>
__global__ void __launch_bounds__(Config::threads, 1)
    norm_backward_kernel(NormGradient<T> g, NormShape s, std::int64_t groups) {
  const std::int64_t group = static_cast<std::int64_t>(blockIdx.x) * Config::rows +
                             static_cast<int>(threadIdx.x) / Config::row_threads;
  if (group >= groups) return;
  const RowPacks<Config> packs{s.cols};
  const float count = static_cast<float>(s.cols);
  float dw[Config::packs][kPack] = {}, dshift[kCentered ? Config::packs : 1][kPack] = {};
  for (std::int64_t row = group; row < s.rows; row += groups) {
    const std::int64_t x_row = s.x(row), y_row = s.y(row);
    const float rstd = g.rstd[s.rstd(row)];
    float x[Config::packs][kPack], dy[Config::packs][kPack];
#pragma unroll
    for (int p = 0; p < Config::packs; ++p) {
      g.x.load(x_row + packs.first(p), packs.count(p), x[p]);
      g.dy.load(y_row + packs.first(p), packs.count(p), dy[p]);
    }
    float mean = 0;
    if constexpr (kCentered) {
      float sum = 0;
#pragma unroll
      for (int p = 0; p < Config::packs; ++p) {
#pragma unroll
        for (int i = 0; i < kPack; ++i) sum += x[p][i];
      }
      mean = group_sum<Config::row_threads>(sum) / count;
    }
    float sum_g = 0, sum_gz = 0;
#pragma unroll
    for (int p = 0; p < Config::packs; ++p) {
      if (packs.count(p) == 0) continue;
      float w[kPack];
      g.w.load(packs.first(p), packs.count(p), w);
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        const float z = __fmul_rn(x[p][i] - mean, rstd);  // dy and w are 0 beyond the row
        dw[p][i] = fmaf(dy[p][i], z, dw[p][i]);
        if constexpr (kCentered) dshift[p][i] += dy[p][i];
        const float slope = __fmul_rn(dy[p][i], w[i]);
        sum_g += slope;
        sum_gz = fmaf(slope, z, sum_gz);
        x[p][i] = z;
        dy[p][i] = slope;
      }
    }
    const float mean_gz = group_sum<Config::row_threads>(sum_gz) / count;
    const float mean_g = kCentered ? group_sum<Config::row_threads>(sum_g) / count : 0.0f;
#pragma unroll
    for (int p = 0; p < Config::packs; ++p) {
      if (packs.count(p) == 0) continue;
      float more[kPack] = {};
      if (g.residual) g.dresidual.load(x_row + packs.first(p), packs.count(p), more);
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        more[i] += __fmul_rn(rstd, fmaf(-x[p][i], mean_gz, dy[p][i] - mean_g));
      }
      g.dx.store(more, x_row + packs.first(p), packs.count(p));
    }
  }
  float* const partial = g.partial + group * s.cols * (kCentered ? 2 : 1);
#pragma unroll
  for (int p = 0; p < Config::packs; ++p) {
    for (int i = 0; i < packs.count(p); ++i) {
      partial[packs.first(p) + i] = dw[p][i];
      if constexpr (kCentered) partial[s.cols + packs.first(p) + i] = dshift[p][i];
    }
  }
}

template <class T, bool kCentered>
void run(Resources& r, View dy, View x, View w, View rstd, View dresidual, View dx, View dw,
         const NormShape& s) {
  by_columns(s.cols, [&](auto config) {
    using Config = decltype(config);
    const auto kernel = norm_backward_kernel<T, Config, kCentered>;
    static const int together = blocks_together(r, kernel, Config::threads);
    const std::int64_t blocks = std::min<std::int64_t>(
        ceil_div(s.rows, Config::rows), std::int64_t{together} * r.multiprocessors());
    const std::int64_t groups = std::min(s.rows, blocks * Config::rows);
    Scratch scratch(r, Scratch::bytes<float>(groups * dw.elements()));
    float* partial = scratch.take<float>(groups * dw.elements());
    const NormGradient<T> g{vec<T>(dy, s.y.ld, s.y.first, s.y.step),
                            vec<T>(x, s.x.ld, s.x.first, s.x.step),
                            vec<T>(w, kCentered ? s.cols : 0),
                            dresidual.data == nullptr
                                ? Vec<T>{}
                                : vec<T>(dresidual, s.x.ld, s.x.first, s.x.step),
                            vec<T>(dx, s.x.ld, s.x.first, s.x.step),
                            rstd.f32(),
                            partial,
                            dresidual.data != nullptr};
    launch(r, kernel, blocks_of(blocks), Config::threads, 0, g, s, groups);
    add_partial_sums(r, partial, groups, dw.elements(), 1, true, dw);
  });
}

}  // namespace

void norm_backward(Resources& r, View dy, View x, View w, View rstd, View dresidual, View dx,
                   View dw, const NormShape& s) {
  PLEAT_ASSERT(w.elements() == (s.centered ? 2 : 1) * s.cols && dw.elements() == w.elements());
  if (s.rows == 0) return;
  if (s.centered) return run<AnyType, true>(r, dy, x, w, rstd, dresidual, dx, dw, s);
  by_type([&](auto tag) {
    run<typename decltype(tag)::type, false>(r, dy, x, w, rstd, dresidual, dx, dw, s);
  }, dy, x, w, dresidual, dx);
}

}  // namespace pleat::cuda
