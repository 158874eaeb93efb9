// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/parallel_rounds.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <stdexcept>

namespace pleat {
namespace {

using ::testing::Each;

TEST(Workers, TakeEveryIndexOnceInEveryRound) {
  for (const int threads : {1, 2, 3, 5}) {
    Workers workers(threads);
    for (std::size_t count = 0; count < 300; ++count) {
      std::vector<std::atomic<int>> taken(count);
      workers.for_each(count, [&](std::size_t i) { ++taken[i]; });
      const std::vector<int> times(taken.begin(), taken.end());
      ASSERT_THAT(times, Each(1)) << threads << " threads, " << count;
    }
  }
}

// One long piece at the front of a run: what is behind it is taken by the other thread.
TEST(Workers, TakeFromTheRunOfOneThatIsHeldUp) {
  Workers workers(2);
  const auto caller = std::this_thread::get_id();
  std::atomic<std::size_t> others{0};
  std::atomic<bool> held{false};
  workers.for_each(64, [&](std::size_t) {
    if (std::this_thread::get_id() == caller) {
      held = true;
      while (others < 63) std::this_thread::yield();
    } else {
      while (!held) std::this_thread::yield();
      ++others;
    }
  });
  EXPECT_EQ(others, 63U);
}

// Rounds that come late find threads that went to sleep.
TEST(Workers, WakeUpAfterAPause) {
  Workers workers(3);
  std::atomic<int> sum{0};
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    workers.for_each(100, [&](std::size_t i) { sum += static_cast<int>(i); });
  }
  EXPECT_EQ(sum, 20 * 4950);
}

// On another thread as when memory runs out: the caller hears of it, and the program goes on.
TEST(Workers, EndTheRoundWhenWorkFails) {
  const auto caller = std::this_thread::get_id();
  for (const bool on_caller : {true, false}) {
    Workers workers(2);
    std::atomic<bool> failed{false};
    const auto fails = [&](std::size_t) {
      if ((std::this_thread::get_id() == caller) != on_caller) {
        while (!failed) std::this_thread::yield();
      } else {
        failed = true;
        throw std::runtime_error("no");
      }
    };
    EXPECT_THROW(workers.for_each(1000, fails), std::runtime_error);
    std::atomic<int> calls{0};
    workers.for_each(10, [&](std::size_t) { ++calls; });
    EXPECT_EQ(calls, 10);
  }
}

}  // namespace
}  // namespace pleat
