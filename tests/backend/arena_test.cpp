// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The arena counts what was asked for, and nothing else.
#include "backend/runtime/arena.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

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
  const Block last = arena.allocate(10, slab), beyond = arena.allocate(100, slab);
  EXPECT_EQ(last.data() - whole.data(), 256);
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

// Segments of 2 MiB, whose blocks are joined again in whatever order they go.
TEST(Arena, JoinsFreeNeighbours) {
  constexpr std::int64_t kPart = 1 << 19;
  for (const std::vector<std::size_t>& order :
       {std::vector<std::size_t>{0, 1, 2, 3}, {3, 2, 1, 0}, {0, 2, 1, 3}, {1, 3, 0, 2}}) {
    Arena arena(false);
    std::vector<Block> parts;
    for (int i = 0; i < 4; ++i) parts.push_back(arena.allocate(kPart));
    EXPECT_EQ(arena.taken(), 4 * kPart);
    for (const std::size_t i : order) parts[i] = Block();
    const Block whole = arena.allocate(4 * kPart);
    EXPECT_EQ(arena.taken(), 4 * kPart);
  }
}

// Whatever sizes change, those of others are where they were.
TEST(Arena, KeepsChangingSizesApart) {
  Arena arena(false);
  const auto step = [&](std::int64_t rows) {
    const Block a = arena.allocate(1000), routed = arena.allocate(rows, true);
    const Block b = arena.allocate(2000), more = arena.allocate(2 * rows, true);
    const Block c = arena.allocate(3000);
    return std::vector{a.data(), b.data(), c.data()};
  };
  const auto addresses = step(70'000);
  EXPECT_EQ(step(1'000'000), addresses);
  EXPECT_EQ(step(300), addresses);
}

// Memory that gives its pieces the other way round.
class Downwards final : public Memory {
 public:
  explicit Downwards(std::size_t bytes) : bytes_(bytes), end_(bytes_.data() + bytes) {}
  std::byte* allocate(std::int64_t bytes) override { return end_ -= bytes; }
  void release(std::byte*) noexcept override {}
  void fill(std::byte* data, int byte, std::int64_t bytes) override {
    std::memset(data, byte, static_cast<std::size_t>(bytes));
  }

 private:
  std::vector<std::byte> bytes_;
  std::byte* end_;
};

// Whatever is asked for and freed, in any order: blocks keep apart, what is free is whole in the
// end, and memory that lies elsewhere takes as much and repeats.
TEST(Arena, RandomSequencesKeepBlocksApartAndJoinWhatIsFree) {
  struct Live {
    Block block;
    unsigned char mark = 0;
  };
  constexpr std::int64_t kLargest = 3 << 20;
  for (unsigned seed = 0; seed < 10; ++seed) {
    Downwards below(std::size_t{1} << 27U);
    Arena arena(false), other(below, false);
    const auto sequence = [&](Arena& of) {
      std::mt19937 random(seed);
      std::vector<Live> live;
      std::vector<std::uintptr_t> addresses;
      for (int i = 0; i < 150; ++i) {
        if (random() % 2 == 0 || live.empty()) {
          const std::int64_t most = random() % 3 == 0 ? kLargest : 5000;
          const std::int64_t bytes = random() % most;
          const auto mark = static_cast<unsigned char>(random());
          live.push_back({of.allocate(bytes), mark});
          std::byte* const data = live.back().block.data();
          addresses.push_back(reinterpret_cast<std::uintptr_t>(data));
          std::memset(data, mark, static_cast<std::size_t>(bytes));
        } else {
          std::swap(live[random() % live.size()], live.back());
          const Live& gone = live.back();  // still as it was written
          const auto* const data = reinterpret_cast<const unsigned char*>(gone.block.data());
          EXPECT_EQ(std::count(data, data + gone.block.bytes(), gone.mark), gone.block.bytes());
          live.pop_back();
        }
      }
      return addresses;
    };
    for (Arena* const a : {&arena, &other}) static_cast<void>(sequence(*a));
    EXPECT_EQ(arena.taken(), other.taken());
    EXPECT_EQ(arena.live(), 0);
    static_cast<void>(sequence(arena));
    const std::int64_t taken = arena.taken();
    const auto addresses = sequence(arena);
    EXPECT_EQ(arena.taken(), taken);
    EXPECT_EQ(sequence(arena), addresses);
    std::vector<Block> all;  // nothing but whole segments of one, two or more pages is left
    for (std::int64_t left = taken; left > 0;) {
      all.push_back(arena.allocate(std::int64_t{1} << 21U));
      left -= all.back().bytes();
    }
    EXPECT_EQ(arena.taken(), taken);
  }
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
