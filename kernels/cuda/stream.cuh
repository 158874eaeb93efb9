// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The set's stream as CUDA knows it, for host code that calls libraries.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/resources.hpp"

namespace pleat::cuda {

[[nodiscard]] inline cudaStream_t native(const Resources& r) {
  return static_cast<cudaStream_t>(r.stream().handle);
}

[[nodiscard]] inline bool aligned16(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

}  // namespace pleat::cuda
