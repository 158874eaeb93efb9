// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the ranks of a threaded job share: the groups alive, and whether a rank has given up.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/ids.hpp"

namespace pleat {

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

}  // namespace pleat
