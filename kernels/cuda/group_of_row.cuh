// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace pleat::cuda {

// The last of `groups` that begins at or before `row`: groups without rows are passed over.
// first: [groups] where they begin, ascending.
template <class T>
__device__ __forceinline__ std::int64_t group_of_row(const T* first, std::int64_t groups,
                                                     std::int64_t row) {
  std::int64_t low = 0, high = groups;
  while (high - low > 1) {
    const std::int64_t middle = (low + high) / 2;
    if (first[middle] <= row) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace pleat::cuda
