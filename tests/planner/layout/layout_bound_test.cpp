// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Bounds of layouts: against every layout of small interleaved pipelines.
#include "planner/layout/layout_bound.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/layout/layout_pieces.hpp"
#include "planner/layout/min_max_load.hpp"
#include "planner/search/search.hpp"
#include "simulator/layer_library.hpp"
#include "simulator/step_timeline.hpp"
#include "tests/planner/layout/every_layout.hpp"

namespace pleat {
namespace {

using test::CaseMaker;
using test::RandomCase;

TEST(LayoutBound, HoldsForEveryLayoutOfInterleavedPipelines) {
  CaseMaker maker(5);
  int pipelines = 0, paired = 0, prediction = 0, close = 0;
  double tightest = 0;
  for (int i = 0; i < 90; ++i) {
    RandomCase c = test::pipeline_case(maker, i);
    c.config.pin<"micro-batch">() = {1, 2, 4, 8};  // or there would be few microbatches
    SearchResult found;
    try {
      found = search(c, c.config);
    } catch (const ConfigError&) {
      continue;  // the case has no such pipeline
    }
    if (found.best.empty()) continue;
    const Plan& plan = found.best.front().plan;
    Profile burst = c.profile;
    burst.sustained_clock.duty_slope = 0;
    const Estimator estimator(c.model, c.workload, c.cluster, burst, c.config.runtime);
    Seconds least(1e9);
    test::for_each_layout(c, plan, [&](const Plan& tried) {
      least = std::min(least, estimator(tried).step);
    });
    const LayoutBound bound =
        layout_bound(c, c.config, plan);
    EXPECT_EQ(bound.own.base(), estimator(plan).step.base());
    EXPECT_LE(bound.least.base(), least.base() * (1 + 1e-9)) << summary(plan);
    EXPECT_GE(bound.gap() + 1e-9, 1 - least / bound.own) << summary(plan);
    tightest = std::max(tightest, bound.least / least);
    ++pipelines;
    paired += plan.overlap.expert_parallel;
    prediction += c.model.mtp_layers > 0;
    close += bound.least > 0.9 * least;
  }
  EXPECT_GT(pipelines, 20);
  EXPECT_GT(paired, 3);
  EXPECT_GT(prediction, 2);
  EXPECT_GT(tightest, 0.97);
  EXPECT_GT(3 * close, pipelines) << close << " of " << pipelines;
}

TEST(LayoutPieces, GetNoMoreOfAPairThanItTakes) {
  CaseMaker maker(11);
  int pairs = 0, shorter = 0, exact = 0;
  for (int i = 0; i < 60; ++i) {
    const RandomCase c = test::pipeline_case(maker, 6 * i + i % 3 * 2);
    SearchResult found;
    try {
      found = search(c, c.config);
    } catch (const ConfigError&) {
      continue;
    }
    if (found.best.empty() || !found.best.front().plan.overlap.expert_parallel) continue;
    const Estimator estimator(c.model, c.workload, c.cluster, c.profile, c.config.runtime);
    const Plan plan = with_like_layers(found.best.front().plan);
    const PlanParts parts = estimator.parts(plan);
    const LayoutPieces pieces = pieces_of(c.model, c.workload, plan, parts, c.profile);
    const auto variant = [&](std::int64_t l) { return decoder_variant(c.model, c.workload, l); };
    const auto time = [&](std::int64_t l) {
      return pieces.pieces.free[pieces.kinds[static_cast<std::size_t>(l)]].time;
    };
    for (std::int64_t f = 0; f < c.model.layers; ++f) {
      for (std::int64_t b = 0; b < c.model.layers; ++b) {
        const Seconds pair =
            parts.library->pair(variant(f), variant(b), kClockSteps, c.profile).time;
        const Seconds shared =
            time(f)[PieceUse::pair_forward] + time(b)[PieceUse::pair_backward];
        EXPECT_LE(shared.base(), pair.base() * (1 + 1e-9)) << summary(plan);
        ++pairs;
        shorter += pair < time(f)[PieceUse::forward] + time(b)[PieceUse::backward];
        exact += shared >= pair * (1 - 1e-9);
      }
    }
  }
  EXPECT_GT(shorter, 0) << pairs;
  EXPECT_GT(2 * exact, pairs) << exact << " of " << pairs;
}

// The largest of the sums with so many layers of each kind on each rank.
Seconds largest(const std::vector<RankLoad>& sums, const std::vector<std::vector<int>>& layers) {
  Seconds most;
  for (const RankLoad& s : sums) {
    Seconds sum = s.fixed;
    for (std::size_t r = 0; r < layers.size(); ++r) {
      for (std::size_t k = 0; k < layers[r].size(); ++k) sum += s.weight[r][k] * layers[r][k];
    }
    most = std::max(most, sum);
  }
  return most;
}

TEST(RankLoads, AreTheBestOfAllWaysToDealOutLayers) {
  std::mt19937 random(3);
  const auto draw = [&](int most) {
    return static_cast<int>(random() % static_cast<unsigned>(most));
  };
  for (int i = 0; i < 200; ++i) {
    const int sets = 1 + i % 2;
    std::vector<RankLoad> sums(static_cast<std::size_t>(3 * sets));
    for (std::size_t s = 0; s < sums.size(); ++s) {
      sums[s].fixed = Seconds(draw(10));
      for (std::size_t r = 0; r < 3; ++r) {
        const int own = s % 3 == r ? 20 : 0;
        sums[s].weight.push_back({Seconds(own + draw(8)), Seconds(own / 2 + draw(4))});
      }
    }
    const std::vector<int> counts{4 + draw(4), draw(3)};
    Seconds best(1e9);
    for (int a = 0; a <= counts[0]; ++a) {
      for (int b = 0; a + b <= counts[0]; ++b) {
        for (int d = 0; d <= counts[1]; ++d) {
          for (int e = 0; d + e <= counts[1]; ++e) {
            best = std::min(
                best, largest(sums, {{a, d}, {b, e}, {counts[0] - a - b, counts[1] - d - e}}));
          }
        }
      }
    }
    EXPECT_EQ(min_max_load(sums, counts, Seconds(0), Seconds(1e6)).base(), best.base());
    EXPECT_EQ(min_max_load(sums, counts, Seconds(0), best * 0.9).base(), best.base() * 0.9);
    EXPECT_LE(min_max_load(sums, counts, best * 0.99995, Seconds(1e6)), best);
  }
}

}  // namespace
}  // namespace pleat
