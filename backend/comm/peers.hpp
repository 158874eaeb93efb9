// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The other processes of a job, for the one that watches whether the job still moves.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "backend/rank_progress.hpp"

namespace pleat {

// What the others may ask this process; called from another thread until it is replaced.
struct Watched {
  std::function<std::int64_t()> progress;  // operations that its ranks finished
  std::function<std::vector<RankWhere>()> where;
};

class Peers {
 public:
  virtual ~Peers() = default;
  // An empty Watched: nothing can be asked any more. Returns when no call is under way.
  virtual void watch(Watched) = 0;
  // Operations that the others' ranks have finished, as far as they have told.
  [[nodiscard]] virtual std::int64_t progress() const = 0;
  // Where the others' ranks are. A process that does not answer in time is named as such.
  [[nodiscard]] virtual std::vector<RankWhere> where(double seconds) = 0;
};

}  // namespace pleat
