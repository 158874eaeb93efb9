// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/backend/checkpoint/round_trips_test.hpp"

namespace pleat::test {
namespace {

TEST(RoundTripsSlow, KeepEveryBit) {
  int exported = 0;
  for (unsigned seed = 1000; seed < 1300; ++seed) {
    const RoundTrip t = round_trip_of(seed);
    exported += t.family.empty() ? 0 : 1;
    expect_round_trip(t);
  }
  EXPECT_GE(exported, 100);
}

}  // namespace
}  // namespace pleat::test
