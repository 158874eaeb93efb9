// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which plan is worth trying next: predictions that learn from the trials so far, and how much a
// plan is expected to gain on the best of them.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "calibration/learn/learn.hpp"

namespace pleat {

// What a plan that was not tried is believed to take.
struct TrialOutlook {
  double seconds = 0;    // of a step: the median of the belief
  double deviation = 0;  // standard deviation of the logarithm of that time
};

// The mean of what a step would be shorter than `best` seconds, counted as 0 where it is longer;
// the time of a step is lognormal.
[[nodiscard]] double expected_improvement(const TrialOutlook&, double best);

// Plans of one model, cluster and batch, in the order of a search, and what trials taught of them.
// Each trial moves the profile's constants, as `pleat calibrate --from-runs` does, and with them
// every other plan's prediction and band. Trials of which most are odd teach one thing: by what
// factor all plans are off.
class TrialChoice {
 public:
  // `plans` are priced with `profile`; their `measured` is not read.
  TrialChoice(Profile profile, std::vector<RunToLearn> plans);

  void measured(std::size_t plan, double seconds);  // of a step
  void failed(std::size_t plan);                    // it is not chosen again
  // It runs: not chosen meanwhile, and to be beaten as if it took what is believed.
  void started(std::size_t plan);

  struct Next {
    std::size_t plan = 0;
    TrialOutlook outlook;
    double gain = 0;  // expected improvement over the seconds to beat; 0: nothing to beat
  };
  // Before the first trial the plan with the shortest prediction, then the one with the largest
  // expected improvement; of equals the shortest prediction, then the first. Nothing: all were
  // tried.
  [[nodiscard]] std::optional<Next> next() const;

  [[nodiscard]] std::optional<std::size_t> best() const;  // of the measured ones
  [[nodiscard]] bool is_open(std::size_t plan) const { return states_[plan] == State::open; }
  [[nodiscard]] const TrialOutlook& outlook(std::size_t plan) const { return outlooks_[plan]; }
  [[nodiscard]] const Profile& profile() const { return learned_; }  // as far as it has learned

 private:
  enum class State { open, running, measured, failed };
  void learn();

  Profile profile_, learned_;
  std::vector<RunToLearn> plans_;
  std::vector<State> states_;
  std::vector<TrialOutlook> outlooks_;
};

}  // namespace pleat
