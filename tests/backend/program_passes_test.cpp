// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What changes when and where something is computed or kept, and not what: recompute, activations
// in host memory, microbatches that overlap. The same bits as without, and as many bytes as
// predicted, in device and host memory.
#include <atomic>
#include <map>
#include <mutex>
#include <ostream>

#include "core/plan/rank_map.hpp"
#include "simulator/estimate.hpp"
#include "tests/backend/train_runs.hpp"
#include "tests/support/changed_plans.hpp"

namespace pleat {
namespace {

using test::interleaved;

using test::fp32_plan;
using test::tp_plan;

struct PassCase {
  std::string name;
  Plan plan;
  friend std::ostream& operator<<(std::ostream& out, const PassCase& c) { return out << c.name; }
};

// The same layout without the passes.
Plan plain(Plan plan) {
  plan.recompute.clear();
  plan.recompute_full = false;
  plan.recompute_layers = 0;
  plan.recompute_unit = 1;
  plan.offload.clear();
  plan.offload_layers = 0;
  plan.stages.clear();
  plan.overlap.expert_parallel = plan.overlap.delay_wgrad = false;
  return plan;
}

std::vector<PassCase> recompute_cases() {
  std::vector<PassCase> all;
  for (const Module m : {Module::layernorm, Module::core_attn, Module::mlp, Module::moe_act,
                         Module::shared_experts, Module::moe}) {
    Plan plan = fp32_plan(2, 2);
    plan.recompute = {m};
    all.push_back({"recompute_" + name_of(m), plan});
  }
  Plan full = tp_plan(2, 2, 2);
  full.recompute_full = true;
  all.push_back({"full", full});
  Plan block = interleaved(fp32_plan(2, 2, 2));
  block.recompute_full = true;
  block.recompute_layers = 1;
  all.push_back({"block", block});
  for (const int unit : {2, 3, 4}) {
    Plan uniform = fp32_plan(2, 2);
    uniform.recompute_full = true;
    uniform.recompute_unit = unit;
    all.push_back({"uniform_" + std::to_string(unit), uniform});
  }
  Plan piped = tp_plan(2, 1, 2, 2);
  piped.recompute_full = true;
  piped.recompute_unit = 2;
  all.push_back({"uniform_pipelined", piped});
  Plan stages = tp_plan(2, 2, 2, 2);  // one stage all again, the other some modules
  stages.recompute = {Module::layernorm};
  stages.stages = {{.stage = 0, .recompute = {}, .recompute_full = true, .offload = {}},
                   {.stage = 1, .recompute = {Module::moe_act}, .offload = {}}};
  all.push_back({"by_stage", stages});
  for (const PipelineSchedule order :
       {PipelineSchedule::one_f_one_b, PipelineSchedule::zb_v, PipelineSchedule::dualpipe_v}) {
    Plan folded = interleaved(fp32_plan(1, 1, 2), order);
    folded.stages = {{.stage = 1,
                      .recompute = {},
                      .recompute_full = true,
                      .recompute_layers = 1,
                      .offload = {}}};
    all.push_back({"by_stage_" + std::to_string(static_cast<int>(order)), folded});
  }
  return all;
}

std::vector<PassCase> offload_cases() {
  std::vector<PassCase> all;
  for (const Offload what : {Offload::attn_norm, Offload::qkv_linear, Offload::core_attn,
                             Offload::mlp_norm, Offload::expert_fc1, Offload::moe_act}) {
    Plan plan = fp32_plan(2, 2);
    plan.offload = {what};
    all.push_back({"offload_" + name_of(what), plan});
  }
  const std::set<Offload> every{Offload::attn_norm, Offload::qkv_linear, Offload::core_attn,
                                Offload::attn_proj, Offload::mlp_norm,   Offload::expert_fc1,
                                Offload::moe_act};
  for (PassCase c : {PassCase{"one_rank", fp32_plan()}, PassCase{"pipelined", fp32_plan(2, 2, 2)},
                     PassCase{"interleaved", interleaved(fp32_plan(1, 1, 2))},
                     PassCase{"tensor", tp_plan(2, 2, 2)},
                     PassCase{"ZB_V", interleaved(fp32_plan(1, 1, 2), PipelineSchedule::zb_v)}}) {
    c.plan.offload = every;
    all.push_back({"offload_all_" + c.name, c.plan});
  }
  Plan last = fp32_plan(2, 2, 2);
  last.offload = every;
  last.stages = {{.stage = 0, .recompute = {Module::core_attn}, .offload = {Offload::mlp_norm}}};
  all.push_back({"offload_by_stage", last});
  Plan layers = fp32_plan(2, 2);
  layers.offload_layers = 2;
  all.push_back({"offload_layers", layers});
  Plan both = fp32_plan(2, 2);
  both.recompute = {Module::moe_act};
  both.offload = {Offload::attn_norm, Offload::core_attn};
  all.push_back({"offload_and_recompute", both});
  Plan shards = fp32_plan(4, 2);
  shards.sharding = Sharding::zero3;
  shards.offload = every;
  all.push_back({"offload_ZeRO3", shards});
  return all;
}

std::vector<PassCase> overlap_cases() {
  Plan etp = test::folded_plan({2, 1, 2, 1}, 2, 2);
  Plan full = fp32_plan(2, 2);
  full.recompute = {Module::moe_act};
  std::vector<PassCase> layouts{
      {"EP2", fp32_plan(2, 2)},
      {"TP2_EP4", tp_plan(2, 2, 4)},
      {"ETP2_EP2", etp},
      {"recomputed", full},
      {"PP2_VPP2_EP2", interleaved(fp32_plan(2, 2, 2))},
      {"DualPipe", interleaved(fp32_plan(2, 2, 2), PipelineSchedule::dualpipe_v)}};
  std::vector<PassCase> all;
  for (PassCase c : layouts) {
    c.plan.overlap.expert_parallel = true;
    all.push_back({"overlap_" + c.name, c.plan});
    c.plan.overlap.delay_wgrad = true;
    all.push_back({"overlap_delay_wgrad_" + c.name, c.plan});
  }
  return all;
}

std::vector<PassCase> in(Precision precision, const std::vector<PassCase>& cases) {
  std::vector<PassCase> all;
  for (PassCase c : cases) {
    c.plan.precision = precision;
    c.plan.fp8_params = false;
    c.name += "_" + name_of(precision);
    all.push_back(c);
  }
  return all;
}

WorkloadSpec workload() { return {.seq_len = 16, .global_batch = 12}; }

class Passes : public testing::TestWithParam<PassCase> {};

TEST_P(Passes, ChangeNoBit) {
  const Plan& plan = GetParam().plan;
  TrainConfig config = test::small_config(2);
  test::skew(config);
  for (ModelSpec model : {test::biased(test::small_moe()), test::small_mla()}) {
    model.moe->aux_loss = 0.01;
    model.moe->bias_update = 1e-3;
    const TrainResult without = test::run(model, plain(plan), config, workload());
    const TrainResult with = test::run(model, plan, config, workload());
    for (std::size_t s = 0; s < 2; ++s) {
      EXPECT_EQ(with.steps[s].loss, without.steps[s].loss);
      EXPECT_EQ(with.steps[s].grad_norm, without.steps[s].grad_norm);
      EXPECT_EQ(with.steps[s].extra.aux, without.steps[s].extra.aux);
      EXPECT_EQ(with.steps[s].expert_load, without.steps[s].expert_load);
    }
    test::expect_same_bits(with.gradients, without.gradients);
    test::expect_same_bits(with.weights, without.weights);
  }
}

void expect_bytes(const Plan& plan, const ModelSpec& model, bool recorded) {
  TrainConfig config = test::small_config(recorded ? 1 : 2);
  config.forced_routing = !recorded;
  if (recorded) test::skew(config);
  const Program program = compile(model, workload(), plan, Runtime::pleat);
  const TrainResult result = train(program, config);
  const std::int64_t balanced = balanced_routed_tokens(model, workload(), plan);
  for (int r = 0; r < plan.world(); ++r) {
    const RankMeasurement& rank = result.ranks[static_cast<std::size_t>(r)];
    const StageProgram& stage =
        program.stages[static_cast<std::size_t>(attention_coordinates(plan, Rank{r}).pp)];
    const RoutedCount rows = [&](MicroBatch m, LayerIndex l) {
      return recorded ? rank.routed.at({m.value, l.value}) : Binding{.routed = balanced};
    };
    EXPECT_EQ(rank.peak_live_bytes, peak_live_bytes(stage, rows)) << r;
    EXPECT_EQ(rank.peak_host_bytes, peak_host_bytes(stage, rows)) << r;
    const bool away = !plan.offload.empty() || plan.offload_layers > 0;
    EXPECT_EQ(rank.peak_host_bytes > 0, away) << r;
  }
}

TEST_P(Passes, HoldAsManyBytesAsPredicted) {
  expect_bytes(GetParam().plan, test::small_moe(), false);
  expect_bytes(GetParam().plan, test::small_mla(), false);
  expect_bytes(GetParam().plan, test::biased(test::small_moe()), true);
}

std::string name_of_case(const testing::TestParamInfo<PassCase>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Recompute, Passes, testing::ValuesIn(recompute_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Offload, Passes, testing::ValuesIn(offload_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Overlap, Passes, testing::ValuesIn(overlap_cases()), name_of_case);

#define PLEAT_PASSES_IN(precision)                                                         \
  INSTANTIATE_TEST_SUITE_P(Recompute_##precision, Passes,                                  \
                           testing::ValuesIn(in(Precision::precision, recompute_cases())), \
                           name_of_case);                                                  \
  INSTANTIATE_TEST_SUITE_P(Offload_##precision, Passes,                                    \
                           testing::ValuesIn(in(Precision::precision, offload_cases())),   \
                           name_of_case);                                                  \
  INSTANTIATE_TEST_SUITE_P(Overlap_##precision, Passes,                                    \
                           testing::ValuesIn(in(Precision::precision, overlap_cases())),   \
                           name_of_case)
PLEAT_PASSES_IN(bf16);
PLEAT_PASSES_IN(mxfp8);
PLEAT_PASSES_IN(fp8_delayed);

TEST(Offload, FreesDeviceMemory) {
  TrainConfig config = test::small_config(1);
  config.forced_routing = true;
  Plan plan = fp32_plan(1, 1, 2);
  const auto peak = [&] { return test::run(test::small_moe(), plan, config, workload()).ranks[0]; };
  const RankMeasurement kept = peak();
  plan.offload = {Offload::attn_norm, Offload::core_attn, Offload::moe_act};
  const RankMeasurement away = peak();
  EXPECT_EQ(kept.peak_host_bytes, 0);
  EXPECT_GT(away.peak_host_bytes, 0);
  EXPECT_LT(away.peak_live_bytes, kept.peak_live_bytes);
}

// Routing is decided once: what is computed again reads the first decision.
TEST(RecomputeBugs, RoutesAnotherWayTheSecondTime) {
  for (const int unit : {1, 2}) {
    Plan plan = fp32_plan(2, 2);
    plan.recompute_full = true;
    plan.recompute_unit = unit;
    TrainConfig config = test::small_config(1);
    std::mutex mutex;
    std::map<OpKind, int> forward, again;
    config.before_op = [&](Rank, const Op& op, int) {
      const std::lock_guard lock(mutex);
      if (op.phase == Phase::forward) ++forward[op.kind];
      if (op.phase == Phase::recompute) ++again[op.kind];
    };
    static_cast<void>(test::run(test::small_moe(), plan, config, workload()));
    for (const OpKind decides :
         {OpKind::router_topk, OpKind::expert_counts, OpKind::local_counts}) {
      EXPECT_EQ(again[decides], 0) << name_of(decides);
      EXPECT_EQ(forward[decides] % (2 * 6 * 3), 0) << name_of(decides);
    }
    EXPECT_EQ(forward[OpKind::router_topk], 2 * 6 * 3);  // ranks, microbatches, layers with experts
    EXPECT_GT(again[OpKind::permute], 0);
    EXPECT_GT(again[OpKind::exchange_rows], 0);
  }
}

// The order that a pair states is the one that runs: a forward operation between two backward ones.
TEST(Overlap, RunsTheOrderOfThePairs) {
  Plan plan = fp32_plan(2, 2);
  TrainConfig config = test::small_config(1);
  const auto turns = [&] {  // between forward and backward of the decoder layers
    std::atomic<int> count = 0;
    Phase last = Phase::step;
    config.before_op = [&](Rank rank, const Op& op, int) {
      if (rank.value != 0 || op.phase == Phase::step) return;
      const bool turned = (op.phase == Phase::forward) != (last == Phase::forward);
      count += turned ? 1 : 0;
      last = op.phase;
    };
    static_cast<void>(test::run(test::small_moe(), plan, config, workload()));
    return count.load();
  };
  const int alone = turns();
  EXPECT_EQ(alone, 2 * 6);  // six microbatches
  plan.overlap.expert_parallel = true;
  const int paired = turns();
  EXPECT_GT(paired, 5 * 3 * 4);  // five pairs, three MoE layers each, two exchanges each
}

}  // namespace
}  // namespace pleat
