// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/parallel_rounds.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace pleat {
namespace {

constexpr std::uint64_t packed(std::uint64_t first, std::uint64_t end) { return first << 32 | end; }

std::uint64_t length(std::uint64_t left) {
  const std::uint64_t first = left >> 32, end = left & 0xffffffff;
  return end > first ? end - first : 0;
}

// Rounds come some 0.2 ms apart: to fall asleep between them would cost as much as it takes.
template <class Done>
void wait_awake(const Done& done) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
  while (!done() && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
}

}  // namespace

Workers::Workers(int threads) : runs_(static_cast<std::size_t>(std::max(1, threads))) {
  for (std::size_t t = 1; t < runs_.size(); ++t) pool_.emplace_back([this, t] { help(t); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  begins_.notify_all();
}

std::optional<std::size_t> Workers::from(Run& run, bool front) {
  std::uint64_t seen = run.left.load();
  for (;;) {
    const std::uint64_t first = seen >> 32, end = seen & 0xffffffff;
    if (first >= end) return std::nullopt;
    const std::uint64_t then = front ? packed(first + 1, end) : packed(first, end - 1);
    if (run.left.compare_exchange_weak(seen, then)) return front ? first : end - 1;
  }
}

void Workers::take(std::size_t thread) {
  while (const auto i = from(runs_[thread], true)) (*work_)(*i);
  for (;;) {
    const auto longest = std::ranges::max_element(
        runs_, {}, [](const Run& r) { return length(r.left.load()); });
    const auto i = from(*longest, false);
    if (i) (*work_)(*i);
    if (!i && length(longest->left.load()) == 0) return;
  }
}

// What fails on one thread ends the round on all; the caller gets the first failure.
void Workers::take_or_give_up(std::size_t thread) {
  try {
    take(thread);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
    for (Run& run : runs_) run.left = 0;
  }
}

void Workers::help(std::size_t thread) {
  std::size_t seen = 0;
  for (;;) {
    wait_awake([&] { return round_ != seen; });
    {
      std::unique_lock lock(mutex_);
      begins_.wait(lock, [&] { return stop_ || round_ != seen; });
      if (stop_) return;
      seen = round_;
    }
    take_or_give_up(thread);
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) ends_.notify_one();
  }
}

void Workers::for_each(std::size_t count, const std::function<void(std::size_t)>& work) {
  if (pool_.empty() || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) work(i);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    for (std::size_t t = 0; t < runs_.size(); ++t) {
      runs_[t].left = packed(count * t / runs_.size(), count * (t + 1) / runs_.size());
    }
    busy_ = pool_.size();
    ++round_;
  }
  begins_.notify_all();
  take_or_give_up(0);
  wait_awake([&] { return busy_ == 0; });
  std::unique_lock lock(mutex_);
  ends_.wait(lock, [&] { return busy_ == 0; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void for_each_in_parallel(std::size_t count, int threads,
                          const std::function<void(std::size_t)>& work) {
  const auto useful = std::min(count, static_cast<std::size_t>(std::max(1, threads)));
  Workers(static_cast<int>(useful)).for_each(count, work);
}

int thread_count(int requested) {
  if (requested > 0) return requested;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace pleat
