// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search/wide_heap.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <queue>
#include <random>

namespace pleat {
namespace {

TEST(WideHeap, EmptiesInOrderWhateverIsPushedMeanwhile) {
  std::mt19937 random(1);
  WideHeap<int, std::less<>> heap;
  std::priority_queue<int, std::vector<int>, std::greater<>> expected;
  for (int step = 0; step < 20'000; ++step) {
    if (expected.empty() || random() % 3 != 0) {
      const int item = static_cast<int>(random() % 500);
      heap.push(item);
      expected.push(item);
    } else {
      ASSERT_EQ(heap.top(), expected.top()) << step;
      heap.pop();
      expected.pop();
    }
    ASSERT_EQ(heap.empty(), expected.empty());
  }
  for (; !expected.empty(); expected.pop(), heap.pop()) ASSERT_EQ(heap.top(), expected.top());
  EXPECT_TRUE(heap.empty());
}

}  // namespace
}  // namespace pleat
