// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Forced routing and the margin of a routing decision, on values worked out by hand.
#include "backend/routing.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace pleat {
namespace {

View floats(std::vector<float>& v, std::int64_t rows) {
  return {v.data(), DType::fp32, rows, static_cast<std::int64_t>(v.size()) / rows};
}

View integer_view(std::vector<std::int32_t>& v, std::int64_t rows) {
  return {v.data(), DType::i32, rows, static_cast<std::int64_t>(v.size()) / rows};
}

TEST(ForcedTopK, DealsExpertsRoundRobinAndKeepsTheirScores) {
  const RouterShape shape{.experts = 3, .top_k = 2, .scaling = 2.0};
  // Softmax of log(1), log(2), log(5): 1/8, 2/8, 5/8.
  const float one = 0, two = std::log(2.0F), five = std::log(5.0F);
  std::vector<float> logits{one, two, five, one, two, five}, probs(4), scratch;
  std::vector<std::int32_t> experts(4);
  forced_topk(floats(logits, 2), 0, floats(probs, 2), integer_view(experts, 2), shape, scratch);
  EXPECT_EQ(experts, (std::vector<std::int32_t>{0, 1, 2, 0}));
  const float expected[] = {2.0F / 3, 4.0F / 3, 10.0F / 6, 2.0F / 6};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(probs[i], expected[i], 1e-6) << i;
}

TEST(ForcedTopK, GoesOnWhereTheRankBeforeEnded) {
  const RouterShape shape{.experts = 5, .top_k = 2};
  std::vector<float> logits(10), probs(4), scratch;
  std::vector<std::int32_t> experts(4);
  forced_topk(floats(logits, 2), 2, floats(probs, 2), integer_view(experts, 2), shape, scratch);
  EXPECT_EQ(experts, (std::vector<std::int32_t>{4, 0, 1, 2}));
}

TEST(ForcedTopK, DoesNotNormaliseWhenTheModelDoesNot) {
  const RouterShape shape{
      .experts = 2, .top_k = 1, .score = RouterScore::sigmoid, .normalize = false};
  std::vector<float> logits{0, 3}, probs(1), scratch;
  std::vector<std::int32_t> experts(1);
  forced_topk(floats(logits, 1), 0, floats(probs, 1), integer_view(experts, 1), shape, scratch);
  EXPECT_FLOAT_EQ(probs[0], 0.5F);
}

TEST(RouterMargin, IsTheSmallestGapOverAllTokens) {
  const RouterShape shape{.experts = 3, .top_k = 1};
  const float one = 0, two = std::log(2.0F), five = std::log(5.0F);
  std::vector<float> logits{one, two, five, five, one, two}, scratch;
  std::vector<std::int32_t> experts{2, 0};
  EXPECT_NEAR(router_margin(floats(logits, 2), {}, integer_view(experts, 2), shape, scratch), 0.375,
              1e-6);
  std::vector<float> bias{0, 0.25F, 0};
  EXPECT_NEAR(
      router_margin(floats(logits, 2), floats(bias, 1), integer_view(experts, 2), shape, scratch),
      0.125, 1e-6);
}

TEST(RouterMargin, LeavesOutGroupsThatWereNotEligible) {
  const RouterShape shape{
      .experts = 4, .top_k = 1, .groups = 2, .top_groups = 1, .score = RouterScore::sigmoid};
  // Expert 2 is as good as the chosen expert 0, but in the other group.
  std::vector<float> logits{0, -100, 0, 0}, scratch;
  std::vector<std::int32_t> experts{0};
  EXPECT_NEAR(router_margin(floats(logits, 1), {}, integer_view(experts, 1), shape, scratch), 0.5,
              1e-6);
}

TEST(RouterMargin, IsInfiniteWhenEveryExpertIsChosen) {
  const RouterShape shape{.experts = 2, .top_k = 2};
  std::vector<float> logits{1, 2}, scratch;
  std::vector<std::int32_t> experts{1, 0};
  EXPECT_EQ(router_margin(floats(logits, 1), {}, integer_view(experts, 1), shape, scratch),
            std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace pleat
