// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Legal changes of a plan that make it faster, found by drawing values of one to three fields.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulator/estimator.hpp"
#include "tests/planner/laws/asked_search.hpp"
#include "tests/planner/laws/plan_changer.hpp"
#include "tests/planner/laws/what_runs.hpp"

namespace pleat::test {

struct FasterPlan {
  Plan plan;
  double seconds = 0;
};

class ChangeHunt {
 public:
  // A change counts if it saves more than this share of the step.
  static constexpr double kTolerance = 1e-3;

  // What the request pins stays as it is.
  ChangeHunt(const Words& request, const Answer& answer)
      : answer_(answer),
        changer_(answer.problem, answer.document.gpus),
        winner_(price(answer.document.plan)) {
    std::erase_if(rows_, [&](std::size_t row) {
      return std::ranges::find(request, "--" + PlanChanger::flag(row)) != request.end();
    });
  }

  // By the names of the changed fields, of which none can be left out.
  std::map<std::string, FasterPlan> run(int draws, Dice& dice) {
    std::map<std::string, FasterPlan> found;
    for (int i = 0; i < draws; ++i) {
      FasterPlan f{answer_.document.plan, 0};
      bool changed = false;
      for (std::size_t n = 1 + dice.below(3); n > 0; --n) {
        changed |= changer_.change(dice.one_of(rows_), f.plan, dice);
      }
      changer_.complete(f.plan);
      if (!changed || !is_faster(f)) continue;
      undo_what_is_needless(f);
      const auto [known, fresh] = found.try_emplace(changed_fields(f.plan), f);
      if (!fresh && f.seconds < known->second.seconds) known->second = f;
    }
    return found;
  }

  [[nodiscard]] const StepEstimate& winner() const { return winner_; }
  [[nodiscard]] bool legal(const Plan& plan) const { return changer_.legal(plan); }
  [[nodiscard]] long priced() const { return priced_; }

 private:
  bool is_faster(FasterPlan& f) {
    if (!changer_.legal(f.plan)) return false;
    if (not_searched(answer_.problem, answer_.document.runtime, f.plan) != nullptr) return false;
    const StepEstimate e = price(f.plan);
    f.seconds = e.step.base();
    return f.seconds < answer_.seconds * (1 - kTolerance) && fits(answer_.problem, e);
  }

  StepEstimate price(const Plan& plan) {
    constexpr long kRemembered = 4096;  // plans, of which an estimator remembers layers
    if (priced_++ % kRemembered == 0) {
      const Problem& p = answer_.problem;
      estimate_.emplace(p.model, p.workload, p.cluster, p.profile, answer_.document.runtime);
    }
    return (*estimate_)(plan);
  }

  void undo_what_is_needless(FasterPlan& f) {
    for (bool undone = true; undone;) {
      undone = false;
      for (const std::size_t row : rows_) {
        if (PlanChanger::same(row, f.plan, answer_.document.plan)) continue;
        FasterPlan less = f;
        PlanChanger::copy(row, answer_.document.plan, less.plan);
        changer_.complete(less.plan);
        if (!is_faster(less)) continue;
        f = std::move(less);
        undone = true;
      }
    }
  }

  [[nodiscard]] std::string changed_fields(const Plan& plan) const {
    std::string names;
    for (const std::size_t row : rows_) {
      if (PlanChanger::same(row, plan, answer_.document.plan)) continue;
      names += (names.empty() ? "" : ", ") + PlanChanger::name(row);
    }
    return names;
  }

  const Answer& answer_;
  PlanChanger changer_;
  std::vector<std::size_t> rows_ = PlanChanger::rows();
  std::optional<Estimator> estimate_;
  long priced_ = 0;
  StepEstimate winner_;  // uses those above
};

}  // namespace pleat::test
