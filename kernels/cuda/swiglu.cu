// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// SwiGLU forward with an optional probability a row. u[R,2f] (gate | up), p[R] -> y[R,f].
// Bound: memory, 3*R*f elements and p.
#include "core/diagnostics.hpp"
#include "kernels/cuda/cuda_check.cuh"
#include "kernels/cuda/elementwise.hpp"
#include "kernels/cuda/pack.cuh"

namespace pleat::cuda {
namespace {

// Threads share nothing, so the size is only what fills an SM: 8 blocks of 256 are its 2048
// threads.
constexpr int kThreads = 256;

// One thread a pack of N columns of one row; packs are numbered row by row.
template <typename T, int N>
__global__ void __launch_bounds__(kThreads)
    swiglu_kernel(const T* __restrict__ u, const float* __restrict__ p, T* __restrict__ y,
                  std::int64_t rows, std::int64_t f) {
  const std::int64_t packs_per_row = f / N;
  const std::int64_t pack = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (pack >= rows * packs_per_row) return;
  const std::int64_t row = pack / packs_per_row;
  const std::int64_t col = (pack - row * packs_per_row) * N;

  float gate[N], up[N];
  load<T, N>(u + row * 2 * f + col, gate);
  load<T, N>(u + row * 2 * f + f + col, up);
  const float probability = p == nullptr ? 1.0f : p[row];
#pragma unroll
  for (int i = 0; i < N; ++i) gate[i] = gate[i] / (1.0f + expf(-gate[i])) * up[i] * probability;
  store<T, N>(gate, y + row * f + col);
}

template <typename T, int N>
void enqueue(View u, View p, View y, StreamRef stream) {
  const std::int64_t packs = y.rows * (y.cols / N);
  const std::int64_t blocks = (packs + kThreads - 1) / kThreads;
  PLEAT_ASSERT(blocks <= INT32_MAX);  // the grid's first dimension
  swiglu_kernel<T, N>
      <<<static_cast<unsigned>(blocks), kThreads, 0, static_cast<cudaStream_t>(stream.handle)>>>(
          static_cast<const T*>(u.data), p.f32(), static_cast<T*>(y.data), y.rows, y.cols);
  PLEAT_CUDA_CHECK(cudaGetLastError());
}

template <typename T>
void launch(View u, View p, View y, StreamRef stream) {
  constexpr int n = kPackWidth<T>;
  // A row of u is two halves of f columns each, and both must start on a pack.
  const bool wide = packs_fit<T, n>(u.data, y.cols) && packs_fit<T, n>(y.data, y.cols);
  if (wide) {
    enqueue<T, n>(u, p, y, stream);
  } else {
    enqueue<T, 1>(u, p, y, stream);
  }
}

}  // namespace

void swiglu(View u, View p, View y, StreamRef stream) {
  PLEAT_ASSERT(u.rows == y.rows && u.cols == 2 * y.cols);
  PLEAT_ASSERT(u.dtype == y.dtype && (y.dtype == DType::fp32 || y.dtype == DType::bf16));
  PLEAT_ASSERT(p.data == nullptr || (p.dtype == DType::fp32 && p.elements() == y.rows));
  if (y.elements() == 0) return;
  if (y.dtype == DType::bf16) {
    launch<__nv_bfloat16>(u, p, y, stream);
  } else {
    launch<float>(u, p, y, stream);
  }
}

}  // namespace pleat::cuda
