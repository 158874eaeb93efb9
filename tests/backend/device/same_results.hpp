// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Two runs to the bit: what they computed, what they measured, the memory they took.
#pragma once

#include "tests/backend/train_runs.hpp"

namespace pleat::test {

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
    EXPECT_EQ(there.ranks[r].routed, here.ranks[r].routed) << r;
  }
}

}  // namespace pleat::test
