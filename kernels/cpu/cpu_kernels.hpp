// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The reference kernels on the CPU, in fp32; what only moves rows moves those of any type. The
// calling thread computes, nothing is allocated beyond Eigen's packing buffers. A row's result
// never depends on the other rows of a row-wise kernel.
#pragma once

#include "kernels/kernel_set.hpp"

namespace pleat {

class CpuKernels : public KernelSet {
 public:
#define PLEAT_KERNEL(result, name, parameters) result name parameters override;
#define PLEAT_MIXED_KERNEL(result, name, parameters) result name parameters override;
#include "kernels/kernel_functions.inc"
};

}  // namespace pleat
