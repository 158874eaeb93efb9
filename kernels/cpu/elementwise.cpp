// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Sums, gated activations and their gradients, one element at a time.
#include <algorithm>
#include <cmath>

#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/gelu.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace pleat {

void CpuKernels::concat_columns(View a, View b, View y) {
  PLEAT_ASSERT(a.rows == y.rows && b.rows == y.rows && a.cols + b.cols == y.cols);
  PLEAT_ASSERT(a.dtype == y.dtype && b.dtype == y.dtype);
  for (std::int64_t r = 0; r < y.rows; ++r) {
    std::byte* out = y.at(r * y.cols);
    out = std::copy_n(a.at(r * a.cols), bytes_of(a.dtype, a.cols), out);
    std::copy_n(b.at(r * b.cols), bytes_of(b.dtype, b.cols), out);
  }
}

void CpuKernels::concat_columns_bwd(View dy, View da, View db) {
  PLEAT_ASSERT(da.rows == dy.rows && db.rows == dy.rows && da.cols + db.cols == dy.cols);
  PLEAT_ASSERT(da.dtype == dy.dtype && db.dtype == dy.dtype);
  for (std::int64_t r = 0; r < dy.rows; ++r) {
    std::copy_n(dy.at(r * dy.cols), bytes_of(da.dtype, da.cols), da.at(r * da.cols));
    std::copy_n(dy.at(r * dy.cols + da.cols), bytes_of(db.dtype, db.cols), db.at(r * db.cols));
  }
}

void CpuKernels::add(View a, View b, View c, View y) {
  const std::int64_t n = y.elements();
  PLEAT_ASSERT(a.elements() == n && b.elements() == n);
  const float *pa = a.f32(), *pb = b.f32(), *pc = c.f32();
  float* out = y.f32();
  if (pc == nullptr) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = pa[i] + pb[i];
    return;
  }
  PLEAT_ASSERT(c.elements() == n);
  for (std::int64_t i = 0; i < n; ++i) out[i] = pa[i] + pb[i] + pc[i];
}

void CpuKernels::swiglu(View u, View p, View y) {
  const std::int64_t f = y.cols;
  PLEAT_ASSERT(u.cols == 2 * f && u.rows == y.rows);
  PLEAT_ASSERT(p.data == nullptr || p.elements() == u.rows);
  for (std::int64_t r = 0; r < u.rows; ++r) {
    const float *gate = u.f32() + r * 2 * f, *up = gate + f;
    const float probability = p.data == nullptr ? 1.0F : p.f32()[r];
    float* out = y.f32() + r * f;
    for (std::int64_t i = 0; i < f; ++i) {
      out[i] = gate[i] * cpu::sigmoid_f32(gate[i]) * up[i] * probability;
    }
  }
}

void CpuKernels::swiglu_bwd(View dy, View u, View p, View du, View dp) {
  const std::int64_t f = dy.cols;
  PLEAT_ASSERT(u.cols == 2 * f && u.rows == dy.rows && du.rows == u.rows && du.cols == u.cols);
  PLEAT_ASSERT((p.data == nullptr) == (dp.data == nullptr));
  PLEAT_ASSERT(p.data == nullptr || (p.elements() == u.rows && dp.elements() == u.rows));
  for (std::int64_t r = 0; r < u.rows; ++r) {
    const float *gate = u.f32() + r * 2 * f, *up = gate + f, *dout = dy.f32() + r * f;
    const float probability = p.data == nullptr ? 1.0F : p.f32()[r];
    float *dgate = du.f32() + r * 2 * f, *dup = dgate + f;
    for (std::int64_t i = 0; i < f; ++i) {
      const float s = cpu::sigmoid_f32(gate[i]);
      const float d = dout[i] * probability;
      dgate[i] = d * up[i] * s * (1.0F + gate[i] * (1.0F - s));
      dup[i] = d * gate[i] * s;
    }
    if (dp.data == nullptr) continue;
    dp.f32()[r] = cpu::lane_sum<float>(
        f, [=](std::int64_t i) { return dout[i] * (gate[i] * cpu::sigmoid_f32(gate[i]) * up[i]); });
  }
}

void CpuKernels::gelu(View u, View y) {
  PLEAT_ASSERT(u.elements() == y.elements());
  const float* in = u.f32();
  float* out = y.f32();
  for (std::int64_t i = 0; i < u.elements(); ++i) out[i] = cpu::Gelu(in[i]).value;
}

void CpuKernels::gelu_bwd(View dy, View u, View du) {
  PLEAT_ASSERT(u.elements() == dy.elements() && u.elements() == du.elements());
  const float *in = u.f32(), *dout = dy.f32();
  float* din = du.f32();
  for (std::int64_t i = 0; i < u.elements(); ++i) din[i] = dout[i] * cpu::Gelu(in[i]).slope;
}

void CpuKernels::sigmoid_gate(View y, View gate, View z) {
  PLEAT_ASSERT(gate.elements() == y.rows && z.rows == y.rows && z.cols == y.cols);
  for (std::int64_t r = 0; r < y.rows; ++r) {
    const float s = cpu::sigmoid_f32(gate.f32()[r]);
    const float* in = y.f32() + r * y.cols;
    float* out = z.f32() + r * y.cols;
    for (std::int64_t i = 0; i < y.cols; ++i) out[i] = in[i] * s;
  }
}

void CpuKernels::sigmoid_gate_bwd(View dz, View y, View gate, View dy, View dgate) {
  PLEAT_ASSERT(gate.elements() == y.rows && dgate.elements() == y.rows);
  PLEAT_ASSERT(dz.elements() == y.elements() && dy.elements() == y.elements());
  for (std::int64_t r = 0; r < y.rows; ++r) {
    const float s = cpu::sigmoid_f32(gate.f32()[r]);
    const float *dout = dz.f32() + r * y.cols, *in = y.f32() + r * y.cols;
    float* din = dy.f32() + r * y.cols;
    for (std::int64_t i = 0; i < y.cols; ++i) din[i] = dout[i] * s;
    dgate.f32()[r] = cpu::dot(dout, in, y.cols) * s * (1.0F - s);
  }
}

}  // namespace pleat
