// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Trials on disk: they come back as they went in, a crash between two calls loses nothing, and what
// is not a file of these trials is refused.
#include "application/tune/trial_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

const TuningFacts kFacts{{"model", "tiny-moe"}, {"gpus", "4"}};

class TrialStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "pleat-trials-" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
    file_ = folder_ + "/tune.sqlite";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_, file_;
};

Trial some_trial(int number) {
  Trial t;
  t.number = number;
  t.plan = "{\"plan\": " + std::to_string(number) + "}";
  t.why = "the shortest 'prediction'; --";
  t.predicted = 0.125;
  t.expected = 0.25;
  t.low = 0.2;
  t.high = 0.3;
  t.predicted_bytes = std::int64_t{1} << 40;
  return t;
}

ExitCode code_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const ConfigError& e) {
    return e.exit_code();
  }
  return ExitCode::done;
}

TEST_F(TrialStoreTest, GivesBackWhatWasPut) {
  Trial t = some_trial(1);
  {
    TrialStore store(file_, kFacts);
    store.put(t);
    t.state = TrialState::over;
    t.outcome = TrialOutcome::out_of_memory;
    t.reason = "after 0 of 6 steps";
    t.job = "4711:12";
    t.steps = 3;
    t.seconds = 1.0 / 3;
    t.bytes = 12345678901;
    t.started = 1e9 + 0.25;
    t.ended = 2e9;
    store.put(t);
    store.put(some_trial(2));
    store.remove(2);
    store.set_seconds_used(12.5);
  }
  const TrialStore store(file_, kFacts);
  ASSERT_EQ(store.trials().size(), 1u);
  const Trial back = store.trials().front();
  EXPECT_EQ(back.plan, t.plan);
  EXPECT_EQ(back.why, t.why);
  EXPECT_EQ(back.job, t.job);
  EXPECT_EQ(back.state, t.state);
  EXPECT_EQ(back.outcome, t.outcome);
  EXPECT_EQ(back.reason, t.reason);
  EXPECT_EQ(back.seconds, t.seconds);
  EXPECT_EQ(back.predicted_bytes, t.predicted_bytes);
  EXPECT_EQ(back.bytes, t.bytes);
  EXPECT_EQ(back.started, t.started);
  EXPECT_EQ(store.seconds_used(), 12.5);
}

TEST_F(TrialStoreTest, APlanIsTriedOnce) {
  TrialStore store(file_, kFacts);
  store.put(some_trial(1));
  Trial same = some_trial(1);
  same.number = 2;
  EXPECT_NE(code_of([&] { store.put(same); }), ExitCode::done);
  EXPECT_EQ(store.trials().size(), 1u);
}

TEST_F(TrialStoreTest, WhatWasPutIsThereAfterAKill) {
  const pid_t child = fork();
  if (child == 0) {
    TrialStore store(file_, kFacts);
    store.put(some_trial(1));
    store.put(some_trial(2));
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(TrialStore(file_, kFacts).trials().size(), 2u);
}

TEST_F(TrialStoreTest, OtherFilesAreRefusedAndStayAsTheyAre) {
  { const TrialStore store(file_, kFacts); }
  EXPECT_EQ(code_of([&] {
              TrialStore(file_, {{"model", "tiny-moe"}, {"gpus", "8"}});
            }),
            ExitCode::verification);
  const std::string text = folder_ + "/text";
  std::ofstream(text) << std::string(5000, 'x');
  EXPECT_EQ(code_of([&] { TrialStore(text, kFacts); }), ExitCode::bad_file);
  EXPECT_EQ(std::filesystem::file_size(text), 5000u);
  EXPECT_EQ(code_of([&] { TrialStore(folder_ + "/none/tune.sqlite", kFacts); }),
            ExitCode::device_or_io);
}

TEST_F(TrialStoreTest, ReadingMakesNoFile) {
  EXPECT_TRUE(TrialStore::read(file_, kFacts).empty());
  EXPECT_FALSE(std::filesystem::exists(file_));
}

}  // namespace
}  // namespace pleat
