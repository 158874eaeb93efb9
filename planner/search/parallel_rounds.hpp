// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Independent tasks on several threads, in rounds. A task stores its result by its index, so
// results do not depend on the number of threads or on which thread ran what.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace pleat {

// A pool of threads for many short rounds. Each thread starts with a range of neighbouring tasks,
// which tend to need the same data, and then steals from the end of the longest range that is left.
class Workers {
 public:
  explicit Workers(int threads);  // the caller's own included; at least one
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Calls work(i) once for each i in [0, count) and returns when all are done. Not from several
  // threads. Throws what a call threw, after which some of the others may have been left out.
  void for_each(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  // The rest of a thread's range in one word: its first task in the upper half, one past its last
  // in the lower.
  struct alignas(64) Run {
    std::atomic<std::uint64_t> left{0};
  };

  void help(std::size_t thread);
  void take(std::size_t thread);
  void take_or_give_up(std::size_t thread);
  [[nodiscard]] std::optional<std::size_t> from(Run&, bool front);

  std::mutex mutex_;  // guards the members below, except `runs_` and atomics
  std::condition_variable begins_, ends_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::atomic<std::size_t> round_{0}, busy_{0};
  bool stop_ = false;
  std::exception_ptr error_;  // of the round
  std::vector<Run> runs_;
  std::vector<std::jthread> pool_;
};

// One round.
void for_each_in_parallel(std::size_t count, int threads,
                          const std::function<void(std::size_t)>& work);

[[nodiscard]] int thread_count(int requested);  // 0: all cores

}  // namespace pleat
