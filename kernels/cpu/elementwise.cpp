// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Functions of one element at a time on the CPU, and their gradients.
#include <algorithm>
#include <cmath>

#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace pleat {

// Sums, gated activations and their gradients, one element at a time.

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

// The functions of core/elementwise.hpp. A second operand is the gate, or a probability a row.

namespace {

struct Slope {
  float value, by_first, by_second;  // and its derivatives
};

Slope gated_gelu(float gate, float up) {
  const cpu::Gelu g(gate);
  return {g.value * up, g.slope * up, g.value};
}

Slope gelu(float u) {
  const cpu::Gelu g(u);
  return {g.value, g.slope, 0};
}

Slope relu_squared(float u) {
  const float x = u > 0 ? u : 0.0F;
  return {x * x, 2 * x, 0};
}

Slope gated_relu_squared(float gate, float up) {
  const Slope r = relu_squared(gate);
  return {r.value * up, r.by_first * up, r.value};
}

// Beyond a limit the result does not depend on the operand.
Slope clamped_swiglu(float gate, float up) {
  const float g = std::min(gate, kGluLimit), u = std::clamp(up, -kGluLimit, kGluLimit) + 1.0F;
  const float s = cpu::sigmoid_f32(kGluSlope * g), value = g * s;
  const float slope = s * (1.0F + kGluSlope * g * (1.0F - s));
  return {value * u, gate > kGluLimit ? 0.0F : slope * u, std::fabs(up) > kGluLimit ? 0.0F : value};
}

Slope sigmoid_gate(float o, float g) {
  const float s = cpu::sigmoid_f32(g);
  return {o * s, s, o * s * (1 - s)};
}

// Where the two arguments of element (row, i) of a result with f columns are.
struct Arguments {
  const float *first, *second;
  Slope at(Elementwise f, std::int64_t i) const {
    switch (f) {
      case Elementwise::gelu: return gelu(first[i]);
      case Elementwise::gated_gelu: return gated_gelu(first[i], second[i]);
      case Elementwise::relu_squared: return relu_squared(first[i]);
      case Elementwise::gated_relu_squared: return gated_relu_squared(first[i], second[i]);
      case Elementwise::clamped_swiglu: return clamped_swiglu(first[i], second[i]);
      case Elementwise::sigmoid_gate: return sigmoid_gate(first[i], second[i]);
      case Elementwise::none: break;
    }
    PLEAT_ASSERT(!"no function");
    return {};
  }
};

Arguments arguments(Elementwise f, View a, View b, std::int64_t row, std::int64_t n) {
  const float* first = a.f32() + row * a.cols;
  return {first, f == Elementwise::sigmoid_gate ? b.f32() + row * n : first + n};
}

void check(Elementwise f, View a, View b, std::int64_t rows, std::int64_t n) {
  PLEAT_ASSERT(a.rows == rows && a.cols == (reads_gate_and_up(f) ? 2 * n : n));
  const bool gate = f == Elementwise::sigmoid_gate;
  PLEAT_ASSERT(gate ? b.rows == rows && b.cols == n : b.data == nullptr || b.elements() == rows);
}

}  // namespace

void CpuKernels::pointwise(Elementwise f, View a, View b, View y) {
  const std::int64_t n = y.cols;
  check(f, a, b, y.rows, n);
  const bool weighted = f != Elementwise::sigmoid_gate && b.data != nullptr;
  for (std::int64_t r = 0; r < y.rows; ++r) {
    const Arguments x = arguments(f, a, b, r, n);
    const float p = weighted ? b.f32()[r] : 1.0F;
    for (std::int64_t i = 0; i < n; ++i) y.f32()[r * n + i] = x.at(f, i).value * p;
  }
}

void CpuKernels::pointwise_bwd(Elementwise f, View dy, View a, View b, View da, View db) {
  const std::int64_t n = dy.cols;
  check(f, a, b, dy.rows, n);
  PLEAT_ASSERT(da.elements() == a.elements() && db.elements() == b.elements());
  const bool gate = f == Elementwise::sigmoid_gate, two = reads_gate_and_up(f);
  const bool weighted = !gate && b.data != nullptr;
  for (std::int64_t r = 0; r < dy.rows; ++r) {
    const Arguments x = arguments(f, a, b, r, n);
    const float* d = dy.f32() + r * n;
    const float p = weighted ? b.f32()[r] : 1.0F;
    float* first = da.f32() + r * a.cols;
    float* second = gate ? db.f32() + r * n : first + n;
    for (std::int64_t i = 0; i < n; ++i) {
      const Slope s = x.at(f, i);
      first[i] = d[i] * s.by_first * p;
      if (gate || two) second[i] = d[i] * s.by_second * p;
    }
    if (!weighted) continue;
    db.f32()[r] = cpu::lane_sum<float>(n, [&](std::int64_t i) { return d[i] * x.at(f, i).value; });
  }
}

}  // namespace pleat
