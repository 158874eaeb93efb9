// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The CPU kernels for operands in bf16, or quantised: widened on load, computed in fp32, rounded
// once on store. Functions that are not here take fp32 alone, or move elements of any type.
#pragma once

#include "kernels/cpu/cpu_kernels.hpp"
#include "kernels/cpu/mixed_operands.hpp"

namespace pleat {

class MixedKernels final : public CpuKernels {
 public:
#define PLEAT_KERNEL(result, name, parameters)  // as the fp32 set has it
#define PLEAT_MIXED_KERNEL(result, name, parameters) result name parameters override;
#include "kernels/kernel_functions.inc"

  void quantize(View x, View counts, View y, const Quantization&) override;
  void rms_norm_quantize(View x, View residual, View sum, View w, View y, bool keep, View rstd,
                         double eps, std::span<const QuantizedCopy>) override;
  void swiglu_quantize(View u, View p, View counts, View y, bool keep,
                       std::span<const QuantizedCopy>) override;
  void largest_of_history(View history, View amax) override;

 private:
  [[nodiscard]] View aside(View like);

  cpu::ScratchBlocks scratch_;
  cpu::ScratchBlocks unstored_;  // what is quantised and not kept
};

}  // namespace pleat
