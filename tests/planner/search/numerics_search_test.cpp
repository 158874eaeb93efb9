// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Searches that choose number formats for themselves, and plans priced with those of others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "core/diagnostics.hpp"
#include "planner/report/explain.hpp"
#include "planner/search/front.hpp"
#include "planner/search/numerics_prices.hpp"
#include "planner/space/numerics_rules.hpp"
#include "tests/planner/search/random_case.hpp"

namespace pleat {
namespace {

using test::CaseMaker;
using test::RandomCase;
using ::testing::HasSubstr;

template <auto... Members, class Value>
NumericsValue value_of_row(Value value) {
  constexpr std::size_t kRow = kPlanRow<Members...>;
  NumericsValue one{kRow, {}};
  kPlanField<kRow>.in_numerics(one.holder) = value;
  return one;
}

// A few of each kind: what narrows products, states and both.
std::vector<NumericsValue> some_values(const ClusterSpec& cluster) {
  std::vector<NumericsValue> all{value_of_row<&Plan::precision>(Precision::bf16)};
  if (cluster.gpu.peak_fp8.base() > 0)
    all.push_back(value_of_row<&Plan::precision>(Precision::fp8));
  for (const DType type : {DType::fp32, DType::bf16}) {
    all.push_back(value_of_row<&Plan::optimizer, &OptimizerPlan::main_grads>(type));
  }
  for (const DType type : {DType::fp32, DType::remainder16}) {
    all.push_back(value_of_row<&Plan::optimizer, &OptimizerPlan::main_params>(type));
  }
  for (const DType type : {DType::fp32, DType::bf16}) {
    all.push_back(value_of_row<&Plan::optimizer, &OptimizerPlan::exp_avg>(type));
  }
  for (const bool on : {false, true}) all.push_back(value_of_row<&Plan::fp8_attention>(on));
  for (const bool on : {true, false}) all.push_back(value_of_row<&Plan::fp8_params>(on));
  return all;
}

std::vector<Numerics> every_set(const RandomCase& c, const std::vector<NumericsValue>& free) {
  std::vector<Numerics> all{c.config.numerics.front()};
  for (std::size_t first = 0, end = 0; first < free.size(); first = end) {
    std::vector<Numerics> next;
    for (end = first; end < free.size() && free[end].row == free[first].row; ++end) {
      for (Numerics n : all) {
        put(free[end], n);
        next.push_back(n);
      }
    }
    all = std::move(next);
  }
  std::erase_if(
      all, [&](const Numerics& n) { return refused_numerics(c.config.runtime, c, n).has_value(); });
  return all;
}

struct Found {
  double value = std::numeric_limits<double>::infinity();  // of the best plan; infinite: none
  std::string plan;
};
Found best_of(const RandomCase& c, const SearchConfig& config) {
  try {
    const SearchResult r = search(c, config);
    if (r.best.empty()) return {};
    return {value_of(r.best.front().estimate, config.robust).base(), summary(r.best.front().plan)};
  } catch (const ConfigError&) {  // no plan of what is pinned has these formats
    return {};
  }
}
double best_value(const RandomCase& c, const SearchConfig& config) {
  return best_of(c, config).value;
}

RandomCase plain_case(CaseMaker& maker) {
  RandomCase c = maker.make(300);
  c.config.runtime = Runtime::megatron;
  c.config.numerics = {Numerics{}};
  return c;
}

TEST(NumericsSearch, AModeThatMayChooseMoreIsNeverSlower) {
  CaseMaker maker(5);
  for (int i = 0; i < 40; ++i) {
    SCOPED_TRACE(i);
    const RandomCase c = plain_case(maker);
    SearchConfig recipe = c.config;
    Numerics published;
    published.optimizer.main_grads = published.optimizer.exp_avg = DType::bf16;
    if (c.cluster.gpu.peak_fp8.base() > 0) published.precision = Precision::fp8;
    recipe.numerics.push_back(published);
    SearchConfig any = recipe;
    any.free_numerics = some_values(c.cluster);
    const double plain_value = best_value(c, c.config);
    const double recipe_value = best_value(c, recipe), any_value = best_value(c, any);
    EXPECT_LE(recipe_value, plain_value);
    EXPECT_LE(any_value, recipe_value);
  }
}

// One set of formats after the other is searched whole, so this says what settling on formats
// loses.
TEST(NumericsSearch, FreeFormatsAreMostlyTheBestOfAll) {
  CaseMaker maker(9);
  int found = 0, best = 0;
  for (int i = 0; i < 15; ++i) {
    SCOPED_TRACE(i);
    const RandomCase c = plain_case(maker);
    SearchConfig any = c.config;
    any.free_numerics = some_values(c.cluster);
    const Found chosen = best_of(c, any);
    Found least = chosen;
    for (const Numerics& n : every_set(c, any.free_numerics)) {
      SearchConfig one = c.config;
      one.numerics = {n};
      const Found other = best_of(c, one);
      if (other.value < least.value) least = other;
    }
    if (std::isinf(chosen.value)) continue;
    ++found;
    if (chosen.value <= 1.001 * least.value) ++best;
    EXPECT_LE(chosen.value, 1.05 * least.value) << chosen.plan << "\n" << least.plan;
  }
  EXPECT_GE(found, 10);
  EXPECT_GE(best, found - 2);
}

TEST(NumericsSearch, WhatIsNotFreeStays) {
  CaseMaker maker(6);
  for (int i = 0; i < 20; ++i) {
    RandomCase c = plain_case(maker);
    c.config.numerics.front().optimizer.exp_avg = DType::fp16;
    SearchConfig any = c.config;
    any.free_numerics = some_values(c.cluster);
    std::erase_if(any.free_numerics,
                  [](const NumericsValue& v) { return path_of(v) == "optimizer.exp_avg"; });
    for (const Candidate& found : search(c, any).best) {
      EXPECT_EQ(found.plan.optimizer.exp_avg, DType::fp16);
      EXPECT_FALSE(refused_numerics(Runtime::megatron, c, numerics_of(found.plan)));
    }
  }
}

TEST(NumericsSearch, TheCertificateSaysWhatWasSearched) {
  Problem p = test::small_problem();
  SearchConfig any = test::small_search(4);
  any.free_numerics = some_values(p.cluster);
  const SearchResult r = search(p, any);
  ASSERT_FALSE(r.best.empty());
  EXPECT_GE(r.numerics_searched, 2);
  EXPECT_EQ(r.numerics_possible,
            count_numerics(any.runtime, p, any.numerics.front(), any.free_numerics));
  EXPECT_GT(r.numerics_possible, r.numerics_searched);
  EXPECT_THAT(certificate(r), HasSubstr("searched sets of number formats of"));
  // bf16 moments at least: they take less memory traffic.
  EXPECT_NE(r.best.front().plan.optimizer.exp_avg, DType::fp32);
  EXPECT_EQ(search(p, test::small_search(4)).numerics_possible, 0);
}

TEST(NumericsSearch, ThreadsChangeNothing) {
  Problem p = test::small_problem();
  SearchConfig any = test::small_search(8);
  any.free_numerics = some_values(p.cluster);
  const SearchResult one = search(p, any);
  any.threads = 3;
  const SearchResult three = search(p, any);
  ASSERT_EQ(one.best.size(), three.best.size());
  for (std::size_t i = 0; i < one.best.size(); ++i) {
    EXPECT_EQ(one.best[i].plan, three.best[i].plan);
  }
  EXPECT_EQ(one.priced, three.priced);
}

// A front is a row of searches that share prices: each set of formats has its own.
TEST(NumericsSearch, FrontsChooseFormatsToo) {
  Problem p = test::small_problem();
  SearchConfig any = test::small_search(4);
  any.free_numerics = some_values(p.cluster);
  KnownPrices known;
  const SearchResult fastest = search(p, any, &known);
  const Front front = pareto_front(p, any, 1.0, fastest, known);
  ASSERT_FALSE(front.plans.empty());
  for (const Candidate& c : front.plans) {
    EXPECT_EQ(
        estimate(compile(p.model, p.workload, c.plan, any.runtime), p.cluster, p.profile).step,
        c.estimate.step);
  }
}

TEST(NumericsGain, IsNoBetterThanASearchFinds) {
  CaseMaker maker(7);
  int gains = 0;
  for (int i = 0; i < 40; ++i) {
    SCOPED_TRACE(i);
    const RandomCase c = plain_case(maker);
    const SearchResult plain = search(c, c.config);
    Numerics other;
    other.optimizer.main_grads = DType::bf16;
    if (c.cluster.gpu.peak_fp8.base() > 0) other.precision = Precision::fp8;
    const auto gain = numerics_gain(c, c.config, plain, {other});
    if (!gain) continue;
    ++gains;
    EXPECT_LE(gain->ratio, 0.995);
    EXPECT_EQ(numerics_of(gain->candidate.plan), other);
    SearchConfig searched = c.config;
    searched.numerics = {other};
    EXPECT_LE(best_value(c, searched),
              1.002 * value_of(gain->candidate.estimate, c.config.robust).base());
  }
  EXPECT_GE(gains, 5);
}

TEST(NumericsGain, IsAbsentWhereNothingIsGained) {
  Problem p = test::small_problem();
  const SearchConfig config = test::small_search(4);
  const SearchResult r = search(p, config);
  EXPECT_FALSE(numerics_gain(p, config, r, {}));
  EXPECT_FALSE(numerics_gain(p, config, r, config.numerics));
}

TEST(NumericsRules, ARuntimeRefusesWhatItHasNot) {
  const Problem p = test::small_problem();
  const auto refused = [&](const auto& change, const ToldRows& told = {}) {
    Numerics n{.precision = Precision::mxfp8, .optimizer = {}};
    change(n);
    const auto problem = refused_numerics(Runtime::megatron, p, n, told);
    return problem ? problem->path : std::string();
  };
  EXPECT_EQ(refused([](Numerics&) {}), "");
  EXPECT_EQ(refused([](Numerics& n) { n.fp8_dispatch = true; }), "fp8_dispatch");
  EXPECT_EQ(refused([](Numerics& n) { n.fp8_dispatch = true; }, {kPlanRow<&Plan::fp8_dispatch>}),
            "");
  EXPECT_EQ(refused([](Numerics& n) { n.fp8_head = true; }), "");
  EXPECT_EQ(refused([](Numerics& n) {
              n.precision = Precision::nvfp4;
              n.fp8_head = true;
            }),
            "fp8_head");
  EXPECT_EQ(refused([](Numerics& n) {
              n.precision = Precision::bf16;
              n.fp8_attention = true;
            }),
            "fp8_attention");
  EXPECT_EQ(refused([](Numerics& n) { n.optimizer.main_params = DType::bf16; }),
            "optimizer.main_params");
  // Remainders need bf16 weights: a rule of plans.
  EXPECT_EQ(refused([](Numerics& n) { n.optimizer.main_params = DType::remainder16; }),
            "optimizer.main_params");
  EXPECT_EQ(refused([](Numerics& n) {
              n.optimizer.main_params = DType::remainder16;
              n.fp8_params = false;
            }),
            "");
  EXPECT_EQ(refused([](Numerics& n) {
              n.optimizer.main_grads = DType::bf16;
              n.optimizer.grad_reduce = DType::fp32;
            }),
            "optimizer.grad_reduce");
}

}  // namespace
}  // namespace pleat
