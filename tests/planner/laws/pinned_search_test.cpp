// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A search whose choice is cut down finds nothing faster than one with all of it. The pinned values
// come from the table of a plan's fields, not from what a search tries.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/planner/laws/known_holes.hpp"
#include "tests/planner/laws/law_requests.hpp"
#include "tests/planner/laws/law_settings.hpp"
#include "tests/planner/laws/plan_changer.hpp"
#include "tests/planner/laws/typed_pin.hpp"
#include "tests/planner/laws/what_runs.hpp"

namespace pleat::test {
namespace {

using cli_test::operator+;

constexpr int kFewEstimates = 20'000, kManyEstimates = 100'000;  // of one search

// One or two pins of values that a legal plan beside the winner has.
Words draw_pins(const Answer& open, const Words& request, Dice& dice) {
  const PlanChanger changer(open.problem, open.document.gpus);
  const std::vector<std::size_t> rows = PlanChanger::rows();
  for (int tries = 0; tries < 10'000; ++tries) {
    Plan plan = open.document.plan;
    std::vector<std::size_t> pinned;
    for (std::size_t n = 1 + dice.below(2); n > 0; --n) {
      const std::size_t row = dice.one_of(rows);
      if (changer.change(row, plan, dice)) pinned.push_back(row);
    }
    changer.complete(plan);
    if (pinned.empty() || !changer.legal(plan)) continue;
    if (not_searched(open.problem, open.document.runtime, plan) != nullptr) continue;
    Words words;
    for (const std::size_t row : pinned) {
      const Words pin = typed_pin(row, plan);
      if (pin.empty()) continue;
      const bool known = std::ranges::find(words, pin.front()) != words.end() ||
                         std::ranges::find(request, pin.front()) != request.end();
      if (!known) words = words + pin;
    }
    if (!words.empty()) return words;
  }
  return {};
}

struct Asked {
  int proven = 0, pinned = 0;
};

Asked check(RequestMaker maker, int requests, int pins, Words (RequestMaker::*make)()) {
  Asked asked;
  for (int i = 0; i < requests; ++i) {
    const Words request = (maker.*make)();
    const std::optional<Answer> open = ask(request, every_case() ? kManyEstimates : kFewEstimates);
    if (!open) continue;
    ++asked.proven;
    for (int n = 0; n < pins; ++n) {
      const Words words = request + draw_pins(*open, request, maker.dice());
      const std::optional<Answer> pinned =
          ask(words, every_case() ? kManyEstimates : kFewEstimates);
      if (!pinned) continue;
      const Plan& plan = pinned->document.plan;
      if (not_searched(open->problem, open->document.runtime, plan) != nullptr) continue;
      ++asked.pinned;
      const double gain = 1 - pinned->seconds / open->seconds;
      if (gain > 0 && is_known_hole(open->document.plan, plan, gain)) continue;
      EXPECT_GE(pinned->seconds, open->seconds * (1 - 1e-9)) << fmt::format(
          "{:.3f}% faster\n{}\n  {} s: {}\n{}\n  {} s: {}\n",
          100 * (1 - pinned->seconds / open->seconds), command("plan", request), open->seconds,
          summary(open->document.plan), command("plan", words), pinned->seconds, summary(plan));
    }
  }
  ::testing::Test::RecordProperty("requests", requests);
  ::testing::Test::RecordProperty("proven", asked.proven);
  ::testing::Test::RecordProperty("pinned", asked.pinned);
  return asked;
}

TEST(PinnedSearch, IsNeverFasterOnFewGpus) {
  const int requests = every_case() ? 120 : 8, pins = every_case() ? 6 : 5;
  const Asked asked = check({law_seed(3), true}, requests, pins, &RequestMaker::make);
  EXPECT_GE(asked.proven, requests / 4);
  EXPECT_GE(asked.pinned, asked.proven);
}

TEST(PinnedSearch, IsNeverFasterOnManyGpus) {
  if (!every_case()) GTEST_SKIP() << "one of the slow tests";
  const Asked asked = check({law_seed(4), false}, 100, 4, &RequestMaker::make);
  EXPECT_GE(asked.proven, 25);
  EXPECT_GE(asked.pinned, asked.proven);
}

TEST(PinnedSearch, IsNeverFasterWhereLoadsAreKnown) {
  const int requests = every_case() ? 20 : 2, pins = every_case() ? 4 : 3;
  const Asked asked = check({law_seed(7), true}, requests, pins, &RequestMaker::make_with_loads);
  EXPECT_GE(asked.proven, 1 + requests / 10);
  EXPECT_GE(asked.pinned, asked.proven);
}

// A field that the search chooses can be pinned, so that its values can be asked for.
TEST(PinnedSearch, EveryFieldThatASearchChoosesHasAPin) {
  Plan plan;  // with a value in each field that no plan has otherwise
  plan.layout = "Et*2|t*2L";
  plan.cp_a2a = 2;
  plan.microbatch_group = plan.dispatcher_sms = 1;
  plan.recompute_full = true;
  for_each_plan_field([&](auto i) {
    if (kPlanField<i>.chosen_by != ChosenBy::search) return;
    if (kPlanField<i>.path == "optimizer.cpu_offload_overlapped") return;  // with cpu_offload
    EXPECT_FALSE(typed_pin(i, plan).empty()) << kPlanField<i>.path;
  });
}

}  // namespace
}  // namespace pleat::test
