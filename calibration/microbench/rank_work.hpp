// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One rank's part of a collective that is measured, and the memory that its communicator holds.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "calibration/microbench/points.hpp"
#include "calibration/microbench/rank_runner.hpp"

namespace pleat {

// One rank's part of a collective that is measured: its buffers, and a call.

class RankWork {
 public:
  // Communicator and device outlive it.
  RankWork(Communicator&, Device&, const CollectivePoint&);
  ~RankWork();
  RankWork(const RankWork&) = delete;
  RankWork& operator=(const RankWork&) = delete;

  [[nodiscard]] bool in_window() const { return window_ != nullptr; }
  void run();  // enqueued on a device that works on its own

 private:
  class Words;
  struct OneSlab;
  template <class T>
  void reduce();
  void message();

  Communicator& comm_;
  CollectivePoint point_;
  std::vector<std::int64_t> send_, recv_;  // bytes to and from each member
  std::unique_ptr<OneSlab> slab_;          // of both buffers, for a window
  std::unique_ptr<Words> whole_, other_;
  std::shared_ptr<void> window_;
};

// Bytes that one rank of the point sends; of uneven rows the most that one sends or gets.
[[nodiscard]] double wire_bytes(const CollectivePoint&);

// Device memory that one more communicator of the first `ranks` ranks holds after use: the growth
// of what the driver of rank 0's device counts as used. The communicator sums, gathers and
// exchanges a megabyte first; the buffers for that are freed before the memory is read again. A
// communicator of the same ranks exists already. 0: no driver tells, or rank 0 is in another
// process. All processes of the job call this.
[[nodiscard]] std::int64_t communicator_bytes(RankRunner&, int ranks);

}  // namespace pleat
