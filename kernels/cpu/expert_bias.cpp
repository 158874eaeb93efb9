// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The load of each expert over a step, and the bias that follows it (DeepSeek-V3, arXiv:2412.19437
// section 2.1.2): up by a step where there was less than the mean, down where there was more.
#include "core/diagnostics.hpp"
#include "kernels/cpu/cpu_kernels.hpp"

namespace pleat {

void CpuKernels::count_load(View experts, View load) {
  for (std::int64_t i = 0; i < experts.elements(); ++i) {
    const std::int32_t e = experts.i32()[i];
    PLEAT_ASSERT(e >= 0 && e < load.elements());
    load.f32()[e] += 1.0F;
  }
}

void CpuKernels::update_bias(View load, View bias, std::int64_t experts, double step) {
  PLEAT_ASSERT(load.elements() == bias.elements() && load.elements() % experts == 0);
  const auto u = static_cast<float>(step);
  for (std::int64_t first = 0; first < load.elements(); first += experts) {
    const float* counts = load.f32() + first;
    double sum = 0;  // of whole numbers: exact
    for (std::int64_t e = 0; e < experts; ++e) sum += static_cast<double>(counts[e]);
    for (std::int64_t e = 0; e < experts; ++e) {
      const double under = sum - static_cast<double>(experts) * static_cast<double>(counts[e]);
      bias.f32()[first + e] += under > 0 ? u : under < 0 ? -u : 0.0F;
    }
  }
}

}  // namespace pleat
