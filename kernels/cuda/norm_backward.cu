// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Norms of rows, backward.
#include <type_traits>

#include "kernels/cuda/norm_gradient.cuh"

namespace pleat::cuda {

// dx = rstd (g - mean(g) - z mean(g z)) with g = dy w and z = (x - mean) rstd; without mean(g)
// where the norm is not centered. dw: every thread adds up its rows, a block its threads in their
// order, then the blocks are added. Bound: memory, rows * cols * (read dy, x, dresidual + write
// dx); dw's partial sums are small.

namespace {

// Blocks of 256 threads that registers have to let run together on a multiprocessor.
template <class T, class Config>
constexpr int kTogether = !std::is_same_v<T, Bf16Value> || Config::threads > 256 ? 1
                          : Config::packs > 1                                    ? 2
                                                                                 : 4;

// x and dy of the rows that a thread has at once.
template <class T, class Config>
struct NormRows {
  Packed<T> x[Config::at_once][Config::packs], dy[Config::at_once][Config::packs];
  float rstd[Config::at_once];
  // Rows first, first + groups, …; one that does not exist has no values.
  __device__ __forceinline__ void fetch(const NormGradient<T>& g, const NormShape& s,
                                        const RowPacks<Config>& packs, int first) {
#pragma unroll
    for (int k = 0; k < Config::at_once; ++k) {
      const int row = first + k * Config::groups;
      rstd[k] = 0;
#pragma unroll
      for (int p = 0; p < Config::packs; ++p) x[k][p] = dy[k][p] = {};
      if (row >= s.rows) continue;
      const NormRowAt at(s, row);
      rstd[k] = g.rstd[at.rstd];
      packs.fetch(g.x, at.x, x[k]);
      packs.fetch(g.dy, at.y, dy[k]);
    }
  }
};

template <class T, class Config, bool kCentered>
__global__ void __launch_bounds__(Config::threads, (kTogether<T, Config>))
    norm_backward_kernel(NormGradient<T> g, NormShape s) {
  constexpr int kPacks = Config::packs, kRows = Config::at_once;
  const RowPacks<Config> packs(s.cols);
  RowSum<Config> row_sum;
  const float count = static_cast<float>(s.cols);
  float dw[kPacks][kPack] = {}, dshift[kCentered ? kPacks : 1][kPack] = {};
  const int step = static_cast<int>(gridDim.x) * Config::rows;
  int block_row = static_cast<int>(blockIdx.x) * Config::rows;
  int group = 0;
  if constexpr (Config::row_threads > 0) group = threadIdx.x / Config::row_threads;
  NormRows<T, Config> now;
  for (; block_row < s.rows; block_row += step) {  // all threads of a block as often
    const int first = block_row + group;
    now.fetch(g, s, packs, first);
    float mean[kRows] = {}, mean_g[kRows] = {}, mean_gz[kRows] = {};
    if constexpr (kCentered) {
#pragma unroll
      for (int k = 0; k < kRows; ++k) {
        float sum = 0, x[kPack];
#pragma unroll
        for (int p = 0; p < kPacks; ++p) {
          now.x[k][p].unpack(x);
#pragma unroll
          for (int i = 0; i < kPack; ++i) sum += x[i];
        }
        mean[k] = row_sum(sum) / count;
      }
    }
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      if (packs.count(p) == 0) continue;
      float w[kPack], x[kPack], dy[kPack];
      g.w.load(packs.first(p), packs.count(p), w);
#pragma unroll
      for (int k = 0; k < kRows; ++k) {
        now.x[k][p].unpack(x);
        now.dy[k][p].unpack(dy);
#pragma unroll
        for (int i = 0; i < kPack; ++i) {
          const float z = __fmul_rn(x[i] - mean[k], now.rstd[k]);  // dy and w are 0 beyond the row
          dw[p][i] = fmaf(dy[i], z, dw[p][i]);
          if constexpr (kCentered) dshift[p][i] += dy[i];
          const float slope = __fmul_rn(dy[i], w[i]);
          mean_g[k] += slope;
          mean_gz[k] = fmaf(slope, z, mean_gz[k]);
        }
      }
    }
    const auto exists = [&](int k) { return first + k * Config::groups < s.rows; };
    const auto at = [&](int k) { return NormRowAt(s, first + k * Config::groups).x; };
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      mean_gz[k] = row_sum(mean_gz[k]) / count;
      mean_g[k] = kCentered ? row_sum(mean_g[k]) / count : 0.0f;
    }
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      if (packs.count(p) == 0) continue;
      float w[kPack], x[kPack], dy[kPack], dx[kPack];
      g.w.load(packs.first(p), packs.count(p), w);
#pragma unroll
      for (int k = 0; k < kRows; ++k) {
        now.x[k][p].unpack(x);
        now.dy[k][p].unpack(dy);
        Packed<T> residual = {};
        if (g.residual && exists(k)) packs.fetch(g.dresidual, at(k), p, residual);
        residual.unpack(dx);
#pragma unroll
        for (int i = 0; i < kPack; ++i) {
          const float z = __fmul_rn(x[i] - mean[k], now.rstd[k]), slope = __fmul_rn(dy[i], w[i]);
          dx[i] += __fmul_rn(now.rstd[k], fmaf(-z, mean_gz[k], slope - mean_g[k]));
        }
        if (exists(k)) g.dx.store(dx, at(k) + packs.first(p), packs.count(p));
      }
    }
  }
  float* const partial = g.partial + blockIdx.x * s.cols * (kCentered ? 2 : 1);
  store_partial<Config>(dw, packs, partial);
  if constexpr (kCentered) store_partial<Config>(dshift, packs, partial + s.cols);
}

template <class T, bool kCentered>
void run(Resources& r, View dy, View x, View w, View rstd, View dresidual, View dx, View dw,
         const NormShape& s) {
  by_columns<2>(s.cols, [&](auto config, int threads) {
    using Config = decltype(config);
    const auto kernel = norm_backward_kernel<T, Config, kCentered>;
    const int together = blocks_together(r, kernel, threads);
    const std::int64_t blocks = std::min<std::int64_t>(
        ceil_div(s.rows, Config::rows), std::int64_t{together} * r.multiprocessors());
    Scratch scratch(r, Scratch::bytes<float>(blocks * dw.elements()));
    float* partial = scratch.take<float>(blocks * dw.elements());
    const NormGradient<T> g{
        vec<T>(dy, s.y.ld, s.y.first, s.y.step),
        vec<T>(x, s.x.ld, s.x.first, s.x.step),
        vec<T>(w, kCentered ? s.cols : 0),
        dresidual.data == nullptr ? Vec<T>{} : vec<T>(dresidual, s.x.ld, s.x.first, s.x.step),
        vec<T>(dx, s.x.ld, s.x.first, s.x.step),
        rstd.f32(),
        partial,
        dresidual.data != nullptr};
    launch(r, kernel, blocks_of(blocks), threads, 0, g, s);
    add_partial_sums(r, partial, blocks, dw.elements(), 1, true, dw);
  });
}

}  // namespace

void norm_backward(Resources& r, View dy, View x, View w, View rstd, View dresidual, View dx,
                   View dw, const NormShape& s) {
  PLEAT_ASSERT(w.elements() == (s.centered ? 2 : 1) * s.cols && dw.elements() == w.elements());
  if (s.rows == 0) return;
  if (s.centered) return run<AnyType, true>(r, dy, x, w, rstd, dresidual, dx, dw, s);
  by_type(
      [&](auto tag) {
        using T = typename decltype(tag)::type;
        if constexpr (std::is_same_v<T, Bf16Value>) {
          if (norm_backward_staged(r, dy, x, w, rstd, dresidual, dx, dw, s)) return;
        }
        run<T, false>(r, dy, x, w, rstd, dresidual, dx, dw, s);
      },
      dy, x, w, dresidual, dx);
}

}  // namespace pleat::cuda
