// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/parallel_rounds.hpp"

#include <algorithm>
#include <exception>

namespace pleat {

Workers::Workers(int threads) {
  for (int t = 1; t < threads; ++t) pool_.emplace_back([this] { help(); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  begins_.notify_all();
}

void Workers::take() {
  for (std::size_t i = next_++; i < count_; i = next_++) (*work_)(i);
}

void Workers::help() {
  std::size_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    begins_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_) return;
    seen = round_;
    lock.unlock();
    take();
    lock.lock();
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
    count_ = count;
    next_ = 0;
    busy_ = pool_.size();
    ++round_;
  }
  begins_.notify_all();
  std::exception_ptr error;
  try {
    take();
  } catch (...) {  // the others still use `work`
    error = std::current_exception();
    next_ = count;
  }
  std::unique_lock lock(mutex_);
  ends_.wait(lock, [&] { return busy_ == 0; });
  if (error) std::rethrow_exception(error);
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
