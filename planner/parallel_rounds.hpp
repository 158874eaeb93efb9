// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rounds of independent work on several threads. Results go to slots chosen by index, so they do
// not depend on the number of threads or on who took what.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace pleat {

// Threads that wait for the next round: for many short ones.
class Workers {
 public:
  explicit Workers(int threads);  // the caller's own included; at least one
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Calls work(i) once for each i in [0, count) and returns when all are done. Not from several
  // threads.
  void for_each(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  void help();
  void take();

  std::mutex mutex_;  // of what follows, `next_` apart
  std::condition_variable begins_, ends_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t count_ = 0, round_ = 0, busy_ = 0;
  bool stop_ = false;
  std::atomic<std::size_t> next_{0};
  std::vector<std::jthread> pool_;
};

// One round.
void for_each_in_parallel(std::size_t count, int threads,
                          const std::function<void(std::size_t)>& work);

[[nodiscard]] int thread_count(int requested);  // 0: all cores

}  // namespace pleat
