// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/comm/thread_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "core/diagnostics.hpp"

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

ThreadGroup::ThreadGroup(const ThreadJob& job, int size)
    : job_(job),
      published_(static_cast<std::size_t>(size)),
      mailboxes_(static_cast<std::size_t>(size)) {}

void ThreadGroup::meet(Meeting& meeting, bool may_abort) {
  std::unique_lock lock(meeting.mutex);
  // Under the lock: either all members see the round complete, or all see the abort.
  if (may_abort) job_.throw_if_aborted();
  if (++meeting.arrived == size()) {
    meeting.arrived = 0;
    ++meeting.round;
    meeting.changed.notify_all();
    return;
  }
  const std::uint64_t round = meeting.round;
  meeting.changed.wait(lock,
                       [&] { return meeting.round != round || (may_abort && job_.aborted()); });
  if (meeting.round == round) job_.throw_aborted();
}

const std::vector<Published>& ThreadGroup::enter(int rank, const Published& mine) {
  published_[static_cast<std::size_t>(rank)] = mine;
  meet(entrance_, true);
  return published_;
}

void ThreadGroup::leave() { meet(exit_, false); }

void ThreadGroup::post(int from, int to, int tag, std::span<const std::byte> data) {
  job_.throw_if_aborted();
  Mailbox& box = mailboxes_[static_cast<std::size_t>(to)];
  std::vector<std::byte> message(data.begin(), data.end());
  const std::lock_guard lock(box.mutex);
  box.by_sender_and_tag[{from, tag}].push_back(std::move(message));
  box.changed.notify_all();
}

void ThreadGroup::take(int from, int to, int tag, std::span<std::byte> data) {
  Mailbox& box = mailboxes_[static_cast<std::size_t>(to)];
  std::unique_lock lock(box.mutex);
  auto& queue = box.by_sender_and_tag[{from, tag}];
  box.changed.wait(lock, [&] { return !queue.empty() || job_.aborted(); });
  job_.throw_if_aborted();
  const std::vector<std::byte> message = std::move(queue.front());
  queue.pop_front();
  lock.unlock();
  PLEAT_ASSERT(message.size() == data.size());
  std::copy(message.begin(), message.end(), data.begin());
}

void ThreadGroup::wake_all() {
  // Locking between a waiter's check and its sleep is what makes sure that no wake-up is lost.
  for (Meeting* meeting : {&entrance_, &exit_}) {
    const std::lock_guard lock(meeting->mutex);
    meeting->changed.notify_all();
  }
  for (Mailbox& box : mailboxes_) {
    const std::lock_guard lock(box.mutex);
    box.changed.notify_all();
  }
}

}  // namespace pleat
