// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A sigmoid gate for each row: z = y sigmoid(gate), and back. Bound: memory.
#include "kernels/cuda/cuda_kernels.hpp"
#include "kernels/cuda/for_packs.cuh"
#include "kernels/cuda/math.cuh"
#include "kernels/cuda/reduce.cuh"

namespace pleat {
namespace {

using namespace cuda;

struct Gate {
  Vec<AnyType> y, gate, z;
  std::int64_t cols;
  __device__ void operator()(std::int64_t row, std::int64_t col, std::int64_t count) const {
    float v[kPack];
    const float s = sigmoid(gate.get(row));
    y.load(row * cols + col, count, v);
#pragma unroll
    for (int i = 0; i < kPack; ++i) v[i] *= s;
    z.store(v, row * cols + col, count);
  }
};

struct GateGradient {
  Vec<AnyType> dz, y, gate, dy, dgate;
  std::int64_t cols;
  __device__ void operator()(std::int64_t row, int lane) const {
    const float s = sigmoid(gate.get(row));
    float sum = 0;
    for (std::int64_t col = lane * kPack; col < cols; col += kThreads * kPack) {
      float d[kPack], v[kPack];
      dz.load(row * cols + col, cols - col, d);
      y.load(row * cols + col, cols - col, v);
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        sum = fmaf(d[i], v[i], sum);
        d[i] *= s;
      }
      dy.store(d, row * cols + col, cols - col);
    }
    sum = group_sum<kThreads>(sum);
    if (lane == 0) dgate.set(row, sum * s * (1.0f - s));
  }
};

}  // namespace

void CudaKernels::sigmoid_gate(View y, View gate, View z) {
  PLEAT_ASSERT(gate.elements() == y.rows && z.rows == y.rows && z.cols == y.cols);
  for_row_packs(*resources_, y.rows, y.cols,
                Gate{vec<AnyType>(y, y.cols), vec<AnyType>(gate), vec<AnyType>(z, y.cols), y.cols});
}

void CudaKernels::sigmoid_gate_bwd(View dz, View y, View gate, View dy, View dgate) {
  PLEAT_ASSERT(gate.elements() == y.rows && dgate.elements() == y.rows);
  PLEAT_ASSERT(dz.elements() == y.elements() && dy.elements() == y.elements());
  for_rows<kThreads>(*resources_, y.rows,
                     GateGradient{vec<AnyType>(dz, y.cols), vec<AnyType>(y, y.cols),
                                  vec<AnyType>(gate), vec<AnyType>(dy, y.cols),
                                  vec<AnyType>(dgate), y.cols});
}

}  // namespace pleat
