// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel_set.hpp"

#include "core/diagnostics.hpp"

namespace pleat {

void KernelSet::quantize(View, View, View, const Quantization&) {
  PLEAT_ASSERT(!"this kernel set has no quantisation");
}

void KernelSet::start_at_sinks(View, View, View) {
  PLEAT_ASSERT(!"this kernel set has no attention sinks");
}
void KernelSet::sinks_bwd(View, View, View, View, View) {
  PLEAT_ASSERT(!"this kernel set has no attention sinks");
}
void KernelSet::grouped_bias(View, View, View, double, View) {
  PLEAT_ASSERT(!"this kernel set has no biases of experts");
}
void KernelSet::grouped_bias_bwd(View, View, View, View) {
  PLEAT_ASSERT(!"this kernel set has no biases of experts");
}
void KernelSet::grouped_bias_probs(View, View, View, double, View) {
  PLEAT_ASSERT(!"this kernel set has no biases of experts");
}

void KernelSet::read_scales(View) {}
void KernelSet::write_scales(View) {}

}  // namespace pleat
