// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What must hold for every model, cluster and legal plan, over hundreds of random ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "core/plan/rank_map.hpp"
#include "simulator/step_timeline.hpp"
#include "tests/simulator/random_cases.hpp"

namespace pleat::test {
namespace {

constexpr unsigned kCases = 400;
constexpr double kRounding = 1e-9;

int parts_so_far() {
  return ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
}

// Calls `check` on every case; it says whether the property could be tried, which a third of the
// cases must allow. Stops at the third that fails: a page of messages is enough.
void for_all(const std::function<bool(const RandomCase&)>& check) {
  int failed = 0;
  unsigned tried = 0;
  for (unsigned seed = 1; seed <= kCases && failed < 3; ++seed) {
    const RandomCase c = random_case(seed);
    SCOPED_TRACE(c.name());
    const int before = parts_so_far();
    tried += check(c) ? 1 : 0;
    failed += parts_so_far() > before ? 1 : 0;
  }
  if (failed == 0) {
    EXPECT_GE(tried, kCases / 3);
  }
}

double step_of(RandomCase c, bool throttled) {
  if (!throttled) c.platform.profile.sustained_clock.duty_slope = 0;
  return c.price().step.base();
}

// At most `factor` times the other's step: exactly at constant clocks; where the clock follows the
// duty, within one of the steps in which it is kept.
void expect_no_slower(const RandomCase& a, const RandomCase& b, double factor = 1) {
  // Three streams run in list order where weights are sharded by layer: an op that ends earlier can
  // let a less urgent one in first (Graham's anomaly). One case in some hundreds shows it, by 0.7%.
  if (a.plan.sharding >= Sharding::zero2) factor *= 1.01;
  EXPECT_LE(step_of(a, false), step_of(b, false) * factor * (1 + kRounding));
  EXPECT_LE(step_of(a, true), step_of(b, true) * factor * (1 + 1.0 / kClockSteps));
}

// A faster machine is never slower, be it a little or a lot faster.
void expect_never_slower(const std::function<void(Platform&, double factor)>& improve) {
  for_all([&](const RandomCase& c) {
    for (const double factor : {1.02, 1.5, 20.0}) {
      RandomCase better = c;
      improve(better.platform, factor);
      SCOPED_TRACE(factor);
      expect_no_slower(better, c);
    }
    return true;
  });
}

TEST(Properties, CasesAreOfManyKinds) {
  int moe = 0, pipeline = 0, tensor = 0, context = 0, interleaved = 0, overlapped = 0, measured = 0;
  for (unsigned seed = 1; seed <= kCases; ++seed) {
    const RandomCase c = random_case(seed);
    moe += c.model.moe.has_value();
    pipeline += c.plan.attention.pp > 1;
    tensor += c.plan.attention.tp > 1;
    context += c.plan.attention.cp > 1;
    interleaved += c.plan.vpp > 1;
    overlapped += c.plan.overlap.expert_parallel;
    measured +=
        c.platform.profile.provenance.find("nothing here was measured") == std::string::npos;
  }
  for (const int count : {moe, pipeline, tensor, context, interleaved, overlapped, measured}) {
    EXPECT_GE(count, static_cast<int>(kCases) / 15);
    EXPECT_LT(count, static_cast<int>(kCases));
  }
}

TEST(Properties, PartsAddUpToTheStep) {
  for_all([](const RandomCase& c) {
    const StepEstimate e = c.price();
    double sum = 0;
    for (const Seconds part : e.parts) {
      EXPECT_GE(part.base(), -1e-12 * e.step.base());
      sum += part.base();
    }
    EXPECT_NEAR(sum, e.step.base(), kRounding * e.step.base());
    for (const StageTime& stage : e.stages) {
      EXPECT_NEAR((stage.busy + stage.bubble).base(), e.step.base(), kRounding * e.step.base());
      EXPECT_GE(stage.bubble.base(), -1e-9 * e.step.base());
    }
    EXPECT_LE(e.low, e.step);
    EXPECT_GE(e.high, e.step);
    return true;
  });
}

TEST(Properties, MemoryOfAStageIsTheSumOfItsKinds) {
  for_all([](const RandomCase& c) {
    const StepEstimate e = c.price();
    std::int64_t peak = 0;
    for (const StageMemory& m : e.memory) {
      for (const std::int64_t part :
           {m.weights, m.gradients, m.optimizer, m.activations, m.runtime}) {
        EXPECT_GE(part, 0);
      }
      EXPECT_EQ(m.weights + m.gradients + m.optimizer + m.activations + m.runtime, m.peak);
      peak = std::max(peak, m.peak);
    }
    EXPECT_EQ(e.peak_bytes(), peak);
    EXPECT_EQ(e.fits, static_cast<double>(peak) <= c.platform.cluster.gpu.memory.base());
    return true;
  });
}

TEST(Properties, MoreNetworkBandwidthIsNeverSlower) {
  expect_never_slower([](Platform& p, double factor) {
    for (NetworkTier& tier : p.cluster.tiers) tier.bandwidth *= factor;
  });
}

TEST(Properties, LessNetworkLatencyIsNeverSlower) {
  expect_never_slower([](Platform& p, double factor) {
    for (NetworkTier& tier : p.cluster.tiers) tier.latency *= 1 / factor;
  });
}

TEST(Properties, MoreMemoryBandwidthIsNeverSlower) {
  expect_never_slower([](Platform& p, double factor) { p.cluster.gpu.memory_bandwidth *= factor; });
}

TEST(Properties, MoreArithmeticIsNeverSlower) {
  expect_never_slower([](Platform& p, double factor) {
    GpuSpec& gpu = p.cluster.gpu;
    for (FlopsPerSecond* peak : {&gpu.peak_fp32, &gpu.peak_bf16, &gpu.peak_fp8, &gpu.peak_fp4}) {
      *peak *= factor;
    }
  });
}

TEST(Properties, AFasterHostIsNeverSlower) {
  expect_never_slower([](Platform& p, double factor) {
    p.profile.host_per_op *= 1 / factor;
    p.profile.step_overhead *= 1 / factor;
  });
}

// On a slow network the exchanges of weights and gradients take longer than all compute. They share
// it, whether compute waits for the gathers or not.
TEST(Properties, GathersBesideComputeAreNeverSlower) {
  for_all([](RandomCase c) {
    if (c.plan.sharding == Sharding::none) return false;
    for (const double slower : {1.0, 20.0}) {
      for (NetworkTier& tier : c.platform.cluster.tiers) tier.bandwidth = tier.bandwidth / slower;
      SCOPED_TRACE(slower);
      RandomCase waits = c;
      c.plan.overlap.param_gather = true;
      waits.plan.overlap.param_gather = false;
      expect_no_slower(c, waits);
    }
    return true;
  });
}

// As many microbatches, each twice as large: fewer of them would leave less in flight.
TEST(Properties, MemoryGrowsWithTheMicrobatch) {
  for_all([](const RandomCase& c) {
    RandomCase larger = c;
    larger.plan.micro_batch *= 2;
    larger.workload.global_batch *= 2;
    if (!larger.legal()) return false;
    EXPECT_GE(larger.price().peak_bytes(), c.price().peak_bytes());
    return true;
  });
}

TEST(Properties, MemoryAndTimeGrowWithTheSequence) {
  for_all([](const RandomCase& c) {
    RandomCase larger = c;
    larger.workload.seq_len *= 2;
    if (!larger.legal()) return false;
    const StepEstimate small = c.price(), large = larger.price();
    EXPECT_GE(large.peak_bytes(), small.peak_bytes());
    // Steps that exchanges of weights bound do not grow with the tokens.
    const bool by_weights = c.plan.sharding >= Sharding::zero2;
    EXPECT_GE(large.step, small.step * (by_weights ? 1 - kRounding : 1 + kRounding));
    return true;
  });
}

// The bubble, the optimizer and the gradient exchange are spread over more tokens. Not so for pairs
// of passes that take longer than one after the other, as they do where the exchange they hide is
// small.
TEST(Properties, MoreMicrobatchesNeverHaveLessThroughput) {
  for_all([](const RandomCase& c) {
    if (c.plan.overlap.expert_parallel) return false;
    RandomCase larger = c;
    larger.workload.global_batch *= 2;
    EXPECT_TRUE(larger.legal());
    expect_no_slower(larger, c, 2);
    EXPECT_GT(larger.price().step, c.price().step);
    return true;
  });
}

// Recompute trades time for memory, where a chunk has several layers to drop: of one alone it keeps
// as much as it drops while that layer's backward pass runs. Split backward passes keep what was
// computed again until the weight gradients' slot, beside the inputs of the microbatches in flight.
TEST(Properties, RecomputeOfWholeLayersAddsTimeAndFreesMemory) {
  for_all([](const RandomCase& c) {
    RandomCase kept = c, dropped = c;
    kept.plan.recompute.clear();
    kept.plan.recompute_full = false;
    dropped.plan.recompute.clear();
    dropped.plan.recompute_full = true;
    if (c.model.layers < 3 * c.plan.attention.pp * c.plan.vpp) return false;
    if (splits_backward(c.plan.schedule)) return false;
    if (!kept.legal() || !dropped.legal()) return false;
    expect_no_slower(kept, dropped);
    EXPECT_LE(dropped.price().peak_bytes(), kept.price().peak_bytes());
    return true;
  });
}

TEST(Properties, ShardingNeverTakesMoreStateMemory) {
  for_all([](const RandomCase& c) {
    RandomCase whole = c, sharded = c;
    whole.plan.sharding = Sharding::none;
    sharded.plan.sharding = Sharding::zero1;
    if (!whole.legal() || !sharded.legal()) return false;
    const StepEstimate a = whole.price(), b = sharded.price();
    for (std::size_t s = 0; s < a.memory.size(); ++s) {
      EXPECT_LE(b.memory[s].optimizer, a.memory[s].optimizer);
    }
    return true;
  });
}

// Names are no input: data-parallel ranks are alike, and so are tiers that nothing crosses.
TEST(Properties, WhatIsAlikeCanBeSwapped) {
  for_all([](const RandomCase& c) {
    const StepEstimate e = c.price();
    RandomCase same = c;
    same.model.name = "another name";
    same.platform.cluster.name = "another cluster";
    // A tier that only larger jobs cross.
    NetworkTier& last = same.platform.cluster.tiers.back();
    if (same.platform.cluster.tiers.size() > 1 &&
        c.plan.world() <=
            same.platform.cluster.tiers[same.platform.cluster.tiers.size() - 2].size) {
      last.bandwidth *= 0.25;
    }
    EXPECT_EQ(same.price().step, e.step);
    EXPECT_EQ(same.price().peak_bytes(), e.peak_bytes());
    return true;
  });
}

// One rank of a stage is priced for all of them: whichever it is, its groups need the same links.
TEST(Properties, EveryRankHasTheLinksThatArePriced) {
  for (unsigned seed = 1; seed <= kCases / 4; ++seed) {
    const RandomCase c = random_case(seed);
    SCOPED_TRACE(c.name());
    const ClusterView view = view_cluster(c.platform.cluster, c.plan);
    const int world = c.plan.world();
    // Of a tier's domain the job uses the largest part that divides it.
    std::vector<int> domains;
    for (const NetworkTier& tier : c.platform.cluster.tiers) {
      int used = tier.size == 0 ? world : std::min(tier.size, world);
      while (world % used != 0) --used;
      domains.push_back(used);
    }
    for (const Group group :
         {Group::tp, Group::cp, Group::dp, Group::dp_cp, Group::ep, Group::etp, Group::edp}) {
      if (group_size(c.plan, group) == 1) continue;
      for (int rank = 0; rank < world; ++rank) {
        const std::vector<Rank> members = group_members(c.plan, Rank{rank}, group);
        std::size_t tier = 0;
        while (tier + 1 < domains.size() && !std::ranges::all_of(members, [&](Rank r) {
                 return r.value / domains[tier] == rank / domains[tier];
               })) {
          ++tier;
        }
        ASSERT_EQ(tier, view.groups[static_cast<std::size_t>(group)].tier)
            << name_of(group) << " of rank " << rank;
      }
    }
  }
}

TEST(Properties, EqualRequestsGiveEqualAnswers) {
  for_all([](const RandomCase& c) {
    const Program p = c.program();
    const auto text = [&] {
      return estimate_json(estimate(p, c.platform.cluster, c.platform.profile), p,
                           c.platform.cluster, c.platform.profile);
    };
    EXPECT_EQ(text(), text());
    return true;
  });
}

}  // namespace
}  // namespace pleat::test
