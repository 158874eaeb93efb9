// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// No legal change of one to three fields makes a proven winner faster. The changes come from the
// table of a plan's fields, the rules of plans and the simulator; nothing of the search's space is
// asked.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/planner/laws/faster_changes.hpp"
#include "tests/planner/laws/known_holes.hpp"
#include "tests/planner/laws/law_requests.hpp"
#include "tests/planner/laws/law_settings.hpp"
#include "tests/planner/laws/typed_plan.hpp"

namespace pleat::test {
namespace {

// Of one search.
constexpr int kFewEstimates = 20'000, kManyEstimates = 100'000;

// Names of a plan's fields and what was found, one to a line, the largest gain first.
std::string report(const Words& request, const Answer& answer,
                   const std::map<std::string, FasterPlan>& found) {
  std::vector<std::pair<std::string, FasterPlan>> list(found.begin(), found.end());
  std::ranges::sort(list, {}, [](const auto& f) { return f.second.seconds; });
  std::string text = fmt::format("{}\n  {} s: {}\n", command("plan", request), answer.seconds,
                                 summary(answer.document.plan));
  constexpr std::size_t kMost = 5;
  for (std::size_t i = 0; i < list.size() && i < kMost; ++i) {
    const auto& [fields, faster] = list[i];
    text += fmt::format("{:.2f}% faster by {}:\n  {}\n  {} s\n",
                        100 * (1 - faster.seconds / answer.seconds), fields,
                        command("predict", typed(answer.document, faster.plan)), faster.seconds);
  }
  return text;
}

void check(std::uint64_t seed, bool few_gpus, int requests, int draws) {
  RequestMaker maker(law_seed(seed), few_gpus);
  int proven = 0;
  long priced = 0;
  std::size_t excused = 0;
  for (int i = 0; i < requests; ++i) {
    const Words request = maker.make();
    const std::optional<Answer> answer =
        ask(request, every_case() ? kManyEstimates : kFewEstimates);
    if (!answer) continue;
    ++proven;
    ChangeHunt hunt(request, *answer);
    const Plan& winner = answer->document.plan;
    EXPECT_TRUE(hunt.legal(winner)) << command("plan", request);
    EXPECT_TRUE(fits(answer->problem, hunt.winner())) << command("plan", request);
    EXPECT_NEAR(hunt.winner().step.base(), answer->seconds, 1e-9 * answer->seconds)
        << command("plan", request);
    if (can_be_typed(winner)) {
      const Words words = typed(answer->document, winner);
      EXPECT_NEAR(predicted_seconds(words), answer->seconds, 1e-9 * answer->seconds)
          << command("predict", words) << "\n"
          << command("plan", request);
    }
    auto found = hunt.run(draws, maker.dice());
    priced += hunt.priced();
    excused += std::erase_if(found, [&](const auto& f) {
      const double gain = 1 - f.second.seconds / answer->seconds;
      return is_known_hole(winner, f.second.plan, gain);
    });
    EXPECT_TRUE(found.empty()) << report(request, *answer, found);
  }
  ::testing::Test::RecordProperty("requests", requests);
  ::testing::Test::RecordProperty("proven", proven);
  ::testing::Test::RecordProperty("priced", std::to_string(priced));
  ::testing::Test::RecordProperty("through known holes", std::to_string(excused));
  EXPECT_GE(proven, requests / 4) << "of " << requests << " requests";
  EXPECT_GT(priced, static_cast<long>(draws) * proven / 50);
}

TEST(ChangedWinner, IsNeverFasterOnFewGpus) {
  check(1, true, every_case() ? 120 : 24, every_case() ? 100'000 : 10'000);
}

TEST(ChangedWinner, IsNeverFasterOnManyGpus) {
  if (!every_case()) GTEST_SKIP() << "one of the slow tests";
  check(2, false, 200, 50'000);
}

}  // namespace
}  // namespace pleat::test
