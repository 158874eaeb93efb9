// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Attention sinks (gpt-oss): each head has one more key, with a learned score and no value, so a query
// may look at nothing. Its probability exp(sink - lse) takes part in the softmax only; its gradient is
// p (0 - do·o) like any key's.
#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace pleat {

void CpuKernels::start_at_sinks(View sinks, View o, View lse) {
  const std::int64_t heads = sinks.elements();
  PLEAT_ASSERT(heads > 0 && lse.elements() == o.rows * heads);
  zero(o);
  for (std::int64_t i = 0; i < lse.elements(); ++i) lse.f32()[i] = sinks.f32()[i % heads];
}

void CpuKernels::sinks_bwd(View d_o, View o, View lse, View sinks, View dsinks) {
  const std::int64_t heads = sinks.elements(), width = o.cols / heads;
  PLEAT_ASSERT(dsinks.elements() == heads && lse.elements() == o.rows * heads);
  PLEAT_ASSERT(d_o.rows == o.rows && d_o.cols == o.cols && o.cols % heads == 0);
  for (std::int64_t r = 0; r < o.rows; ++r) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t at = r * o.cols + h * width;
      const float p = cpu::exp_f32(sinks.f32()[h] - lse.f32()[r * heads + h]);
      dsinks.f32()[h] -= p * cpu::dot(d_o.f32() + at, o.f32() + at, width);
    }
  }
}

}  // namespace pleat
