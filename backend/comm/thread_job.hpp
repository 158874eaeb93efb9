// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What ranks that are threads of one process share: the job, and the memory that a group meets in.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.hpp"

namespace pleat {

// What the ranks of a threaded job share: the groups alive, and whether a rank has given up.

class ThreadGroup;

class ThreadJob {
 public:
  // The `nth` group (from 0) with these members; every member asks once and gets the same one.
  [[nodiscard]] std::shared_ptr<ThreadGroup> group(const std::vector<Rank>& members, int nth);
  void abort(Rank rank, const std::string& reason);
  [[nodiscard]] bool aborted() const { return aborted_.load(); }
  void throw_if_aborted() const;
  [[noreturn]] void throw_aborted() const;  // only when aborted()

 private:
  struct Forming {
    std::shared_ptr<ThreadGroup> group;
    std::size_t missing = 0;  // members that have not asked yet
  };
  mutable std::mutex mutex_;
  std::map<std::pair<std::vector<Rank>, int>, Forming> forming_;
  std::vector<std::weak_ptr<ThreadGroup>> alive_;  // to wake on abort
  std::atomic<bool> aborted_ = false;
  std::string message_;  // written once, before aborted_
};

// The memory that the members of one group meet in: a rendezvous for collectives, mailboxes for
// messages.

class ThreadJob;

// What a member lays open to the others during a collective.
struct Published {
  std::span<const std::byte> input;
  std::span<std::byte> data;               // all_reduce: read and written by every member
  std::span<const std::int64_t> bytes_to;  // all_to_all: input bytes for each member
};

class ThreadGroup {
 public:
  ThreadGroup(const ThreadJob& job, int size);
  [[nodiscard]] int size() const { return static_cast<int>(published_.size()); }

  // Lays `mine` open and waits for every member's. Throws if the job is aborted before all came;
  // once one member returns, all do.
  const std::vector<Published>& enter(int rank, const Published& mine);
  // Waits until every member has left. Never throws: all are between enter and leave, where nothing
  // waits or fails, and a member that unwound earlier would free what the others still read.
  void leave();

  void post(int from, int to, int tag, std::span<const std::byte> data);
  void take(int from, int to, int tag, std::span<std::byte> data);
  void wake_all();

 private:
  struct Meeting {
    std::mutex mutex;
    std::condition_variable changed;
    int arrived = 0;
    std::uint64_t round = 0;
  };
  struct Mailbox {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> by_sender_and_tag;
  };
  void meet(Meeting& meeting, bool may_abort);

  const ThreadJob& job_;
  std::vector<Published> published_;
  std::vector<Mailbox> mailboxes_;
  Meeting entrance_, exit_;
};

}  // namespace pleat
