// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The CUDA runtime for host code: errors as exceptions, and the set's stream.
// PLEAT_CUDA_CHECK(call): throws DeviceError unless the call returned cudaSuccess.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/device_error.hpp"
#include "kernels/cuda/resources.hpp"

#define PLEAT_CUDA_CHECK(call)                                                                 \
  do {                                                                                         \
    const cudaError_t pleat_status = (call);                                                   \
    if (pleat_status != cudaSuccess)                                                           \
      throw ::pleat::DeviceError(#call, cudaGetErrorString(pleat_status), __FILE__, __LINE__); \
  } while (false)

namespace pleat::cuda {

// Of cudaStreamQuery and cudaEventQuery: whether the work is done. "Not yet" stays behind as the
// last error, which CUTLASS and CUB ask for after their next launch and would take for their own.
[[nodiscard]] inline bool is_done(cudaError_t answer) {
  if (answer == cudaErrorNotReady) {
    static_cast<void>(cudaGetLastError());
    return false;
  }
  PLEAT_CUDA_CHECK(answer);
  return true;
}

// The set's stream as CUDA knows it, for host code that calls libraries.

[[nodiscard]] inline cudaStream_t native(const Resources& r) {
  return static_cast<cudaStream_t>(r.stream().handle);
}

[[nodiscard]] inline bool aligned16(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

}  // namespace pleat::cuda
