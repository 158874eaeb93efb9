// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Layouts that balance ranks with several chunks, against all ways to share layers out.
#include "planner/layout/rank_balance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "planner/space/mesh_space.hpp"
#include "tests/planner/search/small_case.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kSeqLen = 128;

ModelSpec model_of(std::int64_t layers, std::int64_t vocab) {
  ModelSpec model = test::small_model();
  model.layers = layers;
  model.moe_layer.assign(static_cast<std::size_t>(layers), true);
  model.vocab = vocab;
  return model;
}

// The least that the busiest of `ranks` can have, where one of them has the head beside its layers.
double least_busiest(const ModelSpec& model, int ranks) {
  const ForwardFlops f = forward_flops(model, kSeqLen);
  const std::function<double(int, std::int64_t)> least = [&](int left, std::int64_t layers) {
    if (left == 1) return static_cast<double>(layers) * f.moe_layer.base() + f.head.base();
    double best = 1e300;
    for (std::int64_t n = 0; n <= layers; ++n) {
      best = std::min(best, std::max(static_cast<double>(n) * f.moe_layer.base(),
                                     least(left - 1, layers - n)));
    }
    return best;
  };
  return least(ranks, model.layers);
}

// The FLOPs of the busiest rank, where stage s is on rank s mod pp and all layers are alike.
double busiest(const ModelSpec& model, const std::vector<VirtualStage>& layout, int pp) {
  const ForwardFlops f = forward_flops(model, kSeqLen);
  std::vector<double> of_rank(static_cast<std::size_t>(pp));
  for (std::size_t s = 0; s < layout.size(); ++s) {
    of_rank[s % of_rank.size()] += static_cast<double>(layout[s].layers) * f.moe_layer.base() +
                                   (layout[s].loss ? f.head.base() : 0);
  }
  return std::ranges::max(of_rank);
}

TEST(RankBalance, NoOtherShareOfTheLayersHasALessBusyRank) {
  for (const std::int64_t vocab : {16, 1024, 9000, 30000}) {
    for (const std::int64_t layers : {5, 8, 13, 14}) {
      const ModelSpec model = model_of(layers, vocab);
      for (const int pp : {2, 3, 4}) {
        for (const int vpp : {1, 2, 3}) {
          for (const auto lighter : {LighterChunks::first, LighterChunks::last}) {
            const Schedule order{.pp = pp, .vpp = vpp};
            const auto layout = rank_balanced_layout(model, kSeqLen, order, lighter);
            ASSERT_EQ(layout.size(), static_cast<std::size_t>(pp * vpp));
            EXPECT_EQ(parse_layout(to_layout_string(layout), layers, false, pp, vpp), layout);
            const double most = busiest(model, layout, pp);
            EXPECT_NEAR(most / least_busiest(model, pp), 1, 1e-12)
                << layers << " " << vocab << " " << pp << " " << vpp;
            const ForwardFlops f = forward_flops(model, kSeqLen);
            EXPECT_NEAR(busiest_rank_flops(layout, model, f, order).base() / most, 1, 1e-12);
          }
        }
      }
    }
  }
}

// Seven layers of a rank on three chunks: two of them hold two. Even a small head makes the last
// one lighter.
TEST(RankBalance, TheFirstOrTheLastChunksAreLighter) {
  const ModelSpec model = model_of(14, 16);
  const Schedule order{.pp = 2, .vpp = 3};
  const auto text = [&](LighterChunks lighter) {
    return to_layout_string(rank_balanced_layout(model, kSeqLen, order, lighter));
  };
  EXPECT_EQ(text(LighterChunks::first), "Ett|(tt|)*2(t*3|)*2ttL");
  EXPECT_EQ(text(LighterChunks::last), "Et*3|t*3|(tt|)*3ttL");
}

// In a V the first rank has the first and the last virtual stage, and so the head.
TEST(RankBalance, KnowsWhereTheChunksOfAVLie) {
  const ModelSpec model = model_of(12, 30000);
  const Schedule order{.pp = 2, .vpp = 2, .kind = PipelineSchedule::zb_v};
  const auto layout = rank_balanced_layout(model, kSeqLen, order, LighterChunks::first);
  ASSERT_EQ(layout.size(), 4u);
  EXPECT_LT(layout[0].layers + layout[3].layers, layout[1].layers + layout[2].layers);
}

TEST(RankBalance, NoneWhereAStageIsOnTwoRanks) {
  const Schedule order{.pp = 4, .vpp = 1, .kind = PipelineSchedule::dualpipe};
  EXPECT_TRUE(
      rank_balanced_layout(model_of(8, 16), kSeqLen, order, LighterChunks::first).empty());
}

// A layout that looks at single stages gives some rank more layers than others have.
TEST(LayoutChoices, SeveralChunksAreAlsoBalancedByRank) {
  const ModelSpec model = model_of(27, 16000);
  std::vector<double> loads;
  for (const std::string& text : layout_choices(model, kSeqLen, 4, 4)) {
    loads.push_back(busiest(model, parse_layout(text, 27, false, 4, 4), 4));
  }
  ASSERT_GE(loads.size(), 2u);
  EXPECT_NEAR(loads.back() / least_busiest(model, 4), 1, 1e-12);
  loads.pop_back();
  EXPECT_GT(std::ranges::min(loads), least_busiest(model, 4) * 1.05);
}

}  // namespace
}  // namespace pleat
