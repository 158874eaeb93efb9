// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/parallel_rounds.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace pleat {

void for_each_in_parallel(std::size_t count, int threads,
                          const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto worker = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  const auto helpers = std::min(count, static_cast<std::size_t>(std::max(1, threads)));
  std::vector<std::jthread> pool;
  for (std::size_t t = 1; t < helpers; ++t) pool.emplace_back(worker);
  worker();
}

int thread_count(int requested) {
  if (requested > 0) return requested;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace pleat
