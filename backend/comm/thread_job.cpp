// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/thread_job.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "backend/comm/thread_group.hpp"

namespace pleat {

std::shared_ptr<ThreadGroup> ThreadJob::group(const std::vector<Rank>& members, int nth) {
  const std::lock_guard lock(mutex_);
  const auto [entry, first] = forming_.try_emplace({members, nth});
  Forming& forming = entry->second;
  if (first) {
    forming = {std::make_shared<ThreadGroup>(*this, static_cast<int>(members.size())),
               members.size()};
    std::erase_if(alive_, [](const auto& group) { return group.expired(); });
    alive_.push_back(forming.group);
  }
  std::shared_ptr<ThreadGroup> group = forming.group;
  if (--forming.missing == 0) forming_.erase(entry);
  return group;
}

void ThreadJob::abort(Rank rank, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (aborted()) return;
  message_ = fmt::format("rank {} failed: {}", rank.value, reason);
  aborted_.store(true);
  for (const auto& weak : alive_) {
    if (const auto group = weak.lock()) group->wake_all();
  }
}

void ThreadJob::throw_if_aborted() const {
  if (aborted()) throw_aborted();
}

void ThreadJob::throw_aborted() const { throw std::runtime_error(message_); }

}  // namespace pleat
