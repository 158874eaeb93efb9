// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Routing: odd numbers of experts, groups, bias, ties, and the gradient of the chosen weights.
#include <cmath>

#include "tests/kernels/conformance/router_reference.hpp"
#include "tests/kernels/conformance/suite.hpp"

namespace pleat::conformance {
namespace {

struct Case {
  std::int64_t tokens, experts, top_k, groups, top_groups;
};
constexpr Case kCases[] = {{0, 4, 2, 1, 1},   {1, 1, 1, 1, 1},   {3, 2, 2, 1, 1},  {7, 8, 1, 1, 1},
                           {9, 60, 6, 1, 1},  {5, 64, 8, 8, 4},  {4, 12, 3, 4, 2}, {5, 6, 2, 6, 3},
                           {3, 256, 8, 8, 4}, {2, 300, 13, 3, 1}, {9, 256, 8, 1, 1},
                           {3, 128, 33, 1, 1}, {2, 512, 32, 1, 1}, {2, 600, 9, 1, 1}};

// Every scoring of a case: softmax and sigmoid, normalised or not, scaled or not.
std::vector<RouterShape> scorings(const Case& c) {
  std::vector<RouterShape> all;
  for (const RouterScore score : {RouterScore::softmax, RouterScore::sigmoid}) {
    for (const bool normalize : {true, false}) {
      all.push_back(
          {c.experts, c.top_k, c.groups, c.top_groups, score, normalize, normalize ? 2.5 : 1.0});
    }
  }
  return all;
}

TEST_P(KernelConformance, RouterTopK) {
  for (const Case& c : kCases) {
    const Matrix logits = random_matrix(c.tokens, c.experts, 1, 3);
    const Matrix bias = random_matrix(1, c.experts, 2, 0.5);
    for (const RouterShape& s : scorings(c)) {
      for (const bool biased : {false, true}) {
        SCOPED_TRACE(::testing::Message()
                     << c.experts << " experts, top " << c.top_k << ", groups " << c.top_groups
                     << "/" << c.groups << (biased ? ", bias" : "")
                     << (s.score == RouterScore::sigmoid ? ", sigmoid" : ", softmax"));
        const Routed want = route(logits, biased ? &bias : nullptr, s);
        const View probs = out(c.tokens, c.top_k), experts = out_i32(c.tokens, c.top_k);
        k().router_topk(in(logits), biased ? in(bias) : none(), probs, experts, s);
        EXPECT_EQ(get_i32(experts), want.experts);
        expect_close(get(probs), want.probs, "probs");
      }
    }
  }
}

TEST_P(KernelConformance, RouterGradient) {
  for (const Case& c : kCases) {
    const Matrix logits = random_matrix(c.tokens, c.experts, 1, 3);
    const Matrix dprobs = random_matrix(c.tokens, c.top_k, 3);
    for (const RouterShape& s : scorings(c)) {
      const View vl = in(logits), probs = out(c.tokens, c.top_k);
      const View experts = out_i32(c.tokens, c.top_k), dlogits = out(c.tokens, c.experts);
      k().router_topk(vl, none(), probs, experts, s);
      k().router_topk_bwd(in(dprobs), vl, probs, experts, dlogits, s);
      const std::vector<std::int32_t> chosen = get_i32(experts);
      const auto f = [&](const Matrix& v) { return probabilities_of(v, chosen, s); };
      expect_close(get(dlogits), numeric_gradient(logits, dprobs, f), "dlogits");
    }
  }
}

TEST_P(KernelConformance, RouterTiesGoToTheLowerIndex) {
  Matrix logits(2, 6, 0.25);
  logits(1, 2) = logits(1, 5) = 1;
  for (const RouterScore score : {RouterScore::softmax, RouterScore::sigmoid}) {
    for (const bool biased : {false, true}) {
      const RouterShape s{.experts = 6, .top_k = 3, .score = score};
      const View probs = out(2, 3), experts = out_i32(2, 3);
      k().router_topk(in(logits), biased ? in(Matrix(1, 6, 0.5)) : none(), probs, experts, s);
      EXPECT_EQ(get_i32(experts), (std::vector<std::int32_t>{0, 1, 2, 2, 5, 0}));
    }
    const RouterShape groups{
        .experts = 6, .top_k = 2, .groups = 3, .top_groups = 2, .score = score};
    const View probs = out(2, 2), experts = out_i32(2, 2);
    k().router_topk(in(logits), none(), probs, experts, groups);
    EXPECT_EQ(get_i32(experts), (std::vector<std::int32_t>{0, 1, 2, 5}));
  }
}

// Few numbers among many experts: all alike, one above all others, the best all in one lane of a
// warp, and fewer numbers than there are to choose.
TEST_P(KernelConformance, RouterTiesAmongManyExperts) {
  constexpr std::int64_t kTokens = 6;
  for (const std::int64_t experts : {32, 40, 64, 200, 256}) {
    Matrix logits = random_matrix(kTokens, experts, 5, 2);
    for (std::int64_t t = 0; t < kTokens; ++t) {
      for (std::int64_t e = 0; e < experts; ++e) {
        double& l = logits(t, e);
        if (t < 2) l = t == 1 && e == experts - 3 ? 2 : 1;
        if (t == 2 && e % 32 == 5) l += 8;
        if (t > 2) l = std::round(l * static_cast<double>(t - 2)) / static_cast<double>(t - 2);
      }
    }
    for (const std::int64_t top_k : {1, 2, 8, 32, 40}) {
      if (top_k > experts) continue;
      for (const RouterScore score : {RouterScore::softmax, RouterScore::sigmoid}) {
        SCOPED_TRACE(testing::Message() << top_k << " of " << experts);
        const RouterShape s{.experts = experts, .top_k = top_k, .score = score};
        const View probs = out(kTokens, top_k), chosen = out_i32(kTokens, top_k);
        k().router_topk(in(logits), none(), probs, chosen, s);
        const Routed want = route(logits, nullptr, s);
        EXPECT_EQ(get_i32(chosen), want.experts);
        expect_close(get(probs), want.probs, "probs");
      }
    }
  }
}

TEST_P(KernelConformance, RouterBiasSelectsButDoesNotWeigh) {
  Matrix logits(1, 4), bias(1, 4);
  logits.values = {2, 1, 0, -1};
  bias.values = {-10, 0, 0, 10};
  const RouterShape s{.experts = 4, .top_k = 2, .score = RouterScore::sigmoid, .normalize = false};
  const View probs = out(1, 2), experts = out_i32(1, 2);
  k().router_topk(in(logits), in(bias), probs, experts, s);
  EXPECT_EQ(get_i32(experts), (std::vector<std::int32_t>{3, 1}));
  EXPECT_NEAR(get(probs)(0, 0), 1 / (1 + std::exp(1.0)), 1e-7);
  EXPECT_NEAR(get(probs)(0, 1), 1 / (1 + std::exp(-1.0)), 1e-7);
}

TEST_P(KernelConformance, RouterSurvivesFarApartLogits) {
  Matrix logits(2, 4);
  logits.values = {200, -200, 100, -100, -300, -300, -300, -300};
  const RouterShape s{.experts = 4, .top_k = 3};
  const View probs = out(2, 3), experts = out_i32(2, 3);
  k().router_topk(in(logits), none(), probs, experts, s);
  EXPECT_EQ(get_i32(experts), (std::vector<std::int32_t>{0, 2, 3, 0, 1, 2}));
  Matrix want(2, 3, 1.0 / 3);
  want(0, 0) = 1;
  want(0, 1) = want(0, 2) = 0;
  expect_close(get(probs), want, "probs", 1e-6);
  EXPECT_EQ(get(probs)(0, 2), 0) << "exp(-300) is no single-precision number";
}

// Training that diverges must not turn into memory corruption.
TEST_P(KernelConformance, RouterChoosesRealExpertsFromNan) {
  Matrix logits(2, 5, NAN);
  logits(1, 3) = 1;
  for (const RouterScore score : {RouterScore::softmax, RouterScore::sigmoid}) {
    const RouterShape s{.experts = 5, .top_k = 2, .score = score};
    const View probs = out(2, 2), experts = out_i32(2, 2);
    k().router_topk(in(logits), none(), probs, experts, s);
    EXPECT_EQ(get_i32(experts), (std::vector<std::int32_t>{0, 1, 3, 0}));
    EXPECT_TRUE(std::isnan(get(probs)(0, 0)));
  }
}

TEST_P(KernelConformance, ExpertCounts) {
  const View counts = out_i32(1, 5);
  k().expert_counts(in_i32({4, 0, 4, 2, 4, 0}, 3, 2), counts);
  EXPECT_EQ(get_i32(counts), (std::vector<std::int32_t>{2, 0, 1, 0, 3}));
  const View empty = out_i32(1, 3);
  k().expert_counts(in_i32({}, 0, 2), empty);
  EXPECT_EQ(get_i32(empty), (std::vector<std::int32_t>{0, 0, 0}));
}

using Ints = std::vector<std::int32_t>;

// Expert 0 has one slot, expert 1 three, expert 2 two.
TEST_P(KernelConformance, PlaceExpertsTakesCopiesInTurn) {
  const View table = in_i32({1, 5, -1, -1, 3, 0, 2, 7, 2, 1, 6, -1}, 3, 4);
  const View slots = out_i32(4, 2);
  k().place_experts(in_i32({0, 1, 1, -1, 1, 0, 1, 2}, 4, 2), table, 0, slots);
  EXPECT_EQ(get_i32(slots), (Ints{5, 0, 2, -1, 7, 5, 0, 6}));
  k().place_experts(in_i32({0, 1, 1, -1, 1, 0, 1, 2}, 4, 2), table, 2, slots);
  EXPECT_EQ(get_i32(slots), (Ints{5, 7, 0, -1, 2, 5, 7, 6}));
  k().place_experts(in_i32({}, 0, 2), table, 0, out_i32(0, 2));
  const View counts = out_i32(1, 3);
  k().expert_counts(in_i32({0, -1, 2, -1, 2, 2}, 3, 2), counts);
  EXPECT_EQ(get_i32(counts), (Ints{1, 0, 3}));
}

// Expert 4 is sent four copies, of probabilities 0.5, 0.9, 0.5 and 0.7.
TEST_P(KernelConformance, DropTokensKeepsTheMostProbable) {
  const Ints experts = {4, 0, 4, 2, 0, 4, 4, 3};
  Matrix probs(4, 2);
  probs.values = {0.5, 0.1, 0.9, 0.2, 0.3, 0.5, 0.7, 0.0};
  const struct {
    std::int64_t capacity;
    Ints kept, counts;
  } cases[] = {{0, {-1, -1, -1, -1, -1, -1, -1, -1}, {0, 0, 0, 0, 0}},
               {1, {-1, -1, 4, 2, 0, -1, -1, 3}, {1, 0, 1, 1, 1}},
               {3, {4, 0, 4, 2, 0, -1, 4, 3}, {2, 0, 1, 1, 3}},  // a tie: the lower token stays
               {4, experts, {2, 0, 1, 1, 4}},
               {100, experts, {2, 0, 1, 1, 4}}};  // more than there are tokens
  for (const auto& c : cases) {
    const View kept = out_i32(4, 2), counts = out_i32(1, 5);
    k().drop_tokens(in(probs), in_i32(experts, 4, 2), c.capacity, kept, counts);
    EXPECT_EQ(get_i32(kept), c.kept) << c.capacity;
    EXPECT_EQ(get_i32(counts), c.counts) << c.capacity;
  }
  const View kept = out_i32(0, 2), counts = out_i32(1, 2);
  k().drop_tokens(out(0, 2), in_i32({}, 0, 2), 3, kept, counts);
  EXPECT_EQ(get_i32(counts), (Ints{0, 0}));
}

// Against a count of the better copies, for many tokens.
TEST_P(KernelConformance, DropTokensAgainstCounting) {
  const std::int64_t tokens = 97, top_k = 3, capacity = 11;
  Ints experts;
  Matrix probs = random_matrix(tokens, top_k, 5);
  for (std::int64_t i = 0; i < tokens * top_k; ++i) {
    experts.push_back(static_cast<int>(i * i % 13));
    probs.values[static_cast<std::size_t>(i)] =
        std::floor(4 * probs.values[static_cast<std::size_t>(i)]);  // many ties
  }
  Ints want = experts;
  for (std::size_t i = 0; i < want.size(); ++i) {
    int better = 0;
    for (std::size_t o = 0; o < want.size(); ++o) {
      if (experts[o] != experts[i]) continue;
      better += probs.values[o] > probs.values[i] || (probs.values[o] == probs.values[i] && o < i);
    }
    if (better >= capacity) want[i] = -1;
  }
  const View kept = out_i32(tokens, top_k), counts = out_i32(1, 13);
  k().drop_tokens(in(probs), in_i32(experts, tokens, top_k), capacity, kept, counts);
  EXPECT_EQ(get_i32(kept), want);
  for (const int count : get_i32(counts)) EXPECT_LE(count, capacity);
}

}  // namespace
}  // namespace pleat::conformance
