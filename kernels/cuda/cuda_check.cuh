// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// PLEAT_CUDA_CHECK(call): throws DeviceError unless the call returned cudaSuccess.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/device_error.hpp"

#define PLEAT_CUDA_CHECK(call)                                                                 \
  do {                                                                                         \
    const cudaError_t pleat_status = (call);                                                   \
    if (pleat_status != cudaSuccess)                                                           \
      throw ::pleat::DeviceError(#call, cudaGetErrorString(pleat_status), __FILE__, __LINE__); \
  } while (false)
