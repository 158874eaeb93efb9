// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include <cuda_runtime.h>

namespace cub {

struct DeviceRadixSort {
  template <class K, class V>
  static int SortPairs(void* temporary, std::size_t& bytes, const K* keys, K* sorted_keys,
                       const V* values, V* sorted_values, int n, int first_bit, int last_bit,
                       void* stream) {
    if (temporary == nullptr) {
      bytes = 16;
      return 0;
    }
    emulated_work(stream, [=] {
    const int bits = last_bit - first_bit;
    const auto part = [=](K k) {
      return (k >> first_bit) &
             (bits >= 8 * static_cast<int>(sizeof(K)) ? ~K{0} : (K{1} << bits) - 1);
    };
    std::vector<int> order(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return part(keys[a]) < part(keys[b]); });
    for (int i = 0; i < n; ++i) {
      sorted_keys[i] = keys[order[static_cast<std::size_t>(i)]];
      sorted_values[i] = values[order[static_cast<std::size_t>(i)]];
    }
    });
    return 0;
  }
};

}  // namespace cub
