// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel_set.hpp"

#include "core/diagnostics.hpp"

namespace pleat {

void KernelSet::quantize(View, View, View, const Quantization&) {
  PLEAT_ASSERT(!"this kernel set has no quantisation");
}

void KernelSet::read_scales(View) {}
void KernelSet::write_scales(View) {}

}  // namespace pleat
