// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Balanced layouts against all contiguous partitions, and FLOPs by hand.
#include "planner/layout/stage_balance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "planner/space/mesh_space.hpp"
#include "tests/planner/search/small_case.hpp"

namespace pleat {
namespace {

TEST(ForwardFlops, DenseAndMoeLayerByHand) {
  const ForwardFlops f = forward_flops(test::small_model(), 128);
  // qkv 256*(8+8)*32, out 256*256, two FLOPs a weight; scores and values 128*8*64 (causal half).
  const double attention = 2 * (256 * 512 + 256 * 256) + 128 * 8 * 64;
  EXPECT_DOUBLE_EQ(f.dense_layer.base(), attention + 2 * 3 * 256 * 1024);
  EXPECT_DOUBLE_EQ(f.moe_layer.base(), attention + 2 * 3 * 256 * (2 * 256 + 256));
  EXPECT_DOUBLE_EQ(f.head.base(), 2 * 256 * 1024);
  EXPECT_DOUBLE_EQ(f.mtp.base(), 0);
}

// The smallest bottleneck over all ways to cut the pieces t…tL into `stages` non-empty runs.
double brute_force(const ModelSpec& model, std::int64_t seq, int stages) {
  const ForwardFlops f = forward_flops(model, seq);
  std::vector<double> cost;
  for (std::int64_t l = 0; l < model.layers; ++l) {
    cost.push_back((model.is_moe(l) ? f.moe_layer : f.dense_layer).base());
  }
  cost.push_back(f.head.base());
  std::function<double(std::size_t, int)> best = [&](std::size_t from, int left) {
    double sum = 0, least = 1e300;
    if (left == 1) {
      for (std::size_t i = from; i < cost.size(); ++i) sum += cost[i];
      return sum;
    }
    for (std::size_t end = from + 1; end + static_cast<std::size_t>(left) - 1 <= cost.size();
         ++end) {
      sum += cost[end - 1];
      least = std::min(least, std::max(sum, best(end, left - 1)));
    }
    return least;
  };
  return best(0, stages);
}

TEST(BalancedLayout, SmallestBottleneckOfAllContiguousPartitions) {
  for (std::int64_t vocab : {16, 1024, 20000}) {
    ModelSpec model = test::small_model();
    model.vocab = vocab;
    const ForwardFlops f = forward_flops(model, 128);
    for (int stages : {1, 2, 3, 4, 5, 6, 7}) {
      const auto layout = balanced_layout(model, 128, stages, 1);
      ASSERT_EQ(layout.size(), static_cast<std::size_t>(stages));
      EXPECT_DOUBLE_EQ(bottleneck(layout, model, f).base(), brute_force(model, 128, stages))
          << vocab << " " << stages;
      EXPECT_EQ(layout, parse_layout(to_layout_string(layout), 6, false, stages, 1));
    }
  }
}

TEST(BalancedLayout, LargeHeadGetsItsOwnStage) {
  ModelSpec model = test::small_model();
  model.vocab = 100000;
  EXPECT_EQ(to_layout_string(balanced_layout(model, 128, 2, 1)), "Et*6|L");
}

TEST(LayoutChoices, OddLayerCountIsWrittenOut) {
  ModelSpec model = test::small_model();
  model.layers = 7;
  model.moe_layer.assign(7, true);
  model.vocab = 16;
  // 7 layers over 2 stages: even_layout gives the extra one to the second; balanced has no smaller
  // bottleneck, for one stage must hold four layers.
  const auto choices = layout_choices(model, 128, 2, 1);
  ASSERT_EQ(choices.size(), 2u);  // four layers without the head beat four with it
  EXPECT_EQ(choices[0], "Et*3|t*4L");
  EXPECT_EQ(choices[1], "Et*4|t*3L");
  EXPECT_EQ(layout_choices(model, 128, 1, 1), std::vector<std::string>{""});
}

}  // namespace
}  // namespace pleat
