// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "simulator/known.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace pleat {
namespace {

struct Unmovable {
  explicit Unmovable(int n) : number(n) {}
  Unmovable(const Unmovable&) = delete;
  Unmovable& operator=(const Unmovable&) = delete;
  int number;
};

TEST(Known, ValuesAreMadeOnceAndStayWhereTheyAre) {
  Known<int, Unmovable, std::hash<int>> squares;
  int made = 0;
  const auto square = [&](int n) -> Unmovable& {
    return squares.get(n, [&] {
      ++made;
      return Unmovable(n * n);
    });
  };
  std::vector<const Unmovable*> first;
  for (int n = 0; n < 5000; ++n) first.push_back(&square(n));
  for (int n = 0; n < 5000; ++n) {
    EXPECT_EQ(&square(n), first[static_cast<std::size_t>(n)]);
    EXPECT_EQ(square(n).number, n * n);
  }
  EXPECT_EQ(made, 5000);
  squares.clear();
  EXPECT_EQ(squares.size(), 0u);
  EXPECT_EQ(square(3).number, 9);
}

TEST(Known, ThreadsThatMissAtOnceGetTheSameValue) {
  Known<int, Unmovable, std::hash<int>> values;
  constexpr int kThreads = 4, kKeys = 2000;
  std::vector<std::vector<const Unmovable*>> seen(kThreads);
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int n = 0; n < kKeys; ++n) {
        seen[static_cast<std::size_t>(t)].push_back(
            &values.get(n, [&] { return Unmovable(n); }));
      }
    });
  }
  threads.clear();  // joins them
  for (const auto& own : seen) EXPECT_EQ(own, seen.front());
}

class RecentNumbers {
 public:
  int get(int key) {
    return *numbers_.get(
        key,
        [&] {
          made_.insert(key);
          return std::make_shared<const int>(key);
        },
        [](int) { return std::size_t{1}; });
  }
  // Whether it must be made anew; then it is.
  bool forgotten(int key) {
    made_.clear();
    EXPECT_EQ(get(key), key);
    return made_.contains(key);
  }

 private:
  Recent<int, int, std::hash<int>> numbers_{100};
  std::set<int> made_;
};

TEST(Recent, WhatIsAskedForStaysAndTheRestIsForgotten) {
  RecentNumbers numbers;
  for (int n = 0; n < 1000; ++n) {
    numbers.get(-1);
    numbers.get(n);
  }
  EXPECT_FALSE(numbers.forgotten(-1));
  EXPECT_FALSE(numbers.forgotten(999));
  EXPECT_TRUE(numbers.forgotten(500));
}

}  // namespace
}  // namespace pleat
