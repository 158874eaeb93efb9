// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Steps of optimizers on bf16 gradients. Each element by itself: a bucket is never widened as a
// whole.
#include <algorithm>

#include "kernels/cpu/mixed_kernels.hpp"

namespace pleat {

using Operands = cpu::MixedOperands;

namespace {

constexpr std::int64_t kAtATime = 1 << 16;  // elements of a bucket that are widened at a time

View part(View v, std::int64_t first, std::int64_t n) { return {v.at(first), v.dtype, 1, n}; }

}  // namespace

void MixedKernels::adamw(View g, View m, View v, View w, double grad_scale, const AdamW& a) {
  if (g.dtype == DType::fp32) return CpuKernels::adamw(g, m, v, w, grad_scale, a);
  for (std::int64_t first = 0; first < g.elements(); first += kAtATime) {
    const std::int64_t n = std::min(kAtATime, g.elements() - first);
    Operands o(scratch_);
    CpuKernels::adamw(o.in(part(g, first, n)), part(m, first, n), part(v, first, n),
                      part(w, first, n), grad_scale, a);
  }
}

void MixedKernels::sgd(View g, View m, View w, double grad_scale, const Sgd& s) {
  if (g.dtype == DType::fp32) return CpuKernels::sgd(g, m, w, grad_scale, s);
  for (std::int64_t first = 0; first < g.elements(); first += kAtATime) {
    const std::int64_t n = std::min(kAtATime, g.elements() - first);
    Operands o(scratch_);
    CpuKernels::sgd(o.in(part(g, first, n)), part(m, first, n), part(w, first, n), grad_scale, s);
  }
}

void MixedKernels::lamb(View g, View m, View v, View w, double grad_scale, const AdamW& a) {
  if (g.dtype == DType::fp32) return CpuKernels::lamb(g, m, v, w, grad_scale, a);
  for (std::int64_t first = 0; first < g.elements(); first += kAtATime) {
    const std::int64_t n = std::min(kAtATime, g.elements() - first);
    Operands o(scratch_);
    CpuKernels::lamb(o.inout(part(g, first, n)), part(m, first, n), part(v, first, n),
                     part(w, first, n), grad_scale, a);
  }
}

void MixedKernels::muon_momentum(View g, View m, double grad_scale, double beta, bool nesterov) {
  if (g.dtype == DType::fp32) return CpuKernels::muon_momentum(g, m, grad_scale, beta, nesterov);
  for (std::int64_t first = 0; first < g.elements(); first += kAtATime) {
    const std::int64_t n = std::min(kAtATime, g.elements() - first);
    Operands o(scratch_);
    CpuKernels::muon_momentum(o.inout(part(g, first, n)), part(m, first, n), grad_scale, beta,
                              nesterov);
  }
}

void MixedKernels::scaled_step(View u, View w, double keep, double rate) {
  if (u.dtype == DType::fp32) return CpuKernels::scaled_step(u, w, keep, rate);
  for (std::int64_t first = 0; first < u.elements(); first += kAtATime) {
    const std::int64_t n = std::min(kAtATime, u.elements() - first);
    Operands o(scratch_);
    CpuKernels::scaled_step(o.in(part(u, first, n)), part(w, first, n), keep, rate);
  }
}

}  // namespace pleat
