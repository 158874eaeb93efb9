// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// When the slots of a tabulated pipeline run.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/diagnostics.hpp"
#include "simulator/schedule_table.hpp"

namespace pleat {

namespace {

constexpr std::size_t kFewSlots = 4000, kFewRounds = 8;  // not worth looking for

// The end of a step follows from the ends of steps before it by sums and maxima. So where all of
// them come later than a round before by the same time, those of every further round do, too.
template <std::size_t N>
class SteadyRounds {
 public:
  using Times = std::array<Seconds, N>;
  // `ends`: of the steps, after one more; `finish`: of the stages. Both are written.
  SteadyRounds(const ScheduleTable::Rounds& rounds, std::vector<Times>& ends,
               std::vector<Times>& finish)
      : rounds_(rounds), ends_(ends), finish_(finish) {}

  // After `walked` of the rounds: sets the times to those after the last round, if the rounds have
  // become steady, and returns how many are left out.
  std::size_t skip(std::size_t walked) {
    const std::size_t left = rounds_.times - walked, end = rounds_.first + walked * rounds_.steps;
    const bool known = before_.size() == finish_.size() && end >= rounds_.reach + rounds_.steps;
    if (!known || left == 0 || !is_steady(end)) {
      before_ = finish_;
      return 0;
    }
    const auto later = [&](Times& time) {
      for (std::size_t n = 0; n < N; ++n) time[n] += longer_[n] * static_cast<double>(left);
    };
    for (Times& time : finish_) later(time);
    // The last one first: its new place may be one that is still to move.
    for (std::size_t i = end; i > end - rounds_.reach; --i) {
      Times& moved = ends_[i + left * rounds_.steps];
      moved = ends_[i];
      later(moved);
    }
    return left;
  }

 private:
  static constexpr double kRounding = 1e-14;  // of a time

  bool is_steady(std::size_t end) {
    for (std::size_t n = 0; n < N; ++n) longer_[n] = finish_[0][n] - before_[0][n];
    const auto as_long = [&](const Times& time, const Times& before) {
      for (std::size_t n = 0; n < N; ++n) {
        const double off = (time[n] - before[n] - longer_[n]).base();
        if (std::abs(off) > kRounding * time[n].base()) return false;
      }
      return true;
    };
    if (!std::ranges::equal(finish_, before_, as_long)) return false;
    for (std::size_t i = end; i > end - rounds_.reach; --i) {
      if (!as_long(ends_[i], ends_[i - rounds_.steps])) return false;
    }
    return true;
  }

  const ScheduleTable::Rounds& rounds_;
  std::vector<Times>& ends_;
  std::vector<Times>& finish_;
  std::vector<Times> before_;  // finish_, a round before
  Times longer_{};             // a round
};

// The same walk for one transfer time, or for two of them side by side. `pairs`: steps may have two
// inputs; `waits`: stages wait for what they send. What a step does not have is read as a time that
// is always over, and what does not travel arrives at once, so that there is nothing to decide.
template <std::size_t N, bool pairs, bool waits>
void walk(const ScheduleTable& table, const std::vector<Seconds>& durations,
          const std::array<Seconds, N>& transfer, std::vector<std::array<Seconds, N>>& finish,
          std::vector<Seconds>* starts) {
  using Times = std::array<Seconds, N>;
  const Times delay[2] = {{}, transfer};
  thread_local std::vector<Times> ends;  // of the steps, after that of none
  if (ends.size() <= table.walk.size()) ends.resize(table.walk.size() + 1);
  ends[0].fill(Seconds(-std::numeric_limits<double>::infinity()));
  const Times* const made = ends.data();
  std::size_t done = 0;
  const auto walk_to = [&](std::size_t until) {
    for (; done < until; ++done) {
      const ScheduleTable::Walk& step = table.walk[done];
      Times from = finish[static_cast<std::size_t>(step.stage)];
      const auto wait_for = [&](int k) {
        const Times& ready = made[step.input[k]];
        const Times& late = delay[step.travels[k] ? 1 : 0];
        for (std::size_t n = 0; n < N; ++n) from[n] = std::max(from[n], ready[n] + late[n]);
      };
      wait_for(0);
      if constexpr (pairs) wait_for(1);
      if (starts != nullptr) starts->push_back(from[0]);
      const Seconds work = durations[static_cast<std::size_t>(step.duration)];
      for (Seconds& t : from) t += work;  // the end now
      ends[done + 1] = from;
      if constexpr (waits) {
        for (std::size_t n = 0; n < N; ++n) from[n] += delay[step.sends ? 1 : 0][n];
      }
      finish[static_cast<std::size_t>(step.stage)] = from;
    }
  };
  const bool is_long = table.walk.size() > kFewSlots && table.rounds.times > kFewRounds;
  if (starts == nullptr && is_long) {
    SteadyRounds<N> steady(table.rounds, ends, finish);
    for (std::size_t k = 1; k <= table.rounds.times && done < table.walk.size(); ++k) {
      walk_to(table.rounds.first + k * table.rounds.steps);
      if (const std::size_t skipped = steady.skip(k)) {
        done += skipped * table.rounds.steps;
        break;
      }
    }
  }
  walk_to(table.walk.size());
}

template <std::size_t N>
void walk(const ScheduleTable& table, const std::vector<Seconds>& durations,
          const std::vector<Seconds>& start, const std::array<Seconds, N>& transfer,
          std::vector<Seconds>* starts, TableTiming& timing) {
  thread_local std::vector<std::array<Seconds, N>> finish;  // by stage
  finish.resize(start.size());
  for (std::size_t s = 0; s < start.size(); ++s) finish[s].fill(start[s]);
  const bool waits = table.waits_for_sends;
  const auto run = table.paired ? (waits ? walk<N, true, true> : walk<N, true, false>)
                                : (waits ? walk<N, false, true> : walk<N, false, false>);
  run(table, durations, transfer, finish, starts);
  timing.finish.reserve(start.size());
  for (const auto& end : finish) {
    timing.finish.push_back(end[0]);
    timing.end = std::max(timing.end, end[0]);
    timing.end_without_transfer = std::max(timing.end_without_transfer, end[N - 1]);
  }
}

}  // namespace

TableTiming time_table(const ScheduleTable& table, const std::vector<Seconds>& durations,
                       const std::vector<Seconds>& start, Seconds transfer, TableDetail detail) {
  const auto stages = static_cast<std::size_t>(table.shape.pp);
  const auto kinds = static_cast<std::size_t>(table.kinds());
  PLEAT_ASSERT(durations.size() == stages * kinds && start.size() == stages);
  TableTiming timing;
  std::vector<Seconds>* const starts = detail.starts ? &timing.starts : nullptr;
  if (detail.starts) timing.starts.reserve(table.walk.size());
  if (detail.end_without_transfer && transfer > Seconds(0)) {
    walk<2>(table, durations, start, {transfer, Seconds(0)}, starts, timing);
  } else {
    walk<1>(table, durations, start, {transfer}, starts, timing);
  }
  timing.busy.resize(stages);
  for (std::size_t s = 0; s < stages; ++s) {
    for (std::size_t k = 0; k < kinds; ++k) {
      timing.busy[s] += durations[s * kinds + k] * table.times[s][k];
    }
  }
  return timing;
}

}  // namespace pleat
