// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The ranks that a calibration measures collectives on.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "backend/comm/communicator.hpp"

namespace pleat {

// Ranks 0 to ranks - 1 in groups of `group`, whose members are `stride` apart.
struct RankGroups {
  int ranks = 0;
  int group = 0;
  int stride = 1;
  bool fresh = false;  // communicators of their own: a window is registered once for each
};

// The ranks that collectives are measured on: threads of this process, or this process's part of a
// job of several. run() calls body(rank, its group's communicator) on every rank that is here; all
// processes of the job call it with the same arguments. A group's communicator may be kept for the
// next run of the same groups.
class RankRunner {
 public:
  virtual ~RankRunner() = default;
  [[nodiscard]] virtual int world() const = 0;
  [[nodiscard]] virtual int first_here() const = 0;  // the lowest rank of this process
  [[nodiscard]] bool has_first() const { return first_here() == 0; }
  // Where a rank's data lie; it outlives the runner's communicators.
  [[nodiscard]] virtual Device& device(int rank) = 0;
  virtual void run(const RankGroups&, const std::function<void(int, Communicator&)>& body) = 0;
};
[[nodiscard]] std::unique_ptr<RankRunner> thread_ranks(int world);
// Ranks of a job, by their transports; they outlive the runner. devices: one for each, whose memory
// is exchanged as the transport does it for training; none: the host's.
using Devices = std::vector<std::unique_ptr<Device>>;
[[nodiscard]] std::unique_ptr<RankRunner> job_ranks(const std::vector<std::unique_ptr<Transport>>&,
                                                    Devices devices = {});

}  // namespace pleat
