// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a job's end and its log mean for a trial.
#include "application/tune/trial_verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pleat {
namespace {

using ::testing::HasSubstr;

JobLook over() {
  JobLook look;
  look.phase = JobLook::Phase::over;
  return look;
}

TrialReading steps(int count, double seconds) {
  return {.steps = count,
          .seconds = seconds,
          .fastest = seconds,
          .bytes = 0,
          .out_of_memory = false,
          .last_words = ""};
}

TEST(TrialVerdict, AllStepsAreAMeasurementWhateverCameAfter) {
  JobLook look = over();
  look.has_code = true;
  look.exit_code = 1;
  EXPECT_EQ(judge_ended(look, steps(6, 0.1), 6).outcome, TrialOutcome::measured);
  EXPECT_EQ(judge_ended(look, steps(5, 0.1), 6).outcome, TrialOutcome::failed);
  look.completed = true;  // it was told to take fewer
  EXPECT_EQ(judge_ended(look, steps(5, 0.1), 6).outcome, TrialOutcome::measured);
}

TEST(TrialVerdict, MemoryIsSaidByTheSystemOrTheLog) {
  JobLook look = over();
  look.out_of_memory = true;
  EXPECT_EQ(judge_ended(look, steps(1, 0.1), 6).outcome, TrialOutcome::out_of_memory);
  TrialReading said = steps(0, 0);
  said.out_of_memory = true;
  EXPECT_EQ(judge_ended(over(), said, 6).outcome, TrialOutcome::out_of_memory);
}

TEST(TrialVerdict, AnEndHasItsReason) {
  JobLook look = over();
  look.cancelled = true;
  EXPECT_EQ(judge_ended(look, steps(1, 0.1), 6).reason, "by scancel, after 1 of 6 steps");
  look = over();
  look.timed_out = true;
  EXPECT_EQ(judge_ended(look, steps(1, 0.1), 6).outcome, TrialOutcome::hung);
  look = over();
  look.has_code = true;
  look.exit_code = 137;
  TrialReading said = steps(2, 0.1);
  said.last_words = "Killed";
  EXPECT_EQ(judge_ended(look, said, 6).reason,
            "ended by signal 9 (SIGKILL) after 2 of 6 steps: Killed");
}

// A fifth after two steps that count, a tenth after four, unless its own steps differ by more.
TEST(TrialVerdict, ARungStopsWhatIsClearlyBehind) {
  const RunningTimes times{.running = 10, .since_last_step = 1, .limit = 60, .best = 1.0};
  EXPECT_FALSE(judge_running(steps(5, 1.15), 20, times));
  EXPECT_TRUE(judge_running(steps(7, 1.15), 20, times));
  EXPECT_FALSE(judge_running(steps(7, 1.08), 20, times));
  EXPECT_TRUE(judge_running(steps(11, 1.08), 20, times));
  TrialReading uneven = steps(7, 1.15);
  uneven.seconds = 1.21;  // its median: 5% over its fastest
  EXPECT_FALSE(judge_running(uneven, 20, times));
  EXPECT_EQ(steps_until_stopped(1.5, 10), 5);
  EXPECT_EQ(steps_until_stopped(1.15, 10), 7);
  EXPECT_EQ(steps_until_stopped(1.05, 10), 10);
}

TEST(TrialVerdict, ATrialThatIsClearlyBehindIsStopped) {
  const RunningTimes times{.running = 10, .since_last_step = 1, .limit = 60, .best = 1.0};
  EXPECT_FALSE(judge_running(steps(4, 2.0), 10, times));  // one step after the first three
  EXPECT_FALSE(judge_running(steps(5, 1.19), 10, times));
  const auto verdict = judge_running(steps(5, 1.5), 10, times);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->outcome, TrialOutcome::behind);
  EXPECT_THAT(verdict->reason, HasSubstr("1.50 times the best"));
  EXPECT_FALSE(judge_running(steps(10, 1.5), 10, times));  // it is done, anyway
}

TEST(TrialVerdict, OneThatTakesTooLongHangs) {
  const RunningTimes times{.running = 61, .since_last_step = 50, .limit = 60, .best = {}};
  const auto verdict = judge_running(steps(3, 1), 10, times);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->outcome, TrialOutcome::hung);
  EXPECT_EQ(verdict->reason, "3 of 10 steps in 61 s, nothing new for 50 s");
}

}  // namespace
}  // namespace pleat
