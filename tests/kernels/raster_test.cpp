// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The order of tiles against what an L2 of limited size would have to read from memory.
#include "kernels/cuda/raster.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <set>
#include <utility>

namespace pleat::cuda {
namespace {

// Panels of operands (a tile's rows of A, or columns of B, over all of K) in an L2 that forgets
// what was used the longest ago.
class L2 {
 public:
  explicit L2(double bytes) : room_(bytes) {}
  void use(std::pair<char, std::int64_t> panel, double bytes) {
    const auto at = places_.find(panel);
    if (at != places_.end()) {
      order_.splice(order_.begin(), order_, at->second);
      return;
    }
    read_ += bytes;
    order_.push_front({panel, bytes});
    places_[panel] = order_.begin();
    for (held_ += bytes; held_ > room_; order_.pop_back()) {
      held_ -= order_.back().second;
      places_.erase(order_.back().first);
    }
  }
  [[nodiscard]] double read() const { return read_; }

 private:
  using Panel = std::pair<std::pair<char, std::int64_t>, double>;
  double room_, held_ = 0, read_ = 0;
  std::list<Panel> order_;
  std::map<std::pair<char, std::int64_t>, std::list<Panel>::iterator> places_;
};

struct Product {
  const char* name;
  std::int64_t m, n, k;
};

// Of one group on an H100: 132 tiles at once, which go through K together and so read each panel
// that several of them need once between them, and 50 MB of L2 from one such wave to the next.
double bytes_read(const Product& p, Raster order, std::int64_t tile_m, std::int64_t tile_n,
                  double size) {
  constexpr std::int64_t kAtOnce = 132;
  L2 cache(50e6);
  const std::int64_t rows = (p.m + tile_m - 1) / tile_m, columns = (p.n + tile_n - 1) / tile_n;
  const auto k = static_cast<double>(p.k) * size;
  for (std::int64_t first = 0; first < rows * columns; first += kAtOnce) {
    std::set<std::pair<char, std::int64_t>> panels;
    for (std::int64_t i = first; i < std::min(first + kAtOnce, rows * columns); ++i) {
      panels.insert({'A', order == Raster::along_n ? i / columns : i % rows});
      panels.insert({'B', order == Raster::along_n ? i % columns : i / rows});
    }
    for (const auto& panel : panels) {
      const auto [operand, at] = panel;
      const std::int64_t lines = operand == 'A' ? std::min(tile_m, p.m - at * tile_m)
                                                : std::min(tile_n, p.n - at * tile_n);
      cache.use(panel, k * static_cast<double>(lines));
    }
  }
  return cache.read();
}

// Forward, dgrad and wgrad of an expert's first and second product.
constexpr Product kProducts[] = {{"Mixtral fc1", 2048, 28672, 4096},
                                 {"Mixtral fc1 dgrad", 2048, 4096, 28672},
                                 {"Mixtral fc1 wgrad", 28672, 4096, 2048},
                                 {"Mixtral fc2", 2048, 4096, 14336},
                                 {"Mixtral fc2 wgrad", 4096, 14336, 2048},
                                 {"Qwen3-30B fc1", 512, 1536, 2048},
                                 {"Qwen3-30B fc1 wgrad", 1536, 2048, 512},
                                 {"DeepSeek-V3 fc1", 2048, 4096, 7168},
                                 {"DeepSeek-V3 fc1 dgrad", 2048, 7168, 4096},
                                 {"DeepSeek-V3 fc1 wgrad", 4096, 7168, 2048},
                                 {"DeepSeek-V3 fc2 wgrad", 7168, 2048, 2048}};

TEST(Raster, ReadsNoMoreThanTheOtherOrder) {
  for (const Product& p : kProducts) {
    for (const auto& [tile_n, size] : {std::pair<std::int64_t, double>{256, 2}, {128, 1}}) {
      const Raster chosen = raster_of(p.m, p.n, 128, tile_n);
      const Raster other = chosen == Raster::along_m ? Raster::along_n : Raster::along_m;
      const double read = bytes_read(p, chosen, 128, tile_n, size);
      EXPECT_LE(read, bytes_read(p, other, 128, tile_n, size)) << p.name;
    }
  }
}

// Each operand once where the shorter side's is in the L2; CUTLASS's default would read dU (117 MB)
// sixteen times.
TEST(Raster, MixtralsFirstWeightGradientReadsEachOperandOnce) {
  const Product& p = kProducts[2];
  EXPECT_EQ(raster_of(p.m, p.n, 128, 256), Raster::along_n);
  const double a = 2.0 * 28672 * 2048, b = 2.0 * 4096 * 2048;
  EXPECT_DOUBLE_EQ(bytes_read(p, Raster::along_n, 128, 256, 2), a + b);
  EXPECT_GE(bytes_read(p, Raster::along_m, 128, 256, 2), 16 * a + b);
}

}  // namespace
}  // namespace pleat::cuda
