// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace pleat::cuda {

// The block's dynamic shared memory, 128-byte aligned.
template <class T>
__device__ __forceinline__ T* dynamic_shared() {
  extern __shared__ __align__(128) std::byte dynamic_shared_memory[];
  return reinterpret_cast<T*>(dynamic_shared_memory);
}

}  // namespace pleat::cuda
