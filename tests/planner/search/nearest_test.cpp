// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The plans that miss least where nothing fits.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/diagnostics.hpp"
#include "planner/search/search.hpp"
#include "planner/space/mesh_space.hpp"
#include "tests/planner/search/random_case.hpp"

namespace pleat {
namespace {

using test::CaseMaker;
using test::RandomCase;

// Bytes; 0: no valid plan.
std::int64_t nearest_peak(const RandomCase& c, const SearchConfig& config) {
  try {
    const SearchResult found = search(c, config);
    EXPECT_TRUE(found.best.empty());
    return found.nearest.empty() ? 0 : found.nearest.front().estimate.peak_bytes();
  } catch (const ConfigError&) {
    return 0;
  }
}

// Whether the space without the pin has the meshes that it leaves: a pinned degree is taken as it
// is.
bool part_of(const RandomCase& c, const SearchConfig& pinned) {
  const auto valid = [&](const SearchConfig& config) {
    return enumerate_meshes(c, config).meshes;
  };
  const std::vector<Mesh> all = valid(c.config);
  return std::ranges::all_of(valid(pinned), [&](const Mesh& m) {
    return std::ranges::any_of(all, [&](const Mesh& other) {
      return m.attention == other.attention && m.expert == other.expert && m.vpp == other.vpp;
    });
  });
}

// Smaller degrees shard state less, and the CPU's step or the state's way back exclude some
// shardings: what a mesh's bound takes for the least is often no plan.
TEST(Nearest, NoPinsFindANearerPlan) {
  CaseMaker maker(31);
  int pinned = 0;
  for (int i = 0; i < 25; ++i) {
    RandomCase c = maker.make(800);
    c.cluster.gpu.memory = Bytes(1e3);
    SCOPED_TRACE(i);
    const std::int64_t nearest = nearest_peak(c, c.config);
    EXPECT_GT(nearest, 0);
    for (const auto pin_of : {+[](SearchConfig& s) { return &s.pin<"tp">(); },
                              +[](SearchConfig& s) { return &s.pin<"pp">(); },
                              +[](SearchConfig& s) { return &s.pin<"ep">(); }}) {
      for (const int degree : {1, 2, 4, 8}) {
        SearchConfig config = c.config;
        if (!pin_of(config)->empty()) continue;
        *pin_of(config) = degree;
        if (!part_of(c, config)) continue;
        const std::int64_t peak = nearest_peak(c, config);
        if (peak == 0) continue;
        EXPECT_LE(nearest, peak) << degree;
        ++pinned;
      }
    }
  }
  EXPECT_GT(pinned, 50);
}

}  // namespace
}  // namespace pleat
