// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What of a rank's state lies where, between steps: the elements that it needs to go on, and those
// that it saves. A checkpoint writes and reads them (backend/checkpoint/kept_state.hpp).
//
// State is kept as the layout has it: main parameters as the lower halves of weights, moments in
// types with a scale a block. Such state has no values of its own; it is widened to fp32 in host
// memory, and narrowed again when it has been restored.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/program/program.hpp"
#include "kernels/kernel_set.hpp"

namespace pleat {

// Elements [begin, begin + values.elements()) of a padded bucket.
struct StateRange {
  const char* kind = "";  // "weight", "main", "exp_avg", "exp_avg_sq"
  std::size_t bucket = 0;
  std::int64_t begin = 0;
  View values;
};

namespace execute {

struct Execution;

class CheckpointRanges {
 public:
  explicit CheckpointRanges(Execution& run) : run_(run) {}

  // All weights that this rank holds, and its shard of the state: what it needs to go on.
  [[nodiscard]] std::vector<StateRange> needed() { return ranges(false); }
  // Its shard of weights and state, without what an earlier rank saves.
  [[nodiscard]] std::vector<StateRange> saved_here() { return ranges(true); }

  // The ranges that are needed have been filled: what was widened goes back. True where the weights
  // changed on this rank alone: others get them by a gather.
  [[nodiscard]] bool take_back();
  void forget();  // what was widened, before a step changes the state

 private:
  struct WideMoment {
    std::size_t bucket = 0;
    std::int64_t first = 0;  // of the shard
    TensorId moment, scales;
    std::vector<float> values;
  };
  struct WideMain {
    std::size_t bucket = 0;
    StateSegment segment;
    std::vector<float> values;
  };

  [[nodiscard]] std::vector<StateRange> ranges(bool to_save);
  [[nodiscard]] View widen_moment(std::size_t bucket, const StateSegment&, TensorId moment,
                                  TensorId scales);
  [[nodiscard]] View widen_main(std::size_t bucket, const StateSegment&);
  void move_moments(WideMoment&, bool back);
  [[nodiscard]] std::vector<std::pair<Moment, View>> parts_of(WideMoment&);
  // Visits (weights, lower halves, fp32 main parameters).
  template <class Visit>
  void for_each_half(WideMain&, Visit);

  Execution& run_;
  std::vector<WideMoment> wide_moments_;
  std::vector<WideMain> wide_mains_;
};

}  // namespace execute
}  // namespace pleat
