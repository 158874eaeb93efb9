// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a search finds for Pleat's own runtime is what its executor runs: every plan of the space,
// with nothing pinned and with every value of every choice.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "backend/supported.hpp"
#include "core/diagnostics.hpp"
#include "core/plan/executed_formats.hpp"
#include "planner/space/runtime_rules.hpp"
#include "tests/planner/search/small_case.hpp"
#include "tests/planner/space/every_plan.hpp"

namespace pleat {
namespace {

constexpr Precision kPrecisions[] = {Precision::fp32,        Precision::fp16,
                                     Precision::bf16,        Precision::fp8,
                                     Precision::fp8_delayed, Precision::fp8_block,
                                     Precision::mxfp8,       Precision::nvfp4};

ModelSpec planned_moe() {
  ModelSpec m = test::small_model();
  m.layers = 4;
  m.moe_layer = {false, true, true, true};
  return m;
}

// Its first and last stages hold the table.
ModelSpec tied_dense() {
  ModelSpec m = planned_moe();
  m.name = "small-tied";
  m.tied_embeddings = true;
  return m;
}

ModelSpec dense_of_four() {
  ModelSpec m = planned_moe();
  m.name = "small-dense";
  m.moe.reset();
  m.moe_layer.assign(4, false);
  return m;
}

SearchConfig config_for(Precision p) {
  SearchConfig c = test::small_search(4);
  c.runtime = Runtime::pleat;
  c.numerics.front().precision = p;
  // What is recomputed excludes nothing here: two choices stand for all.
  RecomputeChoice whole;
  whole.full = true;
  c.recompute_sets = {{}, whole};
  c.offload = false;
  return c;
}

// How many plans of the space there are, all of which run.
int plans_that_run(const ModelSpec& model, const SearchConfig& config, const std::string& what,
                   const WorkloadSpec& workload = test::short_workload()) {
  Program program;
  program.model = model;
  program.workload = workload;
  int plans = 0, refused = 0;
  for (const SpacePlan& p :
       enumerate_plans({model, test::small_cluster(), program.workload, {}}, config)) {
    program.plan = p.plan;
    program.stages.clear();  // what they hold is no part of most rules
    if (plans++ % 100 == 0) program = compile(model, program.workload, p.plan, Runtime::pleat);
    try {
      require_supported(program);
    } catch (const ConfigError& e) {
      if (++refused < 3) {
        ADD_FAILURE() << model.name << ", " << what << ": " << summary(p.plan) << ": "
                      << e.diagnostics()[0].message;
      }
    }
  }
  EXPECT_EQ(refused, 0);
  return plans;
}

TEST(PlannedSpace, OfEveryPrecisionRuns) {
  for (const ModelSpec& model : {planned_moe(), dense_of_four()}) {
    for (const Precision p : kPrecisions) {
      Plan plan;
      plan.precision = p;
      const int plans = plans_that_run(model, config_for(p), name_of(p));
      EXPECT_EQ(plans > 0, refused_formats(model, plan).empty()) << name_of(p);
    }
  }
}

// Pins as a user may set them, one after another.
TEST(PlannedSpace, OfEveryPinnedValueRuns) {
  using Change = std::function<void(SearchConfig&)>;
  std::vector<std::pair<std::string, Change>> pins;
  const auto pin = [&](const std::string& name, Change change) { pins.emplace_back(name, change); };
  for (const Sharding s : {Sharding::none, Sharding::zero1, Sharding::zero2, Sharding::zero3}) {
    pin(name_of(s), [s](SearchConfig& c) { c.pin<"sharding">() = s; });
  }
  for (const Dispatcher d : {Dispatcher::allgather, Dispatcher::alltoall, Dispatcher::deepep,
                             Dispatcher::hybridep, Dispatcher::hierarchical}) {
    pin(name_of(d), [d](SearchConfig& c) { c.pin<"dispatcher">() = d; });
  }
  for (const CpComm k : {CpComm::p2p, CpComm::all_gather, CpComm::all_to_all, CpComm::a2a_p2p}) {
    pin(name_of(k), [k](SearchConfig& c) { c.pin<"cp-comm">() = k; });
  }
  for (const PipelineSchedule s :
       {PipelineSchedule::one_f_one_b, PipelineSchedule::zb_h1, PipelineSchedule::zb_v,
        PipelineSchedule::dualpipe, PipelineSchedule::dualpipe_v}) {
    pin(name_of(s), [s](SearchConfig& c) { c.pin<"schedule">() = {s}; });
  }
  pin("hybrid sharding", [](SearchConfig& c) { c.hybrid_sharding = true; });
  pin("expert overlap",
      [](SearchConfig& c) { c.pin<"ep-overlap">() = c.pin<"delay-wgrad">() = true; });
  pin("overlap",
      [](SearchConfig& c) { c.pin<"tp-overlap">() = c.pin<"shared-expert-overlap">() = true; });
  pin("state in host memory", [](SearchConfig& c) { c.optimizer_offload = true; });
  pin("step on the CPU", [](SearchConfig& c) { c.cpu_optimizer = true; });
  for (const OptimizerKind k :
       {OptimizerKind::adamw, OptimizerKind::lamb, OptimizerKind::sgd, OptimizerKind::muon}) {
    pin(name_of(k), [k](SearchConfig& c) { c.numerics.front().optimizer.kind = k; });
  }
  for (const DType t : {DType::fp32, DType::bf16, DType::fp16, DType::fp8, DType::remainder16}) {
    const std::string name(name_of(t));
    pin("main gradients " + name,
        [t](SearchConfig& c) { c.numerics.front().optimizer.main_grads = t; });
    pin("main parameters " + name,
        [t](SearchConfig& c) { c.numerics.front().optimizer.main_params = t; });
    pin("moments " + name, [t](SearchConfig& c) {
      c.numerics.front().optimizer.exp_avg = c.numerics.front().optimizer.exp_avg_sq = t;
    });
  }
  pin("narrow attention", [](SearchConfig& c) {
    c.numerics.front().precision = Precision::mxfp8;
    c.numerics.front().fp8_attention = c.numerics.front().fp8_head = true;
  });
  pin("narrow rows", [](SearchConfig& c) {
    c.numerics.front().precision = Precision::fp8;
    c.numerics.front().fp8_dispatch = c.numerics.front().fp8_combine = true;
    c.numerics.front().fp8_params = false;
  });
  std::set<std::string> empty, empty_tied;
  for (const auto& [name, change] : pins) {
    SearchConfig config = config_for(Precision::bf16);
    config.pin<"tp">() = {1, 2};
    change(config);
    if (plans_that_run(planned_moe(), config, name) == 0) empty.insert(name);
    config.pin<"pp">() = {2};
    if (plans_that_run(tied_dense(), config, name) == 0) empty_tied.insert(name);
  }
  // Types that are none of what is pinned to them.
  const std::set<std::string> nothing{"main gradients fp16",  "main gradients fp8",
                                      "main gradients remainder16", "main parameters bf16",
                                      "main parameters fp16", "main parameters fp8",
                                      "moments remainder16"};
  EXPECT_EQ(empty, nothing);
  std::set<std::string> nothing_tied = nothing;
  nothing_tied.insert("narrow attention");  // and the narrow output projection
  // With pipelines of two stages on four ranks.
  for (const char* other : {"zero2", "zero3", "a2a+p2p"}) nothing_tied.insert(other);
  EXPECT_EQ(empty_tied, nothing_tied);
}

// So few tokens that ranks of TP share blocks of 16.
TEST(PlannedSpace, OfShortSequencesRuns) {
  SearchConfig config = config_for(Precision::nvfp4);
  config.pin<"tp">() = {4};
  WorkloadSpec workload = test::short_workload();
  workload.seq_len = 8;
  EXPECT_GT(plans_that_run(planned_moe(), config, "nvfp4", workload), 0);
}

}  // namespace
}  // namespace pleat
