// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Families of operation kinds: what a kind is taken for where only messages, prices and printed
// names count.
#include <gtest/gtest.h>

#include "core/program/op.hpp"

namespace pleat {
namespace {

TEST(OpFamilies, AFamilyIsOfItselfAndSharesNameAndFacts) {
  for (std::size_t i = 0; i < kOpKinds; ++i) {
    const auto kind = static_cast<OpKind>(i);
    const OpKind family = family_of(kind);
    EXPECT_EQ(family_of(family), family) << i;
    EXPECT_NE(name_of(kind), "?") << i;
    EXPECT_EQ(name_of(kind), name_of(family)) << i;
    EXPECT_EQ(is_collective(kind), is_collective(family)) << i;
    EXPECT_EQ(is_in_place(kind), is_in_place(family)) << i;
  }
}

TEST(OpFamilies, KindsOfOneNameAreOfOneFamily) {
  for (std::size_t i = 0; i < kOpKinds; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const auto a = static_cast<OpKind>(i), b = static_cast<OpKind>(j);
      EXPECT_EQ(name_of(a) == name_of(b), family_of(a) == family_of(b)) << name_of(a);
    }
  }
}

}  // namespace
}  // namespace pleat
