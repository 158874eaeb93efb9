// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Copies arrive when they are waited for, no sooner: what is read too early is not there.
#pragma once

#include <cstddef>
#include <cstring>
#include <deque>
#include <vector>

#include "tests/kernels/emulation/block.hpp"

struct EmulatedCopy {
  void* to;
  const void* from;
  std::size_t n, zeros;
};

// Of each thread of the block that runs: its groups of copies that have not arrived; the last one
// is not committed yet.
inline std::deque<std::vector<EmulatedCopy>>& emulated_copies() {
  static std::vector<std::deque<std::vector<EmulatedCopy>>> of_threads(1024);
  auto& groups = of_threads.at(threadIdx.x);
  if (groups.empty()) groups.emplace_back();
  return groups;
}

inline void __pipeline_memcpy_async(void* to, const void* from, std::size_t n,
                                    std::size_t zeros = 0) {
  emulated_copies().back().push_back({to, from, n, zeros});
}
inline void __pipeline_commit() { emulated_copies().emplace_back(); }
// All groups but the last `later` committed ones arrive.
inline void __pipeline_wait_prior(std::size_t later) {
  auto& groups = emulated_copies();
  for (; groups.size() > later + 1; groups.pop_front()) {
    for (const EmulatedCopy& copy : groups.front()) {
      std::memset(copy.to, 0, copy.n);
      std::memcpy(copy.to, copy.from, copy.n - copy.zeros);
    }
  }
}
