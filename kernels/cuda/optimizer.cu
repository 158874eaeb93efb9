// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The optimizer's step: its utilities, AdamW, and main parameters in halves. Bound: memory.
#include "kernels/cuda/adam.cuh"
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/reduce.cuh"

namespace pleat {

// The step: clearing, copying and casting, the squared norm, and AdamW with decoupled weight decay
// (Loshchilov and Hutter, arXiv:1711.05101). Bound: memory.

namespace {

using namespace cuda;

template <class T>
struct Cast {
  Vec<T> x, y;
  __device__ void operator()(std::int64_t at, std::int64_t count) const {
    float v[kPack];
    x.load(at, count, v);
    y.store(v, at, count);
  }
};

// Each thread adds up the squares of every n-th pack in double, n threads in all; a block has one
// sum.
template <class T>
__global__ void __launch_bounds__(kThreads)
    squares_kernel(Vec<T> x, std::int64_t n, double* partial) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads * kPack;
  double sum = 0;
  for (std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kPack;
       at < n; at += step) {
    float v[kPack];
    x.load(at, n - at, v);
#pragma unroll
    for (int i = 0; i < kPack; ++i)
      sum = fma(static_cast<double>(v[i]), static_cast<double>(v[i]), sum);
  }
  sum = group_sum<kThreads>(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kThreads)
    total_kernel(const double* partial, int count, double* total) {
  double sum = 0;
  for (int i = threadIdx.x; i < count; i += kThreads) sum += partial[i];
  sum = group_sum<kThreads>(sum);
  if (threadIdx.x == 0) *total = sum;
}

// With weights 30 bytes a parameter where all else is fp32, without 28.
template <class T, bool kWeights>
struct Adam {
  Vec<T> g, m, v, w;
  Vec<Bf16Value> weights;
  AdamFactors a;
  __device__ void operator()(std::int64_t at, std::int64_t count) const {
    float gradient[kPack], mean[kPack], square[kPack], weight[kPack];
    g.load(at, count, gradient);
    m.load(at, count, mean);
    v.load(at, count, square);
    w.load(at, count, weight);
#pragma unroll
    for (int i = 0; i < kPack; ++i) a.step(gradient[i], mean[i], square[i], weight[i]);
    m.store(mean, at, count);
    v.store(square, at, count);
    w.store(weight, at, count);
    if constexpr (kWeights) weights.store(weight, at, count);
  }
};

}  // namespace

void CudaKernels::zero(View x) {
  if (x.elements() == 0) return;
  resources_->device().make_current();
  PLEAT_CUDA_CHECK(cudaMemsetAsync(x.data, 0,
                                   static_cast<std::size_t>(bytes_of(x.dtype, x.elements())),
                                   native(*resources_)));
}

void CudaKernels::copy(View x, View y) {
  PLEAT_ASSERT(x.elements() == y.elements());
  if (x.elements() == 0) return;
  if (x.dtype == y.dtype) {
    resources_->device().make_current();
    const auto bytes = static_cast<std::size_t>(bytes_of(x.dtype, x.elements()));
    PLEAT_CUDA_CHECK(
        cudaMemcpyAsync(y.data, x.data, bytes, cudaMemcpyDeviceToDevice, native(*resources_)));
    return;
  }
  for_packs(*resources_, x.elements(), Cast<AnyType>{vec<AnyType>(x), vec<AnyType>(y)});
}

double CudaKernels::sum_of_squares(View x) {
  if (x.elements() == 0) return 0;
  const std::int64_t blocks = std::min<std::int64_t>(
      ceil_div(x.elements(), kThreads * kPack), std::int64_t{8} * resources_->multiprocessors());
  Scratch scratch(*resources_, Scratch::bytes<double>(blocks) + Scratch::bytes<double>(1));
  double* partial = scratch.take<double>(blocks);
  double* total = scratch.take<double>(1);
  by_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    launch(*resources_, squares_kernel<T>, blocks_of(blocks), kThreads, 0, vec<T>(x), x.elements(),
           partial);
  }, x);
  launch(*resources_, total_kernel, 1, kThreads, 0, static_cast<const double*>(partial),
         static_cast<int>(blocks), total);
  double result = 0;
  resources_->device().download(&result, total, sizeof(result));
  return result;
}

void CudaKernels::adamw(View g, View m, View v, View w, double grad_scale, const AdamW& a,
                        View weights) {
  const std::int64_t n = w.elements();
  PLEAT_ASSERT(g.elements() == n && m.elements() == n && v.elements() == n && a.step >= 1);
  const bool rounds = weights.data != nullptr;
  PLEAT_ASSERT(!rounds || (weights.elements() == n && weights.dtype == DType::bf16));
  const AdamFactors factors(a, grad_scale);
  by_type([&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto step = [&](auto adam) { for_packs(*resources_, n, adam); };
    const Vec<T> vg = vec<T>(g), vm = vec<T>(m), vv = vec<T>(v), vw = vec<T>(w);
    if (rounds) {
      step(Adam<T, true>{vg, vm, vv, vw, vec<Bf16Value>(weights), factors});
    } else {
      step(Adam<T, false>{vg, vm, vv, vw, {}, factors});
    }
  }, g, m, v, w);
}

// fp32 numbers from bf16 weights and 16 bits of rest, and back (kernels/cpu/optimizer.cpp). Bound:
// memory, 8 bytes an element.

namespace {

using namespace cuda;

struct Join {
  const std::uint16_t *weights, *rests;
  unsigned* to;
  __device__ void operator()(std::int64_t i) const {
    const unsigned rest = rests[i], up = rest >> 15;
    to[i] = (weights[i] - up) << 16 | rest;
  }
};

struct Split {
  const unsigned* from;
  std::uint16_t *weights, *rests;
  __device__ void operator()(std::int64_t i) const {
    const unsigned bits = from[i], up = bits >> 15 & 1;
    weights[i] = static_cast<std::uint16_t>((bits >> 16) + up);
    rests[i] = static_cast<std::uint16_t>(bits);
  }
};

void require_halves(View weights, View rests, View whole) {
  PLEAT_ASSERT(weights.dtype == DType::bf16 && whole.dtype == DType::fp32);
  PLEAT_ASSERT(weights.elements() == whole.elements() && rests.elements() == whole.elements());
}

}  // namespace

void CudaKernels::join_halves(View weights, View rests, View to) {
  require_halves(weights, rests, to);
  for_each(*resources_, to.elements(),
           Join{static_cast<const std::uint16_t*>(weights.data),
                static_cast<const std::uint16_t*>(rests.data), static_cast<unsigned*>(to.data)});
}

void CudaKernels::split_halves(View from, View weights, View rests) {
  require_halves(weights, rests, from);
  for_each(*resources_, from.elements(),
           Split{static_cast<const unsigned*>(from.data),
                 static_cast<std::uint16_t*>(weights.data),
                 static_cast<std::uint16_t*>(rests.data)});
}

}  // namespace pleat
