// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// RMSNorm forward. x[S,h], w[h] -> y[S,h], rstd[S].
// Bound: memory, S*h*(read x + write y) bytes; the second read of x comes from L1 (a row of 7168
// bf16 elements is 14 KiB).
#include "core/diagnostics.hpp"
#include "kernels/cuda/cuda_check.cuh"
#include "kernels/cuda/elementwise.hpp"
#include "kernels/cuda/pack.cuh"

namespace pleat::cuda {
namespace {

constexpr int kWarp = 32;
// 8 warps keep 16-byte loads in flight for a row of 2048 or more bf16 elements, and still let 8
// rows share an SM.
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;

// The block's sum, to every thread. The order of additions is fixed, so results repeat bitwise.
__device__ float block_sum(float value) {
  __shared__ float partial[kWarps];
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = value;
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) sum += partial[warp];
  return sum;
}

// One block a row; N elements a load.
template <typename T, int N>
__global__ void __launch_bounds__(kThreads)
    rms_norm_kernel(const T* __restrict__ x, const T* __restrict__ w, T* __restrict__ y,
                    float* __restrict__ rstd, std::int64_t cols, float eps) {
  const std::int64_t row = blockIdx.x;
  const T* const x_row = x + row * cols;
  T* const y_row = y + row * cols;

  float squares = 0;
  for (std::int64_t col = threadIdx.x * N; col < cols; col += kThreads * N) {
    float value[N];
    load<T, N>(x_row + col, value);
#pragma unroll
    for (int i = 0; i < N; ++i) squares += value[i] * value[i];
  }
  const float scale = rsqrtf(block_sum(squares) / static_cast<float>(cols) + eps);
  if (threadIdx.x == 0) rstd[row] = scale;

  for (std::int64_t col = threadIdx.x * N; col < cols; col += kThreads * N) {
    float value[N], weight[N];
    load<T, N>(x_row + col, value);
    load<T, N>(w + col, weight);
#pragma unroll
    for (int i = 0; i < N; ++i) value[i] *= scale * weight[i];
    store<T, N>(value, y_row + col);
  }
}

template <typename T, int N>
void enqueue(View x, View w, View y, View rstd, double eps, StreamRef stream) {
  const auto blocks = static_cast<unsigned>(x.rows);
  rms_norm_kernel<T, N><<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream.handle)>>>(
      static_cast<const T*>(x.data), static_cast<const T*>(w.data), static_cast<T*>(y.data),
      rstd.f32(), x.cols, static_cast<float>(eps));
  PLEAT_CUDA_CHECK(cudaGetLastError());
}

template <typename T>
void launch(View x, View w, View y, View rstd, double eps, StreamRef stream) {
  constexpr int n = kPackWidth<T>;
  const bool wide = packs_fit<T, n>(x.data, x.cols) && packs_fit<T, n>(w.data, x.cols) &&
                    packs_fit<T, n>(y.data, x.cols);
  if (wide) {
    enqueue<T, n>(x, w, y, rstd, eps, stream);
  } else {
    enqueue<T, 1>(x, w, y, rstd, eps, stream);
  }
}

}  // namespace

void rms_norm(View x, View w, View y, View rstd, double eps, StreamRef stream) {
  PLEAT_ASSERT(x.rows == y.rows && x.cols == y.cols && x.cols > 0);
  PLEAT_ASSERT(w.elements() == x.cols && rstd.elements() == x.rows);
  PLEAT_ASSERT(x.dtype == w.dtype && x.dtype == y.dtype && rstd.dtype == DType::fp32);
  PLEAT_ASSERT(x.dtype == DType::fp32 || x.dtype == DType::bf16);
  PLEAT_ASSERT(x.rows <= INT32_MAX);  // the grid's first dimension
  if (x.rows == 0) return;
  if (x.dtype == DType::bf16) {
    launch<__nv_bfloat16>(x, w, y, rstd, eps, stream);
  } else {
    launch<float>(x, w, y, rstd, eps, stream);
  }
}

}  // namespace pleat::cuda
