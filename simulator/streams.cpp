// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Event simulation of the streams, of which two slow each other down, and the attribution of every
// moment.
#include "simulator/streams.hpp"

#include <algorithm>
#include <limits>

namespace pleat {
namespace {

constexpr double kRounding = 1e-12;  // of a fraction of an op

class Run {
 public:
  explicit Run(std::span<const StreamOp> ops) : ops_(ops), left_(ops.size()), done_(ops.size()) {
    line_.start.resize(ops.size());
    line_.finish.resize(ops.size());
    std::ranges::fill(left_, 1.0);
    for (std::size_t s = 0; s < kStreams; ++s) to_own(s);
  }

  StreamTimeline finish() {
    while (ended_ < ops_.size()) {
      bool changed = start_ready();
      changed = finish_done() || changed;
      if (!changed) advance();
    }
    line_.end = now_;
    return std::move(line_);
  }

 private:
  const StreamOp& op(int i) const { return ops_[static_cast<std::size_t>(i)]; }
  double& left(int i) { return left_[static_cast<std::size_t>(i)]; }
  bool done(int i) const { return done_[static_cast<std::size_t>(i)]; }

  // On to the stream's next op, from where it is.
  void to_own(std::size_t s) {
    while (has_next(s) && op(next_[s]).stream != static_cast<Stream>(s)) ++next_[s];
  }
  [[nodiscard]] bool has_next(std::size_t s) const {
    return next_[s] < static_cast<int>(ops_.size());
  }

  bool can_start(int i) {
    for (int before : op(i).after) {
      PLEAT_ASSERT(before < i);
      if (before != op(i).with && !done(before)) return false;
    }
    const int with = op(i).with;
    return with < 0 || done(with) ||
           (is_active(with) && 1.0 - left(with) >= op(i).lead - kRounding);
  }

  bool is_active(int i) const { return std::ranges::count(active_, i) > 0; }

  bool start_ready() {
    bool any = false;
    for (std::size_t s = 0; s < kStreams; ++s) {
      if (active_[s] >= 0 || !has_next(s)) continue;
      const int i = next_[s];
      if (!can_start(i)) continue;
      active_[s] = i;
      line_.start[static_cast<std::size_t>(i)] = now_;
      any = true;
    }
    return any;
  }

  bool finish_done() {
    bool any = false;
    for (std::size_t s = 0; s < kStreams; ++s) {
      const int i = active_[s];
      if (i < 0 || left(i) > 0) continue;
      if (op(i).with >= 0 && !done(op(i).with)) continue;
      for (int other : active_) {
        if (other >= 0 && op(other).with == i) left(other) = std::max(left(other), op(other).tail);
      }
      done_[static_cast<std::size_t>(i)] = true;
      line_.finish[static_cast<std::size_t>(i)] = now_;
      active_[s] = -1;
      ++next_[s];
      to_own(s);
      ++ended_;
      any = true;
    }
    return any;
  }

  bool works(int i) { return i >= 0 && left(i) > 0; }

  // To the next moment at which an op ends or lets another begin.
  void advance() {
    const int compute = active_[0], comm = active_[1];
    const bool both = works(compute) && works(comm);
    const double rate[kStreams] = {both ? 1.0 - op(comm).sm_share : 1.0,
                                   both ? 1.0 / op(comm).slowdown : 1.0, 1.0};
    double step = std::numeric_limits<double>::infinity();  // seconds
    int ends = -1;
    for (std::size_t s = 0; s < kStreams; ++s) {
      const int i = active_[s];
      if (!works(i)) continue;
      const double full = op(i).duration.base() / rate[s];
      if (left(i) * full < step) {
        step = left(i) * full;
        ends = i;
      }
      for (std::size_t t = 0; t < kStreams; ++t) {  // ops that wait for a part of this one
        if (active_[t] >= 0 || !has_next(t)) continue;
        const StreamOp& waiting = op(next_[t]);
        const double until = (left(i) - (1.0 - waiting.lead)) * full;
        if (waiting.with == i && until > 0 && until < step) {
          step = until;
          ends = -1;
        }
      }
    }
    PLEAT_ASSERT(step < std::numeric_limits<double>::infinity());  // else the order deadlocks
    now_ += Seconds(step);
    attribute(Seconds(step), compute, comm, both);
    for (std::size_t s = 0; s < kStreams; ++s) {
      const int i = active_[s];
      if (!works(i)) continue;
      const double share =
          op(i).duration > Seconds(0) ? step * rate[s] / op(i).duration.base() : 1.0;
      left(i) = i == ends ? 0.0 : std::max(0.0, left(i) - share);
      if (left(i) < kRounding) left(i) = 0.0;
    }
  }

  void attribute(Seconds step, int compute, int comm, bool both) {
    auto part = [&](int i) -> Seconds& {
      return line_.parts[static_cast<std::size_t>(op(i).cls)];
    };
    if (!both) {
      part(works(compute) ? compute : works(comm) ? comm : active_[2]) += step;
      return;
    }
    part(compute) += step * (1.0 - op(comm).sm_share);
    part(comm) += step * op(comm).sm_share;
  }

  std::span<const StreamOp> ops_;
  std::vector<double> left_;  // of each op, 1 to 0
  std::vector<char> done_;
  int next_[kStreams] = {};  // the op that a stream works on, or the next one it starts
  int active_[kStreams] = {-1, -1, -1};
  std::size_t ended_ = 0;
  Seconds now_;
  StreamTimeline line_;
};

}  // namespace

StreamTimeline run_streams(std::span<const StreamOp> ops) { return Run(ops).finish(); }

}  // namespace pleat
