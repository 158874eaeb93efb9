// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/visible_keys.hpp"

#include <gtest/gtest.h>

namespace pleat::cuda {
namespace {

using Ranges = std::vector<std::array<std::int32_t, 2>>;

std::optional<VisibleSequences> sequences(const Ranges& r, std::int64_t batch) {
  return as_sequences(reinterpret_cast<const std::int32_t(*)[2]>(r.data()), batch,
                      static_cast<std::int64_t>(r.size()) / batch);
}

TEST(VisibleSequences, CausalRunsAreSequences) {
  const auto s = sequences({{0, 1}, {0, 2}, {0, 1}, {0, 2}}, 2);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->first, (std::vector<std::int32_t>{0, 2, 4}));
  EXPECT_EQ(s->longest, 2);
  EXPECT_EQ(s->window, 0);
}

TEST(VisibleSequences, DocumentsAndAWindow) {
  const auto s = sequences({{0, 1}, {0, 2}, {1, 3}, {3, 4}, {3, 5}, {4, 6}, {6, 7}}, 1);
  ASSERT_TRUE(s);
  EXPECT_EQ(s->first, (std::vector<std::int32_t>{0, 3, 6, 7}));
  EXPECT_EQ(s->longest, 3);
  EXPECT_EQ(s->window, 2);
}

TEST(VisibleSequences, NothingElse) {
  EXPECT_FALSE(sequences({{0, 2}, {0, 2}}, 1)) << "a query sees what is behind it";
  EXPECT_FALSE(sequences({{0, 0}, {0, 1}}, 1)) << "a query sees nothing of itself";
  EXPECT_FALSE(sequences({{0, 1}, {0, 2}, {1, 3}, {0, 4}}, 1)) << "a window that opens again";
  EXPECT_FALSE(sequences({{0, 1}, {0, 2}, {1, 3}, {2, 4}, {0, 1}, {0, 2}, {0, 3}, {0, 4}}, 2))
      << "a window in one sequence only";
  EXPECT_FALSE(sequences({{0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 1}, {0, 2}, {1, 3}, {2, 4}}, 2));
}

}  // namespace
}  // namespace pleat::cuda
