// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Gradients of norms of bf16 rows, which pass through shared memory: a thread copies the packs that
// it will need itself, of the next rows while it computes with one, so that no barrier is needed
// for them and no registers hold what has not arrived. Bound: memory, as norm_backward.cu says.
#include <cuda_pipeline.h>

#include "kernels/cuda/norm_gradient.cuh"

namespace pleat::cuda {
namespace {

// Rows of a thread that are in shared memory at once: the one it computes with and the next ones.
// Short rows are more, for as many bytes under way.
template <class Config>
constexpr int kStagesOf = Config::row_threads == 0 || Config::packs > 1 ? 2 : 6;
// Blocks that registers have to let run together on a multiprocessor: of 768 threads in all, or 512
// with four packs a thread. An H200 was slower with 64 registers for each of 1,024.
template <class Config>
constexpr int kStagedTogether = (Config::packs > 2 ? 512 : 768) / Config::threads;

// Shared memory of one thread: its packs of x, dy and dresidual of all stages, and their rstd.
// Packs of neighbouring threads are neighbours.
template <class Config>
struct StagedRows {
  uint4* packs;
  float* rstds;
  int operands;  // 2, or 3 with dresidual
  __device__ __forceinline__ StagedRows(bool residual) : operands(residual ? 3 : 2) {
    auto* const shared = dynamic_shared<uint4>();
    packs = shared + threadIdx.x;
    rstds = reinterpret_cast<float*>(shared + kStagesOf<Config> * operands * Config::packs *
                                                  static_cast<int>(blockDim.x)) +
            threadIdx.x;
  }
  static std::size_t bytes(int threads, bool residual) {
    const std::size_t row = Config::packs * sizeof(uint4) * (residual ? 3 : 2) + sizeof(float);
    return kStagesOf<Config> * row * static_cast<std::size_t>(threads);
  }
  [[nodiscard]] __device__ __forceinline__ uint4* at(int stage, int operand, int p) const {
    const int i = (stage * operands + operand) * Config::packs + p;
    return packs + i * static_cast<int>(blockDim.x);
  }
  [[nodiscard]] __device__ __forceinline__ float* rstd(int stage) const {
    return rstds + stage * static_cast<int>(blockDim.x);
  }
  __device__ __forceinline__ void read(int stage, int operand, int p, float (&to)[kPack]) const {
    widen(*at(stage, operand, p), to);
  }
};

template <class Config>
__global__ void __launch_bounds__(Config::threads, kStagedTogether<Config>)
    staged_kernel(NormGradient<Bf16Value> g, NormShape s) {
  constexpr int kPacks = Config::packs, kAhead = kStagesOf<Config> - 1;
  const RowPacks<Config> packs(s.cols);
  const StagedRows<Config> staged(g.residual);
  RowSum<Config> row_sum;
  const auto has = [&](int p) { return packs.first(p) < packs.cols; };
  const auto fetch = [&](int row, int stage) {
    if (row < s.rows) {
      const NormRowAt at(s, row);
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        if (!has(p)) continue;
        const int first = packs.first(p);
        __pipeline_memcpy_async(staged.at(stage, 0, p), g.x.data + at.x + first, 16);
        __pipeline_memcpy_async(staged.at(stage, 1, p), g.dy.data + at.y + first, 16);
        if (g.residual) {
          __pipeline_memcpy_async(staged.at(stage, 2, p), g.dresidual.data + at.x + first, 16);
        }
      }
      __pipeline_memcpy_async(staged.rstd(stage), g.rstd + at.rstd, sizeof(float));
    }
    __pipeline_commit();
  };
  Packed<Bf16Value> w[kPacks] = {};
  packs.fetch(g.w, 0, w);
  float dw[kPacks][kPack] = {};
  const int step = static_cast<int>(gridDim.x) * Config::groups;
  int block_row = static_cast<int>(blockIdx.x) * Config::groups;
  int group = 0, stage = 0;
  if constexpr (Config::row_threads > 0) group = threadIdx.x / Config::row_threads;
#pragma unroll
  for (int i = 0; i < kAhead; ++i) fetch(block_row + group + i * step, i);
  for (; block_row < s.rows; block_row += step) {  // all threads of a block as often
    const int row = block_row + group;
    fetch(row + kAhead * step, stage == 0 ? kAhead : stage - 1);  // what was read in the last turn
    __pipeline_wait_prior(kAhead);
    const bool exists = row < s.rows;
    const float rstd = exists ? *staged.rstd(stage) : 0.0f;
    float mean_gz = 0;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      if (!exists || !has(p)) continue;
      float weight[kPack], x[kPack], dy[kPack];
      w[p].unpack(weight);
      staged.read(stage, 0, p, x);
      staged.read(stage, 1, p, dy);
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        const float z = __fmul_rn(x[i], rstd);
        dw[p][i] = fmaf(dy[i], z, dw[p][i]);
        mean_gz = fmaf(__fmul_rn(dy[i], weight[i]), z, mean_gz);
      }
    }
    mean_gz = row_sum(mean_gz) / static_cast<float>(s.cols);
    const std::int64_t to = exists ? NormRowAt(s, row).x : 0;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      if (!exists || !has(p)) continue;
      float weight[kPack], x[kPack], dy[kPack], dx[kPack] = {};
      w[p].unpack(weight);
      staged.read(stage, 0, p, x);
      staged.read(stage, 1, p, dy);
      if (g.residual) staged.read(stage, 2, p, dx);
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        const float z = __fmul_rn(x[i], rstd), slope = __fmul_rn(dy[i], weight[i]);
        dx[i] += __fmul_rn(rstd, fmaf(-z, mean_gz, slope));
      }
      store_pack(dx, g.dx.data + to + packs.first(p));
    }
    stage = stage == kAhead ? 0 : stage + 1;
  }
  __pipeline_wait_prior(0);
  store_partial<Config>(dw, packs, g.partial + blockIdx.x * s.cols);
}

// Blocks that run together on one multiprocessor.
template <class Config>
int staged_together(const Resources& r, int threads, std::size_t shared) {
  const auto kernel = reinterpret_cast<const void*>(staged_kernel<Config>);
  r.device().make_current();
  if (shared > 48 * 1024) {
    PLEAT_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                          static_cast<int>(shared)));
  }
  int blocks = 0;
  PLEAT_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared));
  return std::max(1, blocks);
}

template <class F>
void by_staged_columns(std::int64_t cols, F f) {
  const auto of_block = [&](auto config) {  // no more warps than the row needs
    f(config, static_cast<int>(ceil_div(cols, kPack * decltype(config)::packs * kWarp)) * kWarp);
  };
  if (cols <= 128) {
    f(NormConfig<16, 1, 1, 256>{}, 256);
  } else if (cols <= 256) {
    f(NormConfig<32, 1, 1, 256>{}, 256);
  } else if (cols <= 1024) {
    f(NormConfig<32, 4, 1, 256>{}, 256);
  } else if (cols <= 2048) {
    of_block(NormConfig<0, 2, 1, 128>{});
  } else if (cols <= 4096) {
    of_block(NormConfig<0, 2, 1, 256>{});
  } else {
    of_block(NormConfig<0, 4, 1, 256>{});
  }
}

}  // namespace

bool norm_backward_staged(Resources& r, View dy, View x, View w, View rstd, View dresidual, View dx,
                          View dw, const NormShape& s) {
  const bool residual = dresidual.data != nullptr;
  NormGradient<Bf16Value> g{
      vec<Bf16Value>(dy, s.y.ld, s.y.first, s.y.step),
      vec<Bf16Value>(x, s.x.ld, s.x.first, s.x.step),
      vec<Bf16Value>(w),
      residual ? vec<Bf16Value>(dresidual, s.x.ld, s.x.first, s.x.step) : Vec<Bf16Value>{},
      vec<Bf16Value>(dx, s.x.ld, s.x.first, s.x.step),
      rstd.f32(),
      nullptr,
      residual};
  const bool aligned =
      g.dy.wide && g.x.wide && g.w.wide && g.dx.wide && (!residual || g.dresidual.wide);
  if (s.centered || !aligned || s.cols % kPack != 0 || s.cols > 8192) return false;
  by_staged_columns(s.cols, [&](auto config, int threads) {
    using Config = decltype(config);
    const std::size_t shared = StagedRows<Config>::bytes(threads, residual);
    const std::int64_t blocks = std::min<std::int64_t>(
        ceil_div(s.rows, Config::groups),
        std::int64_t{staged_together<Config>(r, threads, shared)} * r.multiprocessors());
    Scratch scratch(r, Scratch::bytes<float>(blocks * dw.elements()));
    g.partial = scratch.take<float>(blocks * dw.elements());
    launch(r, staged_kernel<Config>, blocks_of(blocks), threads, shared, g, s);
    add_partial_sums(r, g.partial, blocks, dw.elements(), 1, true, dw);
  });
  return true;
}

}  // namespace pleat::cuda
