// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Plans outside of the space: random changes of the winner never beat it, pins and limits hold, and
// what is known to be missing in the space is found.
#include "planner/neighbours/neighbours.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <random>

#include "core/plan/constraints.hpp"
#include "core/plan/numerics.hpp"
#include "core/spec/catalog.hpp"
#include "planner/neighbours/allowed_values.hpp"
#include "planner/neighbours/legal_plans.hpp"
#include "planner/neighbours/memory_sets.hpp"
#include "planner/neighbours/neighbour_descent.hpp"
#include "planner/neighbours/neighbour_prices.hpp"
#include "planner/plan.hpp"
#include "planner/search/plan_prices.hpp"
#include "planner/space/runtime_rules.hpp"
#include "simulator/estimator.hpp"
#include "tests/planner/search/random_case.hpp"

namespace pleat {
namespace {

using test::small_problem;
using test::small_search;

struct Shipped : Problem {
  SearchConfig config;
};

Shipped shipped(const char* model, const char* cluster, int gpus, std::int64_t seq_len,
                std::int64_t batch, Precision precision, Runtime runtime = Runtime::megatron) {
  Shipped s{{load_model(model).model, load_cluster(cluster), {}, {}}, {}};
  s.workload.seq_len = seq_len;
  s.workload.global_batch = batch;
  const std::string profile = std::string(cluster) + "-megatron";
  const std::vector<std::string> known = config_names(ConfigKind::profile);
  const bool measured = std::ranges::find(known, profile) != known.end();
  s.profile = runtime == Runtime::megatron && measured ? load_profile(profile)
                                                       : datasheet_profile(s.cluster, runtime);
  s.config.gpus = gpus;
  s.config.threads = 2;
  s.config.runtime = runtime;
  s.config.numerics.front().precision = precision;
  return s;
}

PlanAnswer answer_of(const Problem& problem, const SearchConfig& config) {
  return plan(problem, PlanRequest{.search = config});
}

Seconds step_of(const Problem& problem, const SearchConfig& config) {
  return answer_of(problem, config).result.best.front().estimate.step;
}

// The search with `pinned` finds nothing faster than the one of `s`.
void expect_no_faster(const Shipped& s, const SearchConfig& pinned) {
  EXPECT_LE(step_of(s, s.config), step_of(s, pinned));
}

// The least value of legal plans that differ from this one in one or two fields drawn at random.
Seconds least_of_random_changes(const Problem& problem, const SearchConfig& config,
                                const Plan& winner, int count) {
  std::mt19937 random(7);
  const Estimator estimator(problem.model, problem.workload, problem.cluster, problem.profile,
                            config.runtime);
  LegalPlans legal(problem, config);
  const std::vector<PlanChange> changes =
      changes_of(winner, by_stage(config), {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64});
  Seconds least(1e9);
  const auto any = [&]() -> const PlanChange& { return changes[random() % changes.size()]; };
  for (int tried = 0, priced = 0; priced < count && tried < 100 * count; ++tried) {
    Plan plan = winner;
    bool allowed = legal.change(winner, any(), plan);
    if (random() % 2 == 0) allowed = legal.change(winner, any(), plan);
    if (!allowed || !legal.legal(plan)) continue;
    ++priced;
    const StepEstimate e = estimator(plan);
    const bool host = problem.cluster.host_memory.base() <= 0 ||
                      static_cast<double>(e.host_bytes) <= problem.cluster.host_memory.base();
    if (e.peak_bytes() > usable_bytes(problem.cluster, config) || !host) continue;
    least = std::min(least, value_of(e, config.robust));
  }
  return least;
}

void expect_no_better_neighbour(const Problem& problem, const SearchConfig& config, int count) {
  const PlanAnswer answer = answer_of(problem, config);
  ASSERT_FALSE(answer.result.best.empty());
  const Candidate& best = answer.result.best.front();
  const Seconds least = least_of_random_changes(problem, config, best.plan, count);
  EXPECT_GE(least, value_of(best.estimate, config.robust) * 0.999) << summary(best.plan);
}

// SMs that were measured are of one dispatcher: another one comes with its own.
TEST(Neighbours, AnotherDispatcherComesWithItsOwnSms) {
  const Shipped s = shipped("moonlight-16b-a3b", "h200-sxm", 8, 8192, 8, Precision::fp8);
  LegalPlans legal(s, s.config);
  Plan plan;
  plan.attention.dp = plan.expert.ep = 8;
  plan.precision = Precision::fp8;
  plan.sharding = Sharding::zero1;
  plan.dispatcher = Dispatcher::deepep;
  plan.dispatcher_sms = 24;
  ASSERT_TRUE(legal.legal(plan));
  std::set<Dispatcher> others;
  for (const PlanChange& change : changes_of(plan, false, {0, 1, 2})) {
    Plan other = plan;
    if (!legal.change(plan, change, other) || other.dispatcher == plan.dispatcher) continue;
    EXPECT_EQ(other.dispatcher_sms, 0);
    if (legal.legal(other)) others.insert(other.dispatcher);
  }
  EXPECT_EQ(others, (std::set<Dispatcher>{Dispatcher::allgather, Dispatcher::alltoall,
                                          Dispatcher::hybridep}));
}

// The all-gather excludes the winner's overlap of the shared expert, and gains only beside the
// overlap of tensor-parallel exchanges.
TEST(Neighbours, AChangeThatEndsAnOverlapIsTriedBesideOthers) {
  Shipped s = shipped("moonlight-16b-a3b", "h200-sxm", 8, 8192, 8, Precision::fp8);
  s.config.pin<"pp">() = {4};
  s.config.pin<"tp">() = {2};
  s.config.pin<"vpp">() = {2};
  const PlanAnswer answer = answer_of(s, s.config);
  ASSERT_FALSE(answer.result.best.empty());
  const Candidate& best = answer.result.best.front();
  Plan gathers;
  gathers.attention = {.tp = 2, .cp = 1, .dp = 1, .pp = 4};
  gathers.expert = {.etp = 1, .ep = 2, .edp = 1};
  gathers.vpp = 2;
  gathers.layout = "Et*4|(t*4|)*5t*3|L";
  gathers.micro_batch = 2;
  gathers.precision = Precision::fp8;
  gathers.sharding = Sharding::zero1;
  gathers.dispatcher = Dispatcher::allgather;
  gathers.cuda_graph = CudaGraph::partial;
  gathers.overlap.tensor_parallel = true;
  ASSERT_TRUE(LegalPlans(s, s.config).legal(gathers));
  const Estimator estimator(s.model, s.workload, s.cluster, s.profile, s.config.runtime);
  EXPECT_LE(best.estimate.step, estimator(gathers).step) << summary(best.plan);
}

// Where memory is short, what is recomputed and offloaded changes in several modules at once.
TEST(Neighbours, NoOtherSetsOfModulesAreFaster) {
  SearchConfig tight = small_search(8);
  const PlanAnswer free = answer_of(small_problem(), tight);
  tight.most_bytes = free.result.best.front().estimate.peak_bytes() - 1;
  const Problem problem = small_problem();
  const PlanAnswer answer = answer_of(problem, tight);
  ASSERT_FALSE(answer.result.best.empty());
  const Candidate& best = answer.result.best.front();
  const Estimator estimator(problem.model, problem.workload, problem.cluster, problem.profile,
                            tight.runtime);
  const LegalPlans legal(problem, tight);
  int priced = 0;
  for (const RecomputeChoice& recompute : recompute_choices(problem.model, true)) {
    for (const std::set<Offload>& offload : offload_sets(problem.model)) {
      Plan plan = best.plan;
      MemoryChoice{recompute, offload}.put_into(plan);
      plan.optimizer = best.plan.optimizer;
      if (!legal.legal(plan)) continue;
      const StepEstimate e = estimator(plan);
      ++priced;
      if (e.peak_bytes() > *tight.most_bytes) continue;
      EXPECT_GE(e.step, best.estimate.step * 0.999) << summary(plan) << "\n" << summary(best.plan);
    }
  }
  EXPECT_GT(priced, 500);
}

// Those that the rules of plans allow, and no others.
TEST(Neighbours, OffloadSetsAreTheLegalOnes) {
  for (const bool experts : {true, false}) {
    Problem problem = small_problem();
    if (!experts) {
      problem.model.moe.reset();
      problem.model.moe_layer.assign(problem.model.moe_layer.size(), false);
    }
    std::set<std::set<Offload>> legal;
    for (std::size_t bits = 0; bits < std::size_t{1} << kOffloads.size(); ++bits) {
      Plan plan;
      for (std::size_t i = 0; i < kOffloads.size(); ++i) {
        if ((bits >> i) % 2 == 1) plan.offload.insert(kOffloads[i]);
      }
      bool holds = true;
      for (const Violation& v : violations({problem.model, problem.workload, plan, 1})) {
        holds = holds && v.path != "offload";
      }
      if (holds) legal.insert(plan.offload);
    }
    const std::vector<std::set<Offload>> found = offload_sets(problem.model);
    EXPECT_EQ((std::set<std::set<Offload>>(found.begin(), found.end())), legal);
    EXPECT_EQ(found.size(), legal.size());
  }
}

TEST(Neighbours, NoRandomChangeOfTheWinnerIsFaster) {
  expect_no_better_neighbour(small_problem(), small_search(8), 100);
  const PlanAnswer free = answer_of(small_problem(), small_search(8));
  SearchConfig tight = small_search(8);  // without what the winner needs
  tight.most_bytes = free.result.best.front().estimate.peak_bytes() - 1;
  expect_no_better_neighbour(small_problem(), tight, 100);
  SearchConfig robust = small_search(8);
  robust.robust = true;
  expect_no_better_neighbour(small_problem(), robust, 100);
}

TEST(Neighbours, TheAnswerIsNeverSlowerAndKeepsThePins) {
  test::CaseMaker maker(5);
  int faster = 0;
  for (int i = 0; i < 40; ++i) {
    const test::RandomCase c = maker.make(400);
    SearchConfig without = c.config;
    without.neighbours = 0;
    const SearchResult before = answer_of(c, without).result, after = answer_of(c, c.config).result;
    ASSERT_EQ(before.best.empty(), after.best.empty());
    EXPECT_FALSE(before.neighbours.has_value());
    if (before.best.empty()) continue;
    ASSERT_TRUE(after.neighbours.has_value());
    const auto value = [&](const SearchResult& r) {
      return value_of(r.best.front().estimate, c.config.robust);
    };
    EXPECT_LE(value(after), value(before));
    EXPECT_EQ(after.neighbours->best_before, value(before));
    EXPECT_EQ(after.neighbours->differences.empty(), value(after) == value(before));
    EXPECT_LE(after.bound, value(after));
    EXPECT_EQ(after.optimal, before.optimal);
    if (value(after) < value(before)) ++faster;
    std::int64_t counted = static_cast<std::int64_t>(after.best.size());
    for (const auto& [rule, plans] : after.rejected) counted += plans;
    EXPECT_EQ(counted, after.enumerated);
    const Estimator estimator(c.model, c.workload, c.cluster, c.profile, c.config.runtime);
    for (const Candidate& listed : after.best) {
      const Plan& plan = listed.plan;
      EXPECT_TRUE(allows(c, c.config, plan)) << summary(plan);
      EXPECT_TRUE(violations({c.model, c.workload, plan, c.config.gpus}).empty()) << summary(plan);
      EXPECT_EQ(refused_by(c.config.runtime, c.model, c.workload, plan, c.cluster.gpu), nullptr)
          << summary(plan);
      EXPECT_TRUE(builds_layout(c.config.runtime, c.model, plan)) << summary(plan);
      EXPECT_LE(listed.estimate.peak_bytes(), usable_bytes(c.cluster, c.config));
      EXPECT_EQ(estimator(plan).step, listed.estimate.step) << summary(plan);
    }
  }
  EXPECT_GT(faster, 0);
}

TEST(Neighbours, NumbersOfThreadsChangeNothing) {
  test::CaseMaker maker(11);
  for (int i = 0; i < 10; ++i) {
    test::RandomCase c = maker.make(400);
    c.config.threads = 1;
    const SearchResult one = answer_of(c, c.config).result;
    c.config.threads = 4;
    const SearchResult four = answer_of(c, c.config).result;
    ASSERT_EQ(one.best.size(), four.best.size());
    for (std::size_t k = 0; k < one.best.size(); ++k) {
      EXPECT_EQ(one.best[k].plan, four.best[k].plan);
      EXPECT_EQ(one.best[k].estimate.step, four.best[k].estimate.step);
    }
    EXPECT_EQ(one.priced, four.priced);
    EXPECT_EQ(one.rejected, four.rejected);
    if (!one.best.empty()) {
      EXPECT_EQ(one.neighbours->tried, four.neighbours->tried);
      EXPECT_EQ(one.neighbours->differences, four.neighbours->differences);
    }
  }
}

TEST(Neighbours, StayWithinTheirBudget) {
  SearchConfig config = small_search(8);
  config.max_evaluations = 100;
  EXPECT_LE(answer_of(small_problem(), config).result.priced, 100);
  config.max_evaluations = 0;
  config.neighbours = 20;
  SearchConfig without = config;
  without.neighbours = 0;
  const SearchResult some = answer_of(small_problem(), config).result;
  const SearchResult none = answer_of(small_problem(), without).result;
  ASSERT_TRUE(some.neighbours.has_value());
  EXPECT_FALSE(some.neighbours->all);
  const int starts = 2 * 20 + 4 * 2;  // the others of the list have a share each
  // Without the best plan's stages, experts' ranks and graphs: a search each, and its changes.
  const int unlike = 3 * (7 * 20 + 20 + 2 + 20);
  // Shares of the optimizer's state in host memory: two searches, and changes of what they find.
  const int states = 2 * 7 * 20 + 20 + 3 * 2;
  EXPECT_LE(some.priced - none.priced, starts + unlike + states);
}

TEST(Neighbours, FindALargerMicrobatch) {
  Shipped s = shipped("qwen3-30b-a3b", "b200", 8, 1024, 4096, Precision::mxfp8);
  s.config.pin<"micro-batch">().reset();
  const SearchResult r = answer_of(s, s.config).result;
  EXPECT_GE(r.best.front().plan.micro_batch, 16) << summary(r.best.front().plan);
}

// ZeRO-3 is slower beside the offload of 27 layers, and saves what lets five of them stay.
TEST(Neighbours, WhatAChangeSavesIsSpentOnOtherSets) {
  Shipped s = shipped("qwen3-8b", "ascend-910b", 8, 32768, 256, Precision::bf16);
  s.config.pin<"pp">() = {1};
  s.config.pin<"cp">() = {2};
  SearchConfig zero3 = s.config;
  zero3.pin<"sharding">() = Sharding::zero3;
  zero3.pin<"offload-layers">() = {22};
  zero3.neighbours = 0;
  expect_no_faster(s, zero3);
}

// ZeRO-3 is the best of the space. A pipeline that has half of the optimizer's state stepped on the
// CPU is faster, with all of it slower.
TEST(Neighbours, SharesOfTheOptimizersStateAreSearched) {
  Shipped s = shipped("hunyuan-large", "l40s", 256, 4096, 256, Precision::bf16);
  s.config.pin<"tp">() = s.config.pin<"etp">() = s.config.pin<"micro-batch">() = 2;
  s.config.pin<"cp">() = {1, 4};
  s.config.pin<"pp">() = {1, 8};
  s.config.pin<"ep">() = 16;
  SearchConfig half = s.config;
  half.cpu_optimizer = true;
  half.host_share = 0.5;
  half.neighbours = 0;
  const Plan found = answer_of(s, s.config).result.best.front().plan;
  const Candidate of_half = answer_of(s, half).result.best.front();
  EXPECT_EQ(of_half.plan.optimizer.cpu_offload, 0.5);
  const Estimator estimate(s.model, s.workload, s.cluster, s.profile, s.config.runtime);
  EXPECT_LE(estimate(found).step, of_half.estimate.step);
  SearchConfig none = s.config;
  none.neighbours = 0;
  EXPECT_LT(of_half.estimate.step, answer_of(s, none).result.best.front().estimate.step * 0.98);
}

// A part that the CPU steps beside a part that comes back for the step: either alone is slower.
TEST(Neighbours, TheStateMayBeSteppedOnTheCpuAndComeBackAtOnce) {
  Shipped s = shipped("megatron-gpt-314b", "h800-sxm", 64, 4096, 512, Precision::bf16,
                      Runtime::pleat);
  s.config.pin<"pp">() = 1;
  const Candidate best = answer_of(s, s.config).result.best.front();
  const OptimizerPlan& found = best.plan.optimizer;
  EXPECT_GT(found.cpu_offload, 0) << summary(best.plan);
  EXPECT_GT(found.state_offload, 0) << summary(best.plan);
  EXPECT_LE(found.cpu_offload + found.state_offload, 1);
  SearchConfig stepped = s.config;
  stepped.optimizer_offload = false;
  EXPECT_LT(best.estimate.step, step_of(s, stepped) * 0.998);
}

// Sending more activations away leaves room for half of the state that was in host memory. Either
// change alone is slower, or does not fit.
TEST(Neighbours, LessOfTheStateInHostMemoryBesideOtherSets) {
  Shipped s = shipped("megatron-gpt-314b", "h800-sxm", 64, 4096, 256, Precision::bf16,
                      Runtime::pleat);
  s.config.pin<"pp">() = 1;
  SearchConfig sends = s.config;
  sends.offload_sets = {
      {Offload::attn_norm, Offload::core_attn, Offload::attn_proj, Offload::mlp_norm}};
  expect_no_faster(s, sends);
}

// From this plan alone, single changes.
Candidate end_of_descent(const Shipped& s, const Plan& start) {
  KnownPrices known;
  NeighbourPrices prices(s, s.config, known.of(numerics_of(start), s, s.config.runtime), 400,
                         std::int64_t{1} << 40);
  NeighbourDescent descent(s, s.config, prices);
  return descent.run(prices.candidate(start), {});
}

// A layer less on the first rank is no faster, but leaves room to recompute no attention.
TEST(Neighbours, ALayoutThatSavesMemoryLetsThePlanGiveUpLess) {
  Shipped s = shipped("deepseek-v4-pro", "h100-sxm", 256, 8192, 128, Precision::bf16);
  Plan start;
  start.attention = {.tp = 2, .cp = 4, .dp = 4, .pp = 8};
  start.expert = {.etp = 1, .ep = 32, .edp = 1};
  start.vpp = 4;
  start.layout = "Ett|(tt|)*29t|mL";
  start.sharding = Sharding::zero1;
  start.dispatcher = Dispatcher::deepep;
  start.cp_comm = CpComm::all_gather;
  start.sequence_parallel = true;
  start.overlap.expert_parallel = true;
  start.recompute = {Module::layernorm, Module::core_attn, Module::moe_act,
                     Module::shared_experts};
  start.offload = {kOffloads.begin(), kOffloads.end()};
  start.optimizer.cpu_offload = 1;
  start.optimizer.cpu_offload_overlapped = true;
  ASSERT_TRUE(LegalPlans(s, s.config).legal(start));
  const Candidate end = end_of_descent(s, start);
  EXPECT_FALSE(end.plan.recompute.contains(Module::core_attn)) << summary(end.plan);
  s.config.pin<"layout">() = start.layout;
  EXPECT_LT(end.estimate.step, end_of_descent(s, start).estimate.step * 0.97);
}

// Larger groups of microbatches gain only with other graphs, sets to offload and layouts together.
TEST(Neighbours, StartWithoutTheGraphsOfTheBestPlan) {
  Shipped s = shipped("deepseek-moe-16b", "gb300-nvl72", 8, 4096, 256, Precision::fp8);
  s.config.pin<"pp">() = {4, 8};
  s.config.pin<"tp">() = 1;
  SearchConfig router = s.config;
  router.pin<"cuda-graph">() = CudaGraph::router;
  expect_no_faster(s, router);
}

// The best plan of the space is a pipeline. ZeRO-3 without one is 10% slower there, and 2.9% faster
// with a larger microbatch and sets of modules of its own.
TEST(Neighbours, StartWithMoreShardingWithoutAPipeline) {
  Shipped s = shipped("deepseek-moe-16b", "a100-sxm", 16, 2048, 512, Precision::bf16);
  s.config.pin<"tp">() = 8;
  SearchConfig zero3 = s.config;
  zero3.pin<"sharding">() = Sharding::zero3;
  expect_no_faster(s, zero3);
}

// The all-gather is far from the best plan of the space, which exchanges nothing.
TEST(Neighbours, StartWithOtherDispatchers) {
  Shipped s = shipped("gpt-oss-20b", "ascend-910b", 16, 32768, 8, Precision::bf16);
  s.config.pin<"pp">() = 4;
  SearchConfig gathers = s.config;
  gathers.pin<"dispatcher">() = Dispatcher::allgather;
  expect_no_faster(s, gathers);
}

// Changes lead to a larger microbatch than the space has, beside a fused exchange in a graph of the
// whole iteration, which the runtime refuses beside another exchange. The all-gather is faster.
TEST(Neighbours, AnotherDispatcherGivesUpTheGraphOfTheWholeIteration) {
  Shipped s = shipped("gemma-4-26b-a4b", "gb200-nvl72", 16, 4096, 128, Precision::mxfp8);
  s.config.pin<"tp">() = 8;
  SearchConfig apart = s.config;
  apart.pin<"ep-overlap">() = false;
  expect_no_faster(s, apart);
}

void expect_no_faster_with(const Shipped& s, const std::set<Offload>& sent) {
  SearchConfig pinned = s.config;
  pinned.offload_sets = {sent};
  expect_no_faster(s, pinned);
}

// A larger group of experts, with another dispatcher, gives up something else than the best plan of
// the space does.
TEST(Neighbours, OtherGroupsOfExpertsHaveTheirOwnSets) {
  Shipped s = shipped("moonlight-16b-a3b", "ascend-910b", 8, 8192, 8, Precision::bf16);
  s.config.pin<"pp">() = {1};
  s.config.pin<"cp">() = {1, 2};
  expect_no_faster_with(s, {Offload::attn_norm, Offload::expert_fc1});
}

// Context parallelism saves memory that another pipeline needs; that one is faster only with other
// sets and a layout of its own.
TEST(Neighbours, OtherPipelinesHaveTheirOwnSets) {
  Shipped s = shipped("llama3-8b", "gb200-nvl72", 16, 32768, 512, Precision::bf16, Runtime::pleat);
  s.config.pin<"pp">() = {4, 8};
  s.config.pin<"cp">() = {1, 2};
  expect_no_faster_with(s, {Offload::core_attn, Offload::attn_proj});
}

// Half the microbatch is slower in the space, and faster with a layout, a group of microbatches and
// a memory choice of its own.
TEST(Neighbours, OtherMicrobatchesOfAPipelineHaveTheirOwnChanges) {
  Shipped s = shipped("olmoe-1b-7b", "l40s", 2048, 4096, 8192, Precision::bf16);
  s.config.pin<"pp">() = {4};
  SearchConfig pinned = s.config;
  pinned.pin<"micro-batch">() = {2};
  expect_no_faster(s, pinned);
}

// What the Pleat runtime has beside ZeRO-1, the all-to-all and passes one after the other.
TEST(Neighbours, NoneIsFasterThanWhatASearchForThePleatRuntimeFinds) {
  const Shipped s =
      shipped("mixtral-8x7b", "h100-sxm", 64, 4096, 256, Precision::bf16, Runtime::pleat);
  SearchConfig pinned = s.config;
  pinned.pin<"sharding">() = Sharding::zero3;
  pinned.pin<"dispatcher">() = Dispatcher::deepep;
  pinned.pin<"ep-overlap">() = true;
  const SearchResult r = answer_of(s, s.config).result;
  EXPECT_LE(r.best.front().estimate.step, answer_of(s, pinned).result.best.front().estimate.step)
      << summary(r.best.front().plan);
  expect_no_better_neighbour(s, s.config, 100);
}

}  // namespace
}  // namespace pleat
