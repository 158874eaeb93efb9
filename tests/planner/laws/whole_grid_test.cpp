// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The search finds the optimum of raw grids of small jobs: no plan of them that is legal, fits and
// runs is faster, and its answer is one of theirs.
#include "tests/planner/laws/whole_grid.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "core/diagnostics.hpp"
#include "planner/plan.hpp"
#include "tests/planner/laws/known_holes.hpp"
#include "tests/planner/laws/law_settings.hpp"
#include "tests/planner/laws/what_runs.hpp"

namespace pleat::test {
namespace {

bool fits(const SmallJob& job, const StepEstimate& e) {
  const double host = job.cluster.host_memory.base();
  return static_cast<double>(e.peak_bytes()) <= 0.95 * job.cluster.gpu.memory.base() &&
         (host <= 0 || static_cast<double>(e.host_bytes) <= host);
}

// The quick suite leaves out jobs whose search takes longer: some take a minute, where every memory
// choice is about as good.
constexpr int kQuickRounds = 200;

// The best plan; empty where nothing fits.
std::optional<Candidate> searched(const SmallJob& job) {
  PlanRequest request;
  request.search.gpus = job.gpus;
  request.search.runtime = job.runtime;
  request.search.threads = 1;
  request.search.top = 1;
  if (!every_case()) request.search.max_rounds = kQuickRounds;
  try {
    const PlanAnswer answer = plan(job, request);
    if (!every_case() && !answer.result.optimal) return std::nullopt;
    EXPECT_TRUE(answer.result.optimal) << job.text();
    if (!answer.result.best.empty()) return answer.result.best.front();
  } catch (const ConfigError&) {  // no valid plan
  }
  return std::nullopt;
}

struct Optimum {
  Plan plan;
  Seconds step{std::numeric_limits<double>::infinity()};
  long priced = 0;
};

Optimum optimum(const SmallJob& job, WholeGrid& grid) {
  constexpr long kRemembered = 4096;  // plans, of which an estimator remembers layers
  std::optional<Estimator> estimate;
  Optimum best;
  grid.walk([&](const Plan& plan) {
    if (not_searched(job, job.runtime, plan) != nullptr) return;
    if (best.priced++ % kRemembered == 0) {
      estimate.emplace(job.model, job.workload, job.cluster, job.profile, job.runtime);
    }
    const StepEstimate e = (*estimate)(plan);
    if (!fits(job, e) || e.step >= best.step) return;
    best.step = e.step;
    best.plan = plan;
  });
  return best;
}

// Names of the fields.
std::string differences(const Plan& a, const Plan& b) {
  std::string names = "different: ";
  for (const std::size_t row : PlanChanger::rows()) {
    if (!PlanChanger::same(row, a, b)) names += PlanChanger::name(row) + " ";
  }
  return names;
}

void compare(SmallJobMaker& maker, int jobs, SmallJob (SmallJobMaker::*make)()) {
  const int grids = every_case() ? 4 : 3;
  const double most = every_case() ? 400'000 : 100'000;
  int compared = 0;
  long priced = 0;
  for (int i = 0; i < jobs; ++i) {
    const SmallJob job = (maker.*make)();
    const std::optional<Candidate> found = searched(job);
    if (!found) continue;
    ++compared;
    const double step = found->estimate.step.base();
    // Changes of the best plans may have what a search need not find: no grid then has the answer.
    const bool in_grids = not_searched(job, job.runtime, found->plan) == nullptr;
    for (int g = 0; g < grids; ++g) {
      WholeGrid grid(job, found->plan, most, maker.dice());
      const Optimum best = optimum(job, grid);
      priced += best.priced;
      SCOPED_TRACE(fmt::format("job {}: {}\nsearch: {:.9g} s: {}\ngrid of {}:\n  {:.9g} s: {}\n{}",
                               i, job.text(), step, summary(found->plan), grid.fields(),
                               best.step.base(), summary(best.plan),
                               differences(found->plan, best.plan)));
      if (in_grids) {
        EXPECT_LE(best.step.base(), step * (1 + 1e-9)) << "the answer is no legal plan that fits";
      }
      const double gain = 1 - best.step.base() / step;
      if (gain > 0 && is_known_hole(found->plan, best.plan, gain)) continue;
      EXPECT_LE(gain, 1e-3) << "the search misses a plan";
    }
  }
  ::testing::Test::RecordProperty("jobs", jobs);
  ::testing::Test::RecordProperty("compared", compared);
  ::testing::Test::RecordProperty("priced", std::to_string(priced));
  EXPECT_GT(compared, jobs / 2);
  EXPECT_GT(priced, 100L * compared);
}

TEST(WholeGrid, HasNoFasterPlanThanTheSearchFinds) {
  SmallJobMaker maker(law_seed(5));
  compare(maker, every_case() ? 150 : 30, &SmallJobMaker::make);
}

// Where experts are placed by load, and how many copies of busy ones a rank has.
TEST(WholeGrid, HasNoFasterPlacementOfExperts) {
  SmallJobMaker maker(law_seed(6));
  compare(maker, every_case() ? 100 : 8, &SmallJobMaker::make_with_loads);
}

}  // namespace
}  // namespace pleat::test
