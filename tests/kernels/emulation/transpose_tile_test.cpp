// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Tiles of codes from rows to columns, whole and cut off, and the banks of shared memory they go
// through.
#include "kernels/cuda/transpose_tile.cuh"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace pleat::cuda {
namespace {

std::uint8_t code(const std::vector<std::uint8_t>& codes, int bits, std::int64_t at) {
  if (bits == 8) return codes[static_cast<std::size_t>(at)];
  return static_cast<std::uint8_t>(codes[static_cast<std::size_t>(at / 2)] >> 4 * (at % 2) & 15);
}

// Columns of a tile whose rows and columns end at `rows` and `cols`.
template <class Turned>
void expect_turned(int bits, std::int64_t rows, std::int64_t cols) {
  SCOPED_TRACE(testing::Message() << bits << " bits, " << rows << " x " << cols);
  constexpr std::int64_t kCols = 160;
  std::mt19937 random(7);
  // 16-byte aligned, and not a byte longer than what may be read.
  const std::int64_t ld = kCols * bits / 8, bytes = (rows - 1) * ld + cols * bits / 8;
  std::vector<std::uint8_t> from(static_cast<std::size_t>(bytes));
  for (std::uint8_t& byte : from) byte = static_cast<std::uint8_t>(random());
  std::vector<std::uint8_t> to(kTurnTile * kTurnTile * bits / 8, 255);
  emulation::run({1, 1, 1}, kThreads, 0, [&] {
    alignas(16) static std::uint32_t tile[Turned::kWords];
    Turned::read(from.data(), ld, rows, cols, tile);
    __syncthreads();
    store_turned<Turned>(tile, [&](int column, int row, uint4 pack) {
      std::memcpy(&to[static_cast<std::size_t>((column * kTurnTile + row) * bits / 8)], &pack, 16);
    });
  });
  int wrong = 0;
  for (std::int64_t c = 0; c < kTurnTile; ++c) {
    for (std::int64_t r = 0; r < kTurnTile; ++r) {
      const int want = r < rows && c < cols ? code(from, bits, r * kCols + c) : 0;
      wrong += want != code(to, bits, c * kTurnTile + r);
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST(TransposeTile, TurnsWholeTilesAndWhatIsLeft) {
  for (const std::int64_t cols : {128, 112, 64, 16}) {
    for (const std::int64_t rows : {128, 127, 65, 48, 3, 1}) {
      expect_turned<TurnedBytes>(8, rows, cols);
      if (rows % 8 == 0) expect_turned<TurnedHalfBytes>(4, rows, cols);
    }
  }
}

// Where each thread of a block writes, in order.
struct Recorder {
  std::vector<int>* places;
  std::uint32_t& operator[](int at) const {
    static std::uint32_t word;
    places[threadIdx.x].push_back(at);
    return word;
  }
};

template <class Turned>
void expect_no_conflicts() {
  std::vector<std::uint8_t> from(kTurnTile * kTurnTile);
  std::vector<int> places[kThreads];
  emulation::run({1, 1, 1}, kThreads, 0,
                 [&] { Turned::read(from.data(), kTurnTile, 128, 128, Recorder{places}); });
  std::set<int> all;
  for (int warp = 0; warp < kThreads; warp += kWarp) {
    for (std::size_t i = 0; i < places[0].size(); ++i) {
      std::set<int> banks;
      for (int lane = 0; lane < kWarp; ++lane) {
        banks.insert(places[warp + lane][i] % 32);
        all.insert(places[warp + lane][i]);
      }
      EXPECT_EQ(banks.size(), 32U) << "warp " << warp << ", word " << i;
    }
  }
  EXPECT_EQ(all.size(), kTurnTile * 4U * Turned::kPacks);  // no word twice
  EXPECT_LT(*all.rbegin(), Turned::kWords);
  for (int i = 0; i < kTurnTile * Turned::kPacks; i += 8) {  // 8 lanes read 128 bytes at once
    std::set<int> banks;
    for (int lane = i; lane < i + 8; ++lane) {
      const int at = Turned::pack_at(lane / Turned::kPacks, lane % Turned::kPacks);
      EXPECT_EQ(at % 4, 0);
      banks.insert(at % 32);
    }
    EXPECT_EQ(banks.size(), 8U) << "pack " << i;
  }
}

TEST(TransposeTile, KeepsOutOfEachOthersBanks) {
  expect_no_conflicts<TurnedBytes>();
  expect_no_conflicts<TurnedHalfBytes>();
}

}  // namespace
}  // namespace pleat::cuda
