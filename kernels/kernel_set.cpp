// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel_set.hpp"

#include "core/diagnostics.hpp"

namespace pleat {

void KernelSet::quantize(View, View, View, const Quantization&) {
  PLEAT_ASSERT(!"this kernel set has no quantisation");
}

void KernelSet::largest_of_history(View, View) {
  PLEAT_ASSERT(!"this kernel set has no delayed scaling");
}

void KernelSet::quantize_copies(View x, View counts, std::span<const QuantizedCopy> copies) {
  for (const QuantizedCopy& copy : copies) quantize(x, counts, copy.codes, copy.how);
}

void KernelSet::rms_norm_quantize(View x, View residual, View sum, View w, View y, bool, View rstd,
                                  double eps, std::span<const QuantizedCopy> copies) {
  if (residual.data != nullptr) add(x, residual, {}, sum);
  rms_norm(residual.data != nullptr ? sum : x, w, y, rstd, eps);
  quantize_copies(y, {}, copies);
}

void KernelSet::swiglu_quantize(View u, View p, View counts, View y, bool,
                                std::span<const QuantizedCopy> copies) {
  swiglu(u, p, y);
  quantize_copies(y, counts, copies);
}

void KernelSet::read_scales(View) {}
void KernelSet::write_scales(View) {}

}  // namespace pleat
