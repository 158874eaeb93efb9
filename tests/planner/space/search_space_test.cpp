// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What is enumerated, how rejections are counted, and what an empty space says.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <type_traits>

#include "core/diagnostics.hpp"
#include "core/plan/plan_words.hpp"
#include "planner/space/memory_tree.hpp"
#include "planner/space/mesh_sizes.hpp"
#include "planner/space/plan_tree.hpp"
#include "tests/planner/search/small_case.hpp"
#include "tests/planner/space/every_plan.hpp"

namespace pleat {
namespace {

using namespace test;

// 93 layers are 4 on all but three of 24 stages, 2 on all but three of 48; 61 divide nowhere.
TEST(SearchSpace, ChunksSplitTheLayersNearlyEvenlyOrArePowersOfTwo) {
  ModelSpec model = small_model();
  model.layers = 93;
  EXPECT_EQ(chunk_counts(model, 8), (std::vector<int>{1, 2, 3, 4, 6, 8}));
  model.layers = 61;
  EXPECT_EQ(chunk_counts(model, 4), (std::vector<int>{1, 2, 4, 8}));
  model.layers = 94;  // with the embedding and the loss 96
  EXPECT_EQ(chunk_counts(model, 4), (std::vector<int>{1, 2, 3, 4, 6, 8, 12, 16, 24}));
}

TEST(SearchSpace, EveryPlanIsValidAndDistinct) {
  SearchConfig config = small_search(4);
  config.pin<"micro-batch">() = {1, 2};
  config.pin<"cp">() = {1, 2};
  config.pin<"pp">() = {2};
  config.pin<"vpp">() = {1};
  config.pin<"sharding">() = Sharding::zero1;
  config.pin<"cuda-graph">() = CudaGraph::none;
  config.pin<"cp-comm">() = CpComm::p2p;
  config.pin<"ep-overlap">() = false;
  const auto plans =
      enumerate_plans(small_problem(), config);
  ASSERT_GT(plans.size(), 1000u);
  ASSERT_LT(plans.size(), 1'000'000u);
  std::vector<const SpacePlan*> some;
  for (std::size_t i = 0; i < plans.size(); i += plans.size() / 300) some.push_back(&plans[i]);
  for (std::size_t i = 0; i < some.size(); ++i) {
    const Plan& p = some[i]->plan;
    EXPECT_TRUE(violations({small_model(), short_workload(), p, 4}).empty()) << summary(p);
    EXPECT_LE(p.attention.tp, 2);  // the innermost domain
    for (std::size_t j = 0; j < i; ++j) ASSERT_FALSE(p == some[j]->plan) << summary(p);
  }
}

TEST(SearchSpace, MeshesAreCounted) {
  const MeshSpace space = enumerate_meshes(small_problem(), small_search(8));
  std::int64_t rejected = 0;
  for (const auto& [rule, count] : space.rejected) rejected += count;
  EXPECT_EQ(space.tried, rejected + static_cast<std::int64_t>(space.meshes.size()));
}

// A search does not bound what it would throw away.
TEST(SearchSpace, WaysToExchangeThatAllPlansOfAMeshMayNotHaveAreKnownBeforehand) {
  SearchConfig config = small_search(8);
  config.pin<"cp">() = {1, 2, 4};
  const Problem problem = small_problem();
  const PlanTree tree(problem, config);
  int overlap = 0, valid = 0;
  for (std::size_t m = 0; m < tree.space.meshes.size(); m += 3) {
    const Mesh& mesh = tree.space.meshes[m];
    const Plan plan = tree.space.plan(mesh, config);
    for (const PlanTree::Exchange& exchange : tree.exchanges) {
      const auto first = static_cast<std::size_t>(exchange.families.front());
      const Setting& setting = tree.settings[first];
      const char* const rule = tree.void_exchange(plan, mesh, setting);
      const bool overlaps_nothing = setting.overlap.tensor_parallel && mesh.attention.tp == 1;
      EXPECT_TRUE(rule != nullptr || !overlaps_nothing) << summary(plan);
      if (rule == nullptr) {
        ++valid;
        continue;
      }
      if (setting.void_on(mesh) != nullptr) continue;
      overlap += std::string_view(rule) == "tp-overlap" ? 1 : 0;
      for (const std::int16_t family : exchange.families) {
        const std::size_t end = tree.end_of_family(static_cast<std::size_t>(family));
        for (auto s = static_cast<std::size_t>(family); s < end; ++s) {
          Plan own = plan;
          tree.settings[s].put_into(own);
          EXPECT_NE(tree.broken_rule(own), nullptr) << rule << ": " << summary(own);
        }
      }
    }
  }
  EXPECT_GT(overlap, 0);
  EXPECT_GT(valid, 0);
}

TEST(SearchSpace, OneGpuWithAllElsePinnedIsTheMicrobatches) {
  SearchConfig config = small_search(1);
  config.recompute = config.offload = false;
  config.pin<"cuda-graph">() = CudaGraph::none;
  config.pin<"cp-comm">() = CpComm::p2p;
  config.pin<"dispatcher">() = Dispatcher::alltoall;
  config.pin<"ep-overlap">() = config.pin<"tp-overlap">() = false;
  config.pin<"shared-expert-overlap">() = false;
  const auto plans =
      enumerate_plans(small_problem(), config);
  ASSERT_EQ(plans.size(), 5u);
  EXPECT_EQ(plans[0].plan.micro_batch, 1);
  EXPECT_EQ(plans[4].plan.micro_batch, 16);
  EXPECT_EQ(plans[0].plan.sharding, Sharding::none);
}

TEST(SearchSpace, GroupsOfInterleavedOrdersAreFull) {
  SearchConfig config = small_search(2);
  config.pin<"pp">() = {2};
  config.pin<"vpp">() = {1, 3};
  config.pin<"micro-batch">() = {1};
  const auto groups = [&](int batch) {
    WorkloadSpec w = short_workload();
    w.global_batch = batch;
    std::set<std::pair<int, int>> found;
    for (const Mesh& m : enumerate_meshes({small_model(), small_cluster(), w, {}}, config).meshes) {
      found.insert({m.vpp, m.group});
    }
    return found;
  };
  using Groups = std::set<std::pair<int, int>>;
  EXPECT_EQ(groups(16), (Groups{{1, 0}, {3, 0}, {3, 4}, {3, 8}}));
  EXPECT_EQ(groups(12), (Groups{{1, 0}, {3, 0}, {3, 4}}));
  EXPECT_EQ(groups(4), (Groups{{1, 0}, {3, 0}}));
  config.pin<"microbatch-group">() = {3, 5};  // 12 in groups of 5 leaves 2, as many as stages
  EXPECT_EQ(groups(12), (Groups{{1, 0}, {3, 3}, {3, 5}}));
}

TEST(SearchSpace, APinnedOrderThatLeavesNothingIsNamed) {
  SearchConfig config = small_search(4);
  config.pin<"pp">() = {1};
  config.pin<"schedule">() = {PipelineSchedule::zb_h1};
  try {
    static_cast<void>(
        non_empty_meshes(small_problem(), config));
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_NE(std::string(e.what()).find("schedule zb-h1 leaves no valid plan"), std::string::npos)
        << e.what();
  }
}

TEST(SearchSpace, SettingsOfAFamilyLieTogether) {
  ClusterSpec cluster = small_cluster();
  cluster.gpu.peak_fp8 = FlopsPerSecond(1e15);
  cluster.tiers.front().size = 72;
  ModelSpec model = small_model();
  model.moe->top_k = 4;
  const auto all = settings(model, cluster, small_search(8));
  std::size_t families = 1;
  for (std::size_t i = 1; i < all.size(); ++i) families += !all[i].same_family(all[i - 1]);
  std::vector<Setting> distinct;
  for (const Setting& s : all) {
    const auto same = [&](const Setting& o) { return o.same_family(s); };
    if (std::ranges::none_of(distinct, same)) distinct.push_back(s);
  }
  EXPECT_EQ(families, distinct.size());
  // 3 shardings, HybridEP with 3 graph modes, all-to-all and all-gather with 2, 6 kinds of CP, 2 of
  // TP exchange; in each, but with the all-gather, the shared expert beside it or not, with
  // experts' exchanges alone, paired, or split too.
  EXPECT_EQ(families, 3u * (3 + 2 + 2) * 6 * 2);
  EXPECT_EQ(all.size(), 3u * 6 * 2 * ((3 + 2) * 2 * 3 + 2));
}

TEST(SearchSpace, ShardsWithinADomain) {
  ClusterSpec cluster = small_cluster();
  cluster.tiers.front().size = 8;
  SearchConfig config = small_search(32);
  config.pin<"sharding">() = Sharding::zero1;
  config.hybrid_sharding = true;
  const auto all = settings(small_model(), cluster, config);
  EXPECT_EQ(all.front().shard_domain, 8);
  Plan plan;
  plan.attention = {.tp = 2, .cp = 1, .dp = 16, .pp = 1};
  plan.expert = {.etp = 1, .ep = 4, .edp = 8};
  all.front().put_into(plan);
  EXPECT_EQ(plan.optimizer_instances, 4);  // 4 of 16 shards, each of 2 ranks, in 8 GPUs
  put_shards(Sharding::zero3, 8, plan);
  EXPECT_EQ(plan.optimizer_instances, 1);
  EXPECT_EQ(plan.fsdp_group, 4);
  plan.expert = {.etp = 1, .ep = 16, .edp = 2};  // experts have two copies to share
  put_shards(Sharding::zero1, 8, plan);
  EXPECT_EQ(plan.optimizer_instances, 1);
  // Where shards lie within a domain anyway, or cannot, the setting says nothing new.
  config.hybrid_sharding.reset();
  const auto both = settings(small_model(), cluster, config);
  Setting within = both.front();
  within.shard_domain = 8;
  const auto mesh = [](int tp, int dp, int pp, int ep) {
    return Mesh{.attention = {.tp = tp, .cp = 1, .dp = dp, .pp = pp},
                .expert = {.etp = 1, .ep = ep, .edp = 32 / pp / ep}};
  };
  EXPECT_FALSE(within.repeats_another(mesh(2, 16, 1, 4), both));
  EXPECT_TRUE(within.repeats_another(mesh(2, 4, 4, 4), both));
  EXPECT_TRUE(within.repeats_another(mesh(2, 16, 1, 16), both));
}

TEST(SearchSpace, ShardsWithinManyDomains) {
  ClusterSpec cluster = small_cluster();
  cluster.tiers.front().size = 8;
  SearchConfig config = small_search(1024);
  config.pin<"sharding">() = Sharding::zero1;
  const auto all = settings(small_model(), cluster, config);
  const auto domains_of = [](const std::vector<Setting>& list) {
    std::set<int> domains;
    for (const Setting& s : list) domains.insert(s.shard_domain);
    return domains;
  };
  EXPECT_EQ(domains_of(all), (std::set{0, 8, 64, 512}));
  config.gpus = 16384;  // sets of 4,096 ranks save little more than those of 512
  EXPECT_EQ(domains_of(settings(small_model(), cluster, config)), (std::set{0, 8, 64, 512}));
  const auto repeats = [&](int domain, int ep) {
    const Mesh mesh{.attention = {.tp = 1, .cp = 1, .dp = 1024, .pp = 1},
                    .expert = {.etp = 1, .ep = ep, .edp = 1024 / ep}};
    return std::ranges::find(all, domain, &Setting::shard_domain)->repeats_another(mesh, all);
  };
  for (const int domain : {0, 8, 64, 512}) EXPECT_FALSE(repeats(domain, 1)) << domain;
  EXPECT_TRUE(repeats(8, 256));  // experts have four copies to share: no more than four sets
  EXPECT_TRUE(repeats(64, 256));
  EXPECT_FALSE(repeats(512, 256));
}

// State that is not sharded is kept in another way on one rank too: it stands for no sharded one.
TEST(SearchSpace, WhatIsNotShardedIsASettingOfItsOwn) {
  ClusterSpec cluster = small_cluster();
  cluster.tiers.front().size = 8;
  SearchConfig config = small_search(32);
  config.pin<"sharding">() = {Sharding::zero3, Sharding::none, Sharding::zero2, Sharding::zero1};
  config.hybrid_sharding = true;
  const auto all = settings(small_model(), cluster, config);
  const Mesh one_rank{.attention = {.tp = 8, .cp = 1, .dp = 1, .pp = 4},
                      .expert = {.etp = 8, .ep = 1, .edp = 1}};
  const Mesh many_ranks{.attention = {.tp = 1, .cp = 1, .dp = 32, .pp = 1},
                        .expert = {.etp = 1, .ep = 8, .edp = 4}};
  int tried = 0;
  for (Setting s : all) {
    if (!s.exchange.same_kernel(all.front().exchange) || s.cp_comm != all.front().cp_comm) continue;
    EXPECT_EQ(s.repeats_another(one_rank, all), s.sharding == Sharding::zero3);
    EXPECT_FALSE(s.repeats_another(many_ranks, all));
    ++tried;
  }
  EXPECT_GT(tried, 3);
}

TEST(MemoryTree, EveryChoiceStandsBelowOneThatGivesUpLess) {
  ModelSpec model = small_model();
  model.attention.kind = AttentionKind::mla;
  SearchConfig config = small_search(8);
  config.optimizer_offload = std::vector<bool>{false, true};
  const auto choices = memory_choices(model, small_cluster(), config);
  const MemoryTree tree(choices);
  // 80 sets to recompute and all layers (recompute_choices), the sets each with 71 offload sets (of
  // attn_norm, qkv_linear, expert_fc1 and moe_act any, with attn_norm mlp_norm or not, of core_attn
  // and attn_proj none, the first or both, but not nothing); of six layers 1, 2 or 4 recomputed, or
  // offloaded, all in units of 2 or 4; all that with the optimizer's state on the GPU, off it, and
  // stepped on the host.
  ASSERT_EQ(choices.size(), 3 * (81u + 71 * 80 + 3 + 3 + 2));
  EXPECT_EQ(tree.plans_below(0), static_cast<std::int64_t>(choices.size()));
  std::vector<int> parents(choices.size());
  for (std::size_t m = 0; m < choices.size(); ++m) {
    EXPECT_STREQ(tree.supersedes(static_cast<int>(m), static_cast<int>(m)), "variant");
    for (const std::int16_t below : tree.below(static_cast<int>(m))) {
      ++parents[static_cast<std::size_t>(below)];
      EXPECT_STREQ(tree.supersedes(static_cast<int>(m), below), "over-saving");
      EXPECT_EQ(tree.supersedes(below, static_cast<int>(m)), nullptr);
    }
  }
  EXPECT_EQ(parents[0], 0);
  for (std::size_t m = 1; m < choices.size(); ++m) EXPECT_EQ(parents[m], 1) << m;
}

TEST(SearchSpace, RecomputeSetsFitTheModel) {
  ModelSpec model = small_model();
  // Any of layernorm, core_attn and mlp, with any of moe_act and shared_experts or with moe; all.
  EXPECT_EQ(recompute_choices(model, true).size(), 8 * (4 + 1) + 1u);
  EXPECT_EQ(recompute_choices(model, false).size(), 1u);
  model.attention.kind = AttentionKind::mla;
  EXPECT_EQ(recompute_choices(model, true).size(), 16 * (4 + 1) + 1u);
  model.attention.kind = AttentionKind::gqa;
  model.moe.reset();
  EXPECT_EQ(recompute_choices(model, true).size(), 8 + 1u);
}

std::string error_of(const SearchConfig& config) {
  try {
    static_cast<void>(
        non_empty_meshes(small_problem(), config));
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::bad_request);
    return e.what();
  }
  return "no error";
}

TEST(SearchSpace, NamesThePinThatEmptiesIt) {
  SearchConfig config = small_search(4);
  config.pin<"ep">() = {3};
  config.pin<"pp">() = {1};
  const std::string text = error_of(config);
  EXPECT_NE(text.find("--ep: "), std::string::npos) << text;
  EXPECT_NE(text.find("ep 3 leaves no valid plan"), std::string::npos) << text;
  EXPECT_EQ(text.find("--pp"), std::string::npos) << text;
}

TEST(SearchSpace, NamesAllPinsThatEmptyItTogether) {
  SearchConfig config = small_search(4);
  config.pin<"ep">() = {3};
  config.pin<"tp">() = {3};
  EXPECT_NE(error_of(config).find("the pins tp 3, ep 3 together leave no valid plan"),
            std::string::npos)
      << error_of(config);
}

// Free TP, CP and PP whose product is not the world reject more meshes than the pin does.
TEST(SearchSpace, TheReasonIsAboutThePin) {
  SearchConfig config = small_search(16);
  config.pin<"ep">() = {3};
  const std::string of_ep = error_of(config);
  EXPECT_NE(of_ep.find("is not a multiple of ETP*EP*PP = 1*3*1"), std::string::npos) << of_ep;
  EXPECT_EQ(of_ep.find("TP*PP*CP"), std::string::npos) << of_ep;
  config = small_search(32);
  config.pin<"ep">() = {8};
  config.pin<"etp">() = {4};
  config.pin<"pp">() = {4};
  const std::string of_three = error_of(config);
  EXPECT_NE(of_three.find("32 is not a multiple of ETP*EP*PP = 4*8*4 = 128"), std::string::npos)
      << of_three;
  EXPECT_EQ(of_three.find("(world)"), std::string::npos) << of_three;
  config = small_search(16);
  config.pin<"tp">() = {3};  // no grid at all fits: the rule of the world is the reason
  EXPECT_NE(error_of(config).find("16 is not a multiple of TP*PP*CP = 3"), std::string::npos)
      << error_of(config);
}

// The values of a pin to try: the first few of a number, all of a choice.
template <class Value>
std::vector<Value> values_to_pin() {
  if constexpr (std::is_same_v<Value, int>)
    return {1, 2, 4};
  else if constexpr (std::is_same_v<Value, bool>)
    return {false, true};
  else if constexpr (std::is_enum_v<Value>)
    return {kAll<Value>.begin(), kAll<Value>.end()};
  else
    return {};  // layouts have tests of their own
}

// Where a value means nothing, a plan has that of a plain one: groups of an order that has none.
TEST(SearchSpace, EveryPinHolds) {
  SearchConfig small = small_search(8);
  small.pin<"micro-batch">() = small.pin<"etp">() = 1;
  small.pin<"cp">() = {1, 4};
  small.pin<"ep">() = {1, 2};
  small.pin<"sharding">() = Sharding::zero1;
  small.pin<"dispatcher">() = Dispatcher::alltoall;
  small.pin<"cuda-graph">() = CudaGraph::none;
  small.pin<"ep-overlap">() = small.pin<"delay-wgrad">() = small.pin<"tp-overlap">() = false;
  small.pin<"shared-expert-overlap">() = false;
  small.hybrid_sharding = small.cpu_optimizer = false;
  Problem problem{small_model(), small_cluster(), short_workload(), small_profile()};
  problem.workload.routing = Routing::natural;
  for (int l = 0; l < problem.model.layers; ++l) {
    std::vector<double> loads(static_cast<std::size_t>(problem.model.moe->experts), 1.0);
    loads[0] = 5;
    if (problem.model.is_moe(l)) problem.workload.expert_loads.push_back({l, loads});
  }
  for_each_pin([&](auto i) {
    constexpr const auto& field = kPlanField<i>;
    using Value = typename std::remove_cvref_t<decltype(field)>::Value;
    bool met = false;
    const auto values = values_to_pin<Value>();
    for (const Value& value : values) {
      SearchConfig config = small;
      config.recompute = config.offload = field.pinned.of_memory;
      if (i == kPinRow<"delay-wgrad">) config.pin<"ep-overlap">() = true;
      if (i == kPinRow<"loss-chunks">) {  // which Megatron has not
        config.runtime = Runtime::pleat;
        config.pin<"schedule">() = PipelineSchedule::one_f_one_b;
      }
      std::get<i>(config.pins.by_row) = value;
      for (const SpacePlan& p : enumerate_plans(problem, config)) {
        const bool moot = std::is_same_v<Value, int> && field.in(p.plan) == field.in(Plan());
        EXPECT_TRUE(field.in(p.plan) == value || moot) << field.path << " " << summary(p.plan);
        met = met || (field.in(p.plan) == value && !(value == field.in(Plan())));
      }
    }
    EXPECT_TRUE(met || values.empty() || i == kPinRow<"dispatcher-sms">) << field.path;
  });
}

// Nodes number settings in 16 bits.
TEST(SearchSpace, RefusesMoreSettingsThanItCanNumber) {
  SearchConfig config = small_search(8);
  for_each_plan_field([&](auto i) {
    auto& pin = std::get<i>(config.pins.by_row);
    if constexpr (std::is_same_v<std::remove_reference_t<decltype(pin)>, Pinned<bool>>) {
      pin = {false, true};
    }
  });
  config.pin<"dispatcher">() = {Dispatcher::alltoall, Dispatcher::deepep, Dispatcher::hybridep};
  config.pin<"cuda-graph">() = {CudaGraph::none, CudaGraph::partial};
  try {
    static_cast<void>(settings(small_model(), small_cluster(), config));
    FAIL() << "as many as it likes";
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::bad_request);
    EXPECT_THAT(e.what(), testing::HasSubstr("more than 32767"));
  }
}

TEST(SearchSpace, NamesThePinOfASetting) {
  SearchConfig config = small_search(4);
  config.pin<"sharding">() = Sharding::zero3;
  config.pin<"pp">() = {2};
  const std::string text = error_of(config);
  EXPECT_NE(text.find("sharding zero3"), std::string::npos) << text;
  EXPECT_NE(text.find("pp 2"), std::string::npos) << text;
  SearchConfig overlap = small_search(4);
  overlap.pin<"ep-overlap">() = true;
  overlap.pin<"ep">() = {1};
  EXPECT_NE(error_of(overlap).find("ep-overlap on"), std::string::npos) << error_of(overlap);
}

TEST(SearchSpace, WithoutPinsTheRuleSpeaks) {
  WorkloadSpec odd = short_workload();
  odd.seq_len = 127;
  odd.global_batch = 1;
  SearchConfig config = small_search(3);  // 3 GPUs: neither heads, experts, layers nor batch split
  config.recompute = false;
  ModelSpec model = small_model();
  model.layers = 2;
  model.moe_layer = {true, true};
  try {
    static_cast<void>(non_empty_meshes({model, small_cluster(), odd, {}}, config));
    FAIL() << "three GPUs should not work";
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::bad_request);
    EXPECT_NE(std::string(e.what()).find("no valid plan on 3 GPUs"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace pleat
