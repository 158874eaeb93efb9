// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The table of executors: an entry for every kind of operation, whose parts fit together.
#include "backend/execute/op_table.hpp"

#include <gtest/gtest.h>

#include "backend/execute/not_executed.hpp"

namespace pleat::execute {
namespace {

TEST(OpTable, EveryKindIsExecutedUnlessItIsPricedAlone) {
  for (std::size_t i = 0; i < kOpKinds; ++i) {
    const auto kind = static_cast<OpKind>(i);
    const OpEntry& entry = entry_of(kind);
    const bool mixing =
        kind == OpKind::token_mixing || kind == OpKind::token_mixing_bwd ||
        kind == OpKind::selected_attention || kind == OpKind::selected_attention_bwd;
    ASSERT_NE(entry.run, nullptr) << name_of(kind);
    EXPECT_EQ(entry.run == &not_executed, mixing) << name_of(kind);
  }
}

TEST(OpTable, WhatTellsTheHostSaysWhetherItWaits) {
  for (std::size_t i = 0; i < kOpKinds; ++i) {
    const OpEntry& entry = entry_of(static_cast<OpKind>(i));
    EXPECT_EQ(entry.learn == nullptr, entry.learn_waits == nullptr) << i;
    EXPECT_EQ(entry.hosts_rows == nullptr, entry.fill == nullptr) << i;
  }
}

TEST(OpTable, NoGraphHasWhatOtherRanksOrTheHostTakePartIn) {
  for (std::size_t i = 0; i < kOpKinds; ++i) {
    const auto kind = static_cast<OpKind>(i);
    const OpKind family = family_of(kind);
    const bool moves = family == OpKind::offload || family == OpKind::reload;
    if (!is_collective(kind) && !moves) continue;
    EXPECT_EQ(entry_of(kind).repeats, nullptr) << name_of(kind);
  }
}

}  // namespace
}  // namespace pleat::execute
