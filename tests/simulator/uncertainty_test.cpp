// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The band: a base, and the terms that the model and the plan call for, as independent errors.
#include "simulator/uncertainty.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "tests/simulator/fixtures.hpp"

namespace pleat {
namespace {

Profile profile_with_terms() {
  Profile p = test::ideal_profile();
  p.relative_band = 0.03;
  p.band_terms = {.experts = 0.04, .nccl_exchange = 0.12, .sharded = 0.4, .hybrid = 1.0};
  return p;
}

ModelSpec dense_model() {
  ModelSpec m = test::small_model();
  m.moe.reset();
  m.moe_layer.assign(4, false);
  return m;
}

TEST(Uncertainty, TermsAddAsSquares) {
  const Profile profile = profile_with_terms();
  Plan plan;
  EXPECT_DOUBLE_EQ(relative_band(dense_model(), plan, profile), 0.03);
  EXPECT_DOUBLE_EQ(relative_band(test::small_model(), plan, profile), 0.05);  // 3, 4, 5
  plan.expert.ep = 8;
  plan.dispatcher = Dispatcher::alltoall;
  EXPECT_DOUBLE_EQ(relative_band(test::small_model(), plan, profile), 0.13);  // 5, 12, 13
  plan.dispatcher = Dispatcher::hierarchical;  // NCCL's too
  EXPECT_DOUBLE_EQ(relative_band(test::small_model(), plan, profile), 0.13);
  plan.dispatcher = Dispatcher::hybridep;
  EXPECT_DOUBLE_EQ(relative_band(test::small_model(), plan, profile), 0.05);
}

TEST(Uncertainty, WidensWithTheEraAndShards) {
  Profile profile = profile_with_terms();
  Plan plan;
  for (const Sharding sharding : {Sharding::zero2, Sharding::zero3}) {
    plan.sharding = sharding;
    EXPECT_DOUBLE_EQ(relative_band(dense_model(), plan, profile), std::hypot(0.03, 0.4));
  }
  plan.sharding = Sharding::zero1;
  profile.band_terms.era = 0.04;
  EXPECT_DOUBLE_EQ(relative_band(dense_model(), plan, profile), 0.05);
}

TEST(Uncertainty, WidensWithTheDistanceFromTheLargestRun) {
  Profile profile = profile_with_terms();
  profile.band_terms.doubling = 0.02;
  profile.band_terms.largest_run = 256;
  Plan plan;
  for (const auto& [replicas, term] : {std::pair{64, 0.0}, {256, 0.0}, {512, 0.02}, {1024, 0.04}}) {
    plan.attention.dp = plan.expert.edp = replicas;
    EXPECT_DOUBLE_EQ(relative_band(dense_model(), plan, profile), std::hypot(0.03, term));
  }
  profile.band_terms.largest_run = 0;  // nobody knows
  EXPECT_DOUBLE_EQ(relative_band(dense_model(), plan, profile), 0.03);
}

TEST(Uncertainty, HybridsAreLessCertain) {
  const Profile profile = profile_with_terms();
  ModelSpec model = dense_model();
  model.layer_traits.resize(4);
  EXPECT_DOUBLE_EQ(relative_band(model, Plan{}, profile), 0.03);
  model.layer_traits[1].sparse = true;
  EXPECT_DOUBLE_EQ(relative_band(model, Plan{}, profile), std::hypot(0.03, 1.0));
  model.layer_traits[1] = {.mixer = Mixer::gated_delta_net};
  EXPECT_DOUBLE_EQ(relative_band(model, Plan{}, profile), std::hypot(0.03, 1.0));
  model.layer_traits.clear();
  model.attention.kind = AttentionKind::compressed;
  EXPECT_DOUBLE_EQ(relative_band(model, Plan{}, profile), std::hypot(0.03, 1.0));
}

// Two constants, of one of which nothing is known now that was not known before.
Profile profile_that_learned() {
  Profile p = test::ideal_profile();
  p.relative_band = 0.03;
  Learned learned;
  learned.noise = 0.05 / kBandDeviations;
  for (LearnedConstant& c : learned.constants) c.prior_error = 0.04 / kBandDeviations;
  learned.covariance[1][1] = std::pow(0.04 / kBandDeviations, 2);
  p.learned.pointer = std::make_shared<const Learned>(learned);
  return p;
}

CostVector parts_of(double gemm, double memory) {
  CostVector parts{};
  parts[static_cast<std::size_t>(CostClass::gemm)] = Seconds(gemm);
  parts[static_cast<std::size_t>(CostClass::memory_bound)] = Seconds(memory);
  parts[static_cast<std::size_t>(CostClass::bubble)] = Seconds(7);  // follows the others
  return parts;
}

// The band before was hypot(0.03, 0.04) = 0.05.
TEST(Uncertainty, WhatWasLearnedNarrowsTheBandOfPlansLikeTheRuns) {
  const Profile profile = profile_that_learned();
  EXPECT_DOUBLE_EQ(learned_band(parts_of(1, 0), profile), 0);  // learned to the end
  EXPECT_DOUBLE_EQ(learned_band(parts_of(0, 1), profile), 0.04);
  const double both = std::hypot(0.03, learned_band(parts_of(3, 1), profile));
  EXPECT_GT(both, 0.03);
  EXPECT_LT(both, 0.05);
  EXPECT_EQ(learned_band(parts_of(1, 1), test::ideal_profile()), 0);
}

}  // namespace
}  // namespace pleat
