// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Every group that gradients are summed over, proved by powers of two: rank r has 2^r everywhere,
// so the sum of an element names the ranks it was summed over. They must be those that hold the
// element, and the norm must count each element once.
#include <gtest/gtest.h>

#include <cmath>
#include <mutex>
#include <ostream>
#include <set>

#include "backend/execute/executor.hpp"
#include "backend/init.hpp"
#include "backend/rank_context.hpp"
#include "core/plan/rank_map.hpp"
#include "tests/backend/train_runs.hpp"
#include "tests/support/changed_plans.hpp"

namespace pleat {
namespace {

using test::unsharded;

using test::folded_plan;

struct GroupCase {
  const char* name;
  Plan plan;
  friend std::ostream& operator<<(std::ostream& out, const GroupCase& c) { return out << c.name; }
};

Plan two_instances(Plan plan) {
  plan.optimizer_instances = 2;
  return plan;
}

std::vector<GroupCase> group_cases() {
  return {{"DP4_EP2", folded_plan({.dp = 4}, 1, 2)},
          {"TP2", folded_plan({.tp = 2}, 1, 1)},
          {"TP4_SharedKeyHeads", folded_plan({.tp = 4, .dp = 2}, 1, 2)},
          {"TP4_SharedKeyHeads_unsharded", unsharded(folded_plan({.tp = 4, .dp = 2}, 1, 2))},
          {"TP2_DP4_EP8", folded_plan({.tp = 2, .dp = 4}, 1, 8)},
          {"TP2_DP4_ETP2_EP2_EDP2", folded_plan({.tp = 2, .dp = 4}, 2, 2)},
          {"TP4_DP2_ETP2_EP4", folded_plan({.tp = 4, .dp = 2}, 2, 4)},
          // Bug: experts' gradients over the dense data-parallel group where ETP > 1 and EP = 1
          // (NVIDIA/Megatron-LM#1628).
          {"ETP2_EP1_EDP2", folded_plan({.dp = 4}, 2, 1)},
          {"ETP4_EP1_EDP2_unsharded", unsharded(folded_plan({.tp = 2, .dp = 4}, 4, 1))},
          {"TP2_DP2_PP2_EP4", folded_plan({.tp = 2, .dp = 2, .pp = 2}, 1, 4)},
          {"DP8_EP2_TwoInstances", two_instances(folded_plan({.dp = 8}, 1, 2))},
          {"TP2_DP4_ETP2_EP2_TwoInstances", two_instances(folded_plan({.tp = 2, .dp = 4}, 2, 2))}};
}

// By tensor, the sum of 2^r over the ranks that hold each element.
std::map<std::string, std::vector<float>> sums_of_holders(const Program& program) {
  std::map<std::string, std::vector<float>> sums;
  for (int r = 0; r < program.plan.world(); ++r) {
    const auto s = static_cast<std::size_t>(attention_coordinates(program.plan, Rank{r}).pp);
    const StageProgram& stage = program.stages[s];
    for (const ChunkProgram& chunk : stage.chunks) {
      for (const LayerInstance& instance : chunk.instances) {
        const LayerProgram& layer = stage.program(instance);
        for (const Weight& w : layer.weights) {
          if (w.buffer) continue;
          for (const NamedPart& p :
               named_parts(layer, instance, w, weight_rank(program.plan, Rank{r}))) {
            std::vector<float>& whole = sums[p.name];
            whole.resize(static_cast<std::size_t>(p.whole));
            for (const WeightRun& run : p.runs) {
              for (std::int64_t i = 0; i < run.elements; ++i) {
                whole[static_cast<std::size_t>(run.whole + i)] += std::ldexp(1.0F, r);
              }
            }
          }
        }
      }
    }
  }
  return sums;
}

class ReductionGroups : public testing::TestWithParam<GroupCase> {};
INSTANTIATE_TEST_SUITE_P(Plans, ReductionGroups, testing::ValuesIn(group_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(ReductionGroups, AreThoseThatHoldTheWeight) {
  ModelSpec gqa = test::small_moe();
  gqa.attention.qk_norm = true;
  for (const ModelSpec& model : {gqa, test::small_mla()}) {
    TrainConfig config = test::small_config();
    config.adjust_gradients = [](Rank rank, std::span<float> gradients) {
      std::fill(gradients.begin(), gradients.end(), std::ldexp(1.0F, rank.value));
    };
    const Program program = compile(model, test::small_workload(), GetParam().plan, Runtime::pleat);
    const auto want = sums_of_holders(program);
    const TrainResult result = train(program, config);
    test::expect_same_bits(result.gradients, want);
    double squares = 0;
    for (const auto& [name, values] : want) {
      for (float v : values) squares += std::pow(static_cast<double>(v), 2);
    }
    EXPECT_NEAR(result.steps[0].grad_norm, std::sqrt(squares), 1e-6 * std::sqrt(squares));
  }
}

// Every rank's copy of the weights, not only the last one that was collected.
TEST_P(ReductionGroups, ReplicasStepAlike) {
  const ModelSpec model = test::small_moe();
  const Program program = compile(model, test::small_workload(), GetParam().plan, Runtime::pleat);
  TrainConfig config = test::small_config(2);
  std::mutex mutex;
  std::map<std::string, std::map<std::int64_t, std::set<float>>> seen;  // by tensor and element
  config.after_step = [&](const StepBoundary& at) {
    if (at.next_step < 2) return;
    const Rank rank = at.context.rank();
    const auto s = static_cast<std::size_t>(at.context.attention().pp);
    const StageProgram& stage = program.stages[s];
    const std::lock_guard lock(mutex);
    std::map<Bucket, std::vector<float>> buckets;
    for (const Bucket b : {Bucket::dense, Bucket::expert}) {
      for (const BucketRange& all : at.executor.weights(b)) buckets[b] = all.values;  // one: whole
    }
    for (const LayerInstance& instance : stage.chunks[0].instances) {
      const LayerProgram& layer = stage.program(instance);
      for (std::size_t w = 0; w < layer.weights.size(); ++w) {
        const WeightSlot& slot = instance.slots[w];
        for (const NamedPart& p :
             named_parts(layer, instance, layer.weights[w], weight_rank(program.plan, rank))) {
          for (const WeightRun& run : p.runs) {  // the ends of each run are enough
            for (const std::int64_t i : {std::int64_t{0}, run.elements - 1}) {
              const auto local = static_cast<std::size_t>(slot.offset + p.offset + run.local + i);
              seen[p.name][run.whole + i].insert(buckets.at(slot.bucket)[local]);
            }
          }
        }
      }
    }
  };
  static_cast<void>(train(program, config));
  EXPECT_GT(seen.size(), 40U);
  for (const auto& [name, elements] : seen) {
    for (const auto& [element, values] : elements) EXPECT_EQ(values.size(), 1U) << name << element;
  }
}

}  // namespace
}  // namespace pleat
