// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a device was given and has not done: a queue for each stream, done by a thread of its own or
// when somebody waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/diagnostics.hpp"

namespace pleat::test {

// Work in the order in which it was given: when somebody waits for it, or on a thread of its own,
// which work that waits for other ranks' needs.
class WorkQueue {
 public:
  explicit WorkQueue(bool by_itself = false) {
    if (by_itself) worker_ = std::jthread([this](const std::stop_token& stop) { work_on(stop); });
  }
  void add(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    if (keeping_) return kept_.push_back(std::move(work));
    ++given_;
    work_.push_back(std::move(work));
    changed_.notify_all();
  }
  // Between keep() and kept() nobody may wait: what is added goes into a graph.
  using Graph = std::vector<std::function<void()>>;
  void keep() { keeping_ = true; }
  [[nodiscard]] Graph kept() {
    keeping_ = false;
    return std::exchange(kept_, {});
  }
  [[nodiscard]] std::uint64_t given() const { return given_; }
  [[nodiscard]] std::uint64_t done() {
    const std::lock_guard lock(mutex_);
    return done_;
  }
  // `check` is asked while it waits for the thread.
  void finish(const std::function<void()>& check = {}) {
    PLEAT_ASSERT(!keeping_);
    finish_first(given_, check);
  }
  // The first `count` that were ever given. Work of another queue may ask for it, and be asked for.
  void finish_first(std::uint64_t count, const std::function<void()>& check = {}) {
    if (!worker_.joinable()) {
      while (done_ + running_ < count) {
        const std::function<void()> work = std::move(work_.front());
        work_.pop_front();
        running_ = 1;
        work();
        running_ = 0;
        ++done_;
      }
      return;
    }
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(1),
                              [&] { return done_ >= count; })) {
      if (check) check();
    }
  }

 private:
  void work_on(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !work_.empty(); })) {
      const std::function<void()> work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      work();
      lock.lock();
      ++done_;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> work_;
  std::uint64_t given_ = 0, done_ = 0, running_ = 0;
  bool keeping_ = false;
  Graph kept_;
  std::jthread worker_;
};

// A device's, of which one is in use.
class WorkQueues {
 public:
  explicit WorkQueues(bool by_itself) : by_itself_(by_itself) { take(0); }
  ~WorkQueues() { finish_all(); }
  [[nodiscard]] WorkQueue& now() { return *all_[taken_]; }
  [[nodiscard]] WorkQueue& at(int number) { return *all_[static_cast<std::size_t>(number)]; }
  [[nodiscard]] bool at_first() const { return taken_ == 0; }
  void take(int number) {
    taken_ = static_cast<std::size_t>(number);
    while (all_.size() <= taken_) all_.push_back(std::make_unique<WorkQueue>(by_itself_));
  }
  void finish_all() {
    for (const auto& queue : all_) queue->finish();
  }

 private:
  bool by_itself_;
  std::size_t taken_ = 0;
  std::vector<std::unique_ptr<WorkQueue>> all_;
};

}  // namespace pleat::test
