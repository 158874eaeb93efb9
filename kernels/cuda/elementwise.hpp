// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Launchers of the CUDA kernels that run at the speed of memory. They mean what the functions of
// the same name in kernels/kernel_set.hpp mean. Contract: pointers are device pointers; outputs do
// not alias inputs; the call enqueues on the stream and returns; nothing is allocated; results are
// bitwise the same every time. Zero rows are allowed. A failed launch throws DeviceError.
#pragma once

#include "kernels/cuda/device.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat::cuda {

// y[S,h] = x[S,h] * rstd * w[h], rstd[S] = 1/sqrt(mean(x²)+eps) per row.
// x, w and y are all fp32 or all bf16; rstd and the arithmetic are fp32.
void rms_norm(View x, View w, View y, View rstd, double eps, StreamRef stream);

// y[R,f] = silu(gate) * up * p with u[R,2f] = (gate | up) and p[R] fp32, or 1 if p has no data.
// u and y are both fp32 or both bf16; the arithmetic is fp32.
void swiglu(View u, View p, View y, StreamRef stream);

}  // namespace pleat::cuda
