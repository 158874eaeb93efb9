// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Two runs to the bit: what they computed, what they measured, the memory they took.
#pragma once

#include "tests/backend/train_runs.hpp"

namespace pleat::test {

// The rows that were routed; how many of padded experts' are tokens', where both have counted them,
// which a graph does not.
inline void expect_same_rows(const RankMeasurement& there, const RankMeasurement& here) {
  ASSERT_EQ(there.routed.size(), here.routed.size());
  for (auto [where, rows] : there.routed) {
    Binding want = here.routed.at(where);
    if (rows.kept < 0 || want.kept < 0) rows.kept = want.kept = -1;
    EXPECT_EQ(rows, want) << "microbatch " << where.first << ", layer " << where.second;
  }
}

inline void expect_same(const TrainResult& there, const TrainResult& here) {
  ASSERT_EQ(there.steps.size(), here.steps.size());
  for (std::size_t s = 0; s < here.steps.size(); ++s) {
    EXPECT_EQ(there.steps[s].loss, here.steps[s].loss) << s;
    EXPECT_EQ(there.steps[s].grad_norm, here.steps[s].grad_norm) << s;
    EXPECT_EQ(there.steps[s].expert_load, here.steps[s].expert_load) << s;
    EXPECT_EQ(there.steps[s].validation_loss, here.steps[s].validation_loss) << s;
  }
  expect_same_bits(there.gradients, here.gradients);
  expect_same_bits(there.weights, here.weights);
  EXPECT_EQ(there.min_router_margin, here.min_router_margin);
  ASSERT_EQ(there.ranks.size(), here.ranks.size());
  for (std::size_t r = 0; r < here.ranks.size(); ++r) {
    EXPECT_EQ(there.ranks[r].peak_live_bytes, here.ranks[r].peak_live_bytes) << r;
    EXPECT_EQ(there.ranks[r].peak_host_bytes, here.ranks[r].peak_host_bytes) << r;
    expect_same_rows(there.ranks[r], here.ranks[r]);
  }
}

}  // namespace pleat::test
