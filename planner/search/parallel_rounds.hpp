// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rounds of independent work on several threads. Results go to slots chosen by index, so they do
// not depend on the number of threads or on who took what.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace pleat {

// Threads that wait for the next round: for many short ones. Each begins with a run of neighbours,
// which tend to need the same things, and then takes from the end of the longest run that is left.
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
  // What is left of a thread's run: the first in the upper half, the one behind the last below.
  struct alignas(64) Run {
    std::atomic<std::uint64_t> left{0};
  };

  void help(std::size_t thread);
  void take(std::size_t thread);
  [[nodiscard]] std::optional<std::size_t> from(Run&, bool front);

  std::mutex mutex_;  // of what follows, `runs_` and what is atomic apart
  std::condition_variable begins_, ends_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::atomic<std::size_t> round_{0}, busy_{0};
  bool stop_ = false;
  std::vector<Run> runs_;
  std::vector<std::jthread> pool_;
};

// One round.
void for_each_in_parallel(std::size_t count, int threads,
                          const std::function<void(std::size_t)>& work);

[[nodiscard]] int thread_count(int requested);  // 0: all cores

}  // namespace pleat
