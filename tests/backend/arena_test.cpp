// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The arena counts what was asked for, and nothing else.
#include "backend/runtime/arena.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "backend/runtime/slab.hpp"
#include "kernels/host_device.hpp"

namespace pleat {
namespace {

TEST(Arena, CountsRequestedBytesLiveAndPeak) {
  Arena arena(false);
  Block a = arena.allocate(100);
  {
    const Block b = arena.allocate(7);
    EXPECT_EQ(arena.live(), 107);
  }
  EXPECT_EQ(arena.live(), 100);
  const Block c = arena.allocate(3);
  EXPECT_EQ(arena.live(), 103);
  EXPECT_EQ(arena.peak(), 107);
  a = Block();
  EXPECT_EQ(arena.live(), 3);
}

TEST(Arena, MovingABlockKeepsOneOwner) {
  Arena arena(false);
  Block a = arena.allocate(64);
  std::byte* const data = a.data();
  Block b = std::move(a);
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(arena.live(), 64);
  b = arena.allocate(32);
  EXPECT_EQ(b.bytes(), 32);
}

TEST(Arena, AlignsAndHandsOutDistinctMemory) {
  Arena arena(false);
  const Block a = arena.allocate(1), b = arena.allocate(1), none = arena.allocate(0);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 64, 0U);
  EXPECT_NE(a.data(), b.data());
  EXPECT_EQ(none.bytes(), 0);
  EXPECT_EQ(arena.live(), 2);
}

// What is freed serves requests of the same memory only, all of it counts.
TEST(Arena, TakesBlocksOfAnotherMemory) {
  Slab slab(plain_memory(), 600, plain_memory());
  Arena arena(false);
  const std::span<std::byte> whole = slab.whole();
  std::byte* other = nullptr;
  {
    const Block a = arena.allocate(100), b = arena.allocate(100, slab),
                c = arena.allocate(10, slab);
    EXPECT_EQ(b.data(), whole.data());
    EXPECT_EQ(c.data() - whole.data(), 256);
    EXPECT_EQ(arena.live(), 210);
    other = a.data();
  }
  const Block again = arena.allocate(100, slab), elsewhere = arena.allocate(100);
  EXPECT_EQ(again.data(), whole.data());
  EXPECT_EQ(elsewhere.data(), other);
  // The slab is full: blocks come from beyond, and go back there.
  const Block beyond = arena.allocate(100, slab);
  EXPECT_TRUE(beyond.data() < whole.data() || beyond.data() >= whole.data() + whole.size());
}

// In whatever order memory was freed before: what was captured into a graph can run again.
TEST(Arena, GivesTheSameAddressesToTheSameRequests) {
  Arena arena(false);
  const auto step = [&](bool first_goes_first) {
    Block a = arena.allocate(100), b = arena.allocate(100), c = arena.allocate(100);
    const std::vector<std::byte*> addresses{a.data(), b.data(), c.data()};
    if (first_goes_first) a = Block();
    c = Block();
    b = Block();
    return addresses;
  };
  static_cast<void>(step(true));
  const std::vector<std::byte*> addresses = step(false);
  EXPECT_EQ(step(true), addresses);
  EXPECT_EQ(step(true), addresses);
}

TEST(Arena, ReusesFreedMemoryOfNearlyTheSameSize) {
  Arena arena(false);
  std::byte* first = nullptr;
  {
    const Block a = arena.allocate(1'000'000);
    first = a.data();
  }
  const Block b = arena.allocate(990'000);
  EXPECT_EQ(b.data(), first);
  EXPECT_EQ(arena.live(), 990'000);
}

TEST(Arena, PoisonsNewAndReusedStorage) {
  Arena arena(true);
  for (int round = 0; round < 2; ++round) {
    const Block a = arena.allocate(4 * 33);
    float* values = reinterpret_cast<float*>(a.data());
    for (int i = 0; i < 33; ++i) EXPECT_TRUE(std::isnan(values[i])) << i;
    std::memset(a.data(), 0, 4 * 33);
  }
}

}  // namespace
}  // namespace pleat
