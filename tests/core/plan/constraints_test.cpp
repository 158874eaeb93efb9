// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Golden messages of the named constraints, one valid folded plan as the base, and the promise that a
// rule that holds allocates nothing.
#include "core/plan/constraints.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <set>

#include "tests/core/plan/allocation_count.hpp"

namespace pleat {
namespace {

// DeepSeek-V3-like, 64 heads of GQA instead of MLA.
struct Case {
  ModelSpec model;
  WorkloadSpec workload;
  Plan plan;
  int gpus = 256;

  Case() {
    model.name = "test-moe";
    model.layers = 64;
    model.hidden = 7168;
    model.ffn = 18432;
    model.attention.heads = 64;
    model.attention.kv_groups = 8;
    model.attention.head_dim = 128;
    model.moe = MoeSpec{.experts = 256, .top_k = 8, .ffn = 2048, .shared_ffn = 2048};
    model.moe_layer.assign(64, true);
    model.moe_layer[0] = false;
    workload = {.seq_len = 4096, .global_batch = 4096};
    plan.attention = {.tp = 2, .cp = 2, .dp = 16, .pp = 4};
    plan.expert = {.etp = 2, .ep = 16, .edp = 2};
    plan.vpp = 4;
  }
  [[nodiscard]] PlanContext context() const { return {model, workload, plan, gpus}; }
  void make_dense() {
    model.moe.reset();
    model.moe_layer.assign(static_cast<std::size_t>(model.layers), false);
    plan.expert = {};
  }
};

using Edit = std::function<void(Case&)>;

// The edit breaks exactly this rule, with exactly this message and hint.
void expect_violation(const Edit& edit, const std::string& rule, const std::string& path,
                      const std::string& message, const std::string& hint,
                      ExitCode code = ExitCode::bad_request) {
  Case c;
  edit(c);
  const std::vector<Violation> found = violations(c.context());
  ASSERT_EQ(found.size(), 1u) << rule << (found.empty() ? "" : ": " + found.back().message);
  EXPECT_EQ(found[0].rule, rule);
  EXPECT_EQ(found[0].path, path);
  EXPECT_EQ(found[0].message, message);
  EXPECT_EQ(found[0].hint, hint);
  EXPECT_EQ(found[0].code, code);
  try {
    require_valid(c.context(), "plan.json");
    FAIL() << rule;
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.exit_code(), code);
    EXPECT_EQ(std::string(e.what()), "error: plan.json: " + path + ": " + message +
                                         (hint.empty() ? "" : "\n  hint: " + hint));
  }
}

TEST(Constraints, NamesAreUniqueAndTheBasePlanIsValid) {
  std::set<std::string> names;
  for (const Constraint& rule : constraints()) EXPECT_TRUE(names.insert(rule.name).second);
  EXPECT_EQ(names.size(), 28u);
  const Case c;
  EXPECT_TRUE(violations(c.context()).empty());
  EXPECT_NO_THROW(require_valid(c.context(), "plan.json"));
}

TEST(Constraints, ARuleThatHoldsAllocatesNothing) {
  Case c;
  c.plan.layout = "Et*4|(t*4|)*14t*4L";
  c.plan.recompute = {Module::moe_act, Module::layernorm};
  const PlanContext context = c.context();
  const std::vector<Constraint>& rules = constraints();
  const std::size_t before = allocation_count();
  bool all = true;
  for (const Constraint& rule : rules) all = rule.holds(context) && all;
  const std::size_t after = allocation_count();
  EXPECT_TRUE(all);
  EXPECT_EQ(after, before);
}

TEST(Constraints, PositiveDegrees) {
  expect_violation([](Case& c) { c.plan.attention.tp = 0; }, "degrees-positive", "attention.tp",
                   "must be at least 1, is 0", "");
  expect_violation([](Case& c) { c.plan.expert.ep = -4; }, "degrees-positive", "expert.ep",
                   "must be at least 1, is -4", "");
  expect_violation([](Case& c) { c.workload.global_batch = 0; }, "degrees-positive",
                   "workload.global_batch", "must be at least 1, is 0", "");
  expect_violation([](Case& c) { c.plan.microbatch_group = -1; }, "degrees-positive",
                   "microbatch_group", "must be at least 0 (0: PP), is -1", "");
}

TEST(Constraints, World) {
  expect_violation(
      [](Case& c) {
        c.make_dense();
        c.model.layers = 60;
        c.gpus = 96;
        c.plan.attention = {.tp = 8, .cp = 1, .dp = 2, .pp = 5};
        c.plan.vpp = 1;
      },
      "world", "attention", "96 is not a multiple of TP*PP*CP = 40", "nearest worlds 80, 120");
  expect_violation([](Case& c) { c.plan.attention.dp = 8; }, "world", "attention.dp",
                   "TP*CP*DP*PP = 2*2*8*4 = 128, but the world is 256", "DP 16 uses all 256");
}

TEST(Constraints, WorldSurvivesOverflow) {
  Case c;
  const int huge = std::numeric_limits<int>::max();
  c.plan.attention = {.tp = huge, .cp = huge, .dp = huge, .pp = huge};
  c.plan.expert = {.etp = huge, .ep = huge, .edp = huge};
  c.plan.vpp = huge;
  c.plan.micro_batch = huge;
  EXPECT_GE(violations(c.context()).size(), 4u);
  c.plan.layout = "Et*64L";
  EXPECT_GE(violations(c.context()).size(), 4u);
}

TEST(Constraints, ExpertGridIsToldApartFromTheDenseOne) {
  expect_violation(
      [](Case& c) {
        c.gpus = 64;
        c.plan.attention = {.tp = 2, .cp = 2, .dp = 4, .pp = 4};
        c.plan.expert = {.etp = 2, .ep = 16, .edp = 1};
      },
      "expert-grid", "expert", "expert grid: 64 is not a multiple of ETP*EP*PP = 2*16*4 = 128",
      "experts have their own grid, ETP*EP*EDP*PP = world; the dense grid TP*CP*DP*PP fits; with ETP 2 "
      "and PP 4, EP can be 1 2 4 8");
  expect_violation([](Case& c) { c.plan.expert.edp = 4; }, "expert-grid", "expert.edp",
                   "expert grid: ETP*EP*EDP*PP = 2*16*4*4 = 512, but the world is 256",
                   "EDP 2 uses all 256; the dense grid TP*CP*DP*PP fits");
}

TEST(Constraints, ExpertsDivisible) {
  expect_violation(
      [](Case& c) {
        c.model.moe->experts = 160;
        c.plan.expert = {.etp = 1, .ep = 64, .edp = 1};
      },
      "experts-divisible", "expert.ep", "160 experts cannot be split over EP 64",
      "divisors up to 64: 1 2 4 5 8 10 16 20 32 40");
}

TEST(Constraints, DenseModelHasNoExpertMapping) {
  expect_violation(
      [](Case& c) {
        c.make_dense();
        c.plan.sequence_parallel = true;
        c.plan.expert.ep = 4;
      },
      "dense-mapping", "expert", "test-moe has no experts, but ETP is 1 and EP 4",
      "a dense model needs ETP 1 and EP 1");
}

TEST(Constraints, HeadsNameBothCountsAndAllowedDegrees) {
  const auto with_tp = [](int tp, int world) {
    return [=](Case& c) {
      c.make_dense();
      c.model.ffn = 48 * 4096;
      c.workload.seq_len = 48 * 256;
      c.gpus = world;
      c.plan.attention = {.tp = tp, .cp = 1, .dp = 1, .pp = 1};
      c.plan.vpp = 1;
    };
  };
  expect_violation(with_tp(48, 48), "heads-divisible", "attention.tp",
                   "64 heads with 8 kv groups cannot be split over TP 48",
                   "allowed TP: 1 2 4 8 16 32 64");
  expect_violation(
      [&](Case& c) {
        with_tp(12, 12)(c);
        c.model.attention.heads = 96;
      },
      "heads-divisible", "attention.tp", "96 heads with 8 kv groups cannot be split over TP 12",
      "allowed TP: 1 2 4 8 16 24 32 48 96");
  expect_violation(
      [&](Case& c) {
        with_tp(3, 3)(c);
        c.model.attention.kind = AttentionKind::mla;
      },
      "heads-divisible", "attention.tp", "64 heads cannot be split over TP 3",
      "allowed TP: 1 2 4 8 16 32 64");
}

TEST(Constraints, FewerKvGroupsThanTensorRanksAreAllowed) {
  Case c;
  c.plan.attention = {.tp = 16, .cp = 1, .dp = 4, .pp = 4};
  EXPECT_TRUE(violations(c.context()).empty());
}

TEST(Constraints, FfnWidths) {
  expect_violation([](Case& c) { c.model.ffn = 18431; }, "ffn-divisible", "attention.tp",
                   "18431 FFN columns cannot be split over TP 2", "divisors up to 2: 1");
  expect_violation([](Case& c) { c.model.moe->shared_ffn = 2047; }, "shared-ffn-divisible",
                   "attention.tp", "2047 shared-expert FFN columns cannot be split over TP 2",
                   "divisors up to 2: 1");
  expect_violation([](Case& c) { c.model.moe->ffn = 2047; }, "expert-ffn-divisible", "expert.etp",
                   "2047 expert FFN columns cannot be split over ETP 2", "divisors up to 2: 1");
  Case all_moe;  // a dense width that no layer uses
  all_moe.model.ffn = 18431;
  all_moe.model.moe_layer[0] = true;
  EXPECT_TRUE(violations(all_moe.context()).empty());
}

TEST(Constraints, SequenceLength) {
  expect_violation(
      [](Case& c) {
        c.workload.seq_len = 4095;
        c.plan.attention = {.tp = 1, .cp = 4, .dp = 16, .pp = 4};
      },
      "context-divisible", "workload.seq_len", "sequence length 4095 must be a multiple of 2*CP = 8",
      "nearest 4088, 4096");
  expect_violation(
      [](Case& c) {
        c.workload.seq_len = 4094;
        c.plan.attention = {.tp = 4, .cp = 1, .dp = 16, .pp = 4};
      },
      "sequence-divisible", "workload.seq_len",
      "sequence length 4094 must be a multiple of TP*CP = 4 under sequence parallelism",
      "nearest 4092, 4096");
  Case odd;  // any length goes without CP and TP
  odd.workload.seq_len = 4095;
  odd.plan.attention = {.tp = 1, .cp = 1, .dp = 64, .pp = 4};
  EXPECT_TRUE(violations(odd.context()).empty());
}

TEST(Constraints, LayersWithoutALayoutOfferTheBalancedOne) {
  expect_violation(
      [](Case& c) {
        c.model.layers = 61;
        c.model.moe_layer.resize(61);
        c.plan.attention = {.tp = 1, .cp = 1, .dp = 16, .pp = 16};
        c.plan.expert = {.etp = 1, .ep = 16, .edp = 1};
        c.plan.vpp = 1;
      },
      "layers-per-stage", "layout",
      "61 layers cannot be split evenly over PP*VPP = 16*1 = 16 stages",
      "balanced layout: Et*3|(t*4|)*13t*3|t*3L");
  Case llama;  // 126 layers with embedding and loss as one each
  llama.model.layers = 126;
  llama.model.moe_layer.resize(126, true);
  llama.plan.vpp = 8;
  EXPECT_TRUE(violations(llama.context()).empty());
}

TEST(Constraints, LayoutMessagesAndExitCodes) {
  const auto with = [](const std::string& layout) {
    return [=](Case& c) {
      c.plan.attention = {.tp = 2, .cp = 2, .dp = 32, .pp = 2};
      c.plan.expert = {.etp = 2, .ep = 16, .edp = 4};
      c.plan.vpp = 1;
      c.plan.layout = layout;
    };
  };
  const std::string offer = "balanced layout: Et*32|t*32L";
  expect_violation(with("Et*32|t*32"), "layout", "layout",
                   "no L (loss): the layout ends at position 10 after 64 decoder layers", offer);
  expect_violation(with("Et*31|t*32L"), "layout", "layout",
                   "63 decoder layers (t), the model has 64; the last t is at position 7", offer);
  expect_violation(with("t*64L"), "layout", "layout",
                   "no E (embedding) at position 1; 1 virtual stages, but PP*VPP = 2*1 = 2", offer);
  expect_violation(with("Et*32(|t*32L"), "layout", "layout", "'(' without ')' at position 6", offer);
  expect_violation(with("t*1000000000"), "layout", "layout", "expanded layout longer than 100000",
                   offer, ExitCode::bad_file);
}

TEST(Constraints, GlobalBatch) {
  expect_violation(
      [](Case& c) {
        c.workload.global_batch = 1000;
        c.plan.attention = {.tp = 1, .cp = 1, .dp = 64, .pp = 4};
        c.plan.micro_batch = 3;
      },
      "batch-divisible", "workload.global_batch",
      "1000 is not a multiple of 192 (DP 64 * micro batch 3)", "nearest 960, 1152");
  expect_violation([](Case& c) { c.workload.global_batch = 8; }, "batch-divisible",
                   "workload.global_batch", "8 is not a multiple of 16 (DP 16 * micro batch 1)",
                   "nearest 16");
}

TEST(Constraints, Interleaving) {
  expect_violation(
      [](Case& c) {
        c.plan.attention = {.tp = 2, .cp = 2, .dp = 64, .pp = 1};
        c.plan.expert = {.etp = 2, .ep = 16, .edp = 8};
      },
      "interleaving-needs-pipeline", "vpp", "VPP 4 needs a pipeline, but PP is 1",
      "VPP 1, or PP of at least 2");
  expect_violation([](Case& c) { c.workload.global_batch = 48; }, "interleaving-microbatches", "vpp",
                   "interleaving needs at least PP = 4 microbatches, there are 3",
                   "VPP 1, PP of at most 3, or a global batch of at least 64");
}

TEST(Constraints, MicrobatchGroups) {
  const auto with = [](int group, int microbatches) {
    return [=](Case& c) {
      c.plan.microbatch_group = group;
      c.workload.global_batch = 16 * microbatches;
    };
  };
  expect_violation(with(3, 12), "microbatch-group", "microbatch_group",
                   "groups of 3 microbatches: must be between PP = 4 and the 12 microbatches",
                   "allowed, smallest first: 4 6 7 8 12");
  expect_violation(with(16, 12), "microbatch-group", "microbatch_group",
                   "groups of 16 microbatches: must be between PP = 4 and the 12 microbatches",
                   "allowed, smallest first: 4 6 7 8 12");
  expect_violation(with(5, 12), "microbatch-group", "microbatch_group",
                   "groups of 5 leave 2 of 12 microbatches over, fewer than PP = 4",
                   "allowed, smallest first: 4 6 7 8 12");
  expect_violation(with(0, 6), "microbatch-group", "microbatch_group",
                   "groups of 4 leave 2 of 6 microbatches over, fewer than PP = 4",
                   "allowed, smallest first: 6");
  Case c;
  with(7, 12)(c);  // 5 left over, at least PP
  EXPECT_TRUE(violations(c.context()).empty());
}

TEST(Constraints, SequenceParallelUnderExperts) {
  expect_violation([](Case& c) { c.plan.sequence_parallel = false; },
                   "tp-experts-need-sequence-parallel", "sequence_parallel",
                   "TP 2 with EP 16 needs sequence parallelism", "turn sequence_parallel on, or TP 1");
}

TEST(Constraints, ExpertParallelOverlap) {
  expect_violation(
      [](Case& c) {
        c.plan.overlap.expert_parallel = true;
        c.plan.expert = {.etp = 1, .ep = 1, .edp = 64};
      },
      "ep-overlap-needs-ep", "overlap.expert_parallel",
      "overlap of expert-parallel communication needs EP > 1, EP is 1", "");
  expect_violation(
      [](Case& c) {
        c.plan.overlap.expert_parallel = true;
        c.plan.vpp = 1;
      },
      "ep-overlap-needs-interleaving", "overlap.expert_parallel",
      "overlap of expert-parallel communication with PP 4 needs VPP > 1",
      "plain 1F1B has no forward to pair with a backward of another microbatch");
  expect_violation(
      [](Case& c) {
        c.plan.overlap.expert_parallel = true;
        c.plan.recompute = {Module::moe};
      },
      "ep-overlap-recompute", "recompute",
      "whole-moe recompute excludes overlap of expert-parallel communication",
      "modules inside the MoE layer can be recomputed: moe_act shared_experts");
  expect_violation(
      [](Case& c) {
        c.plan.overlap.expert_parallel = true;
        c.plan.recompute_full = true;
      },
      "ep-overlap-recompute", "recompute",
      "full recompute excludes overlap of expert-parallel communication",
      "modules inside the MoE layer can be recomputed: moe_act shared_experts");
  expect_violation(
      [](Case& c) {
        c.plan.overlap.expert_parallel = true;
        c.plan.dispatcher = Dispatcher::allgather;
      },
      "ep-overlap-dispatcher", "dispatcher",
      "overlap of expert-parallel communication excludes the allgather dispatcher",
      "alltoall, deepep or hybridep");
  expect_violation([](Case& c) { c.plan.overlap.delay_wgrad = true; }, "delay-wgrad-needs-overlap",
                   "overlap.delay_wgrad", "delayed weight gradients need overlap.expert_parallel", "");
  Case one_stage;
  one_stage.plan.overlap.expert_parallel = true;
  one_stage.plan.attention = {.tp = 2, .cp = 2, .dp = 64, .pp = 1};
  one_stage.plan.expert = {.etp = 2, .ep = 16, .edp = 8};
  one_stage.plan.vpp = 1;
  EXPECT_TRUE(violations(one_stage.context()).empty());
}

TEST(Constraints, Recompute) {
  expect_violation([](Case& c) { c.plan.recompute = {Module::moe_act, Module::router}; },
                   "recompute-modules", "recompute", "router cannot be recomputed",
                   "allowed: layernorm mla_up_proj core_attn mlp moe_act shared_experts moe");
  expect_violation(
      [](Case& c) {
        c.plan.recompute_full = true;
        c.plan.recompute = {Module::moe_act};
      },
      "recompute-once", "recompute", "full recompute already contains moe_act",
      "recompute_full, or a list of modules");
  expect_violation([](Case& c) { c.plan.recompute = {Module::mla_up_proj}; }, "recompute-present",
                   "recompute", "test-moe has no mla_up_proj to recompute", "");
  expect_violation(
      [](Case& c) {
        c.model.moe->shared_ffn = 0;
        c.plan.recompute = {Module::shared_experts};
      },
      "recompute-present", "recompute", "test-moe has no shared_experts to recompute", "");
  expect_violation(
      [](Case& c) {
        c.plan.recompute_full = true;
        c.plan.cuda_graph = CudaGraph::partial;
      },
      "recompute-graph", "cuda_graph", "full recompute excludes partial CUDA graphs",
      "none or full_iteration");
}

TEST(Constraints, Sharding) {
  expect_violation([](Case& c) { c.plan.sharding = Sharding::zero3; }, "sharding-pipeline", "sharding",
                   "zero3 needs PP 1, PP is 4: gradients would be reduced once per microbatch",
                   "none or zero1 with a pipeline");
}

TEST(Constraints, AllViolationsAtOnce) {
  Case c;
  c.plan.sharding = Sharding::zero2;
  c.workload.global_batch = 4100;
  c.plan.layout = "t*64L";
  try {
    require_valid(c.context(), "--plan");
    FAIL();
  } catch (const ConfigError& e) {
    ASSERT_EQ(e.diagnostics().size(), 3u);
    EXPECT_EQ(e.diagnostics()[0].path, "layout");
    EXPECT_EQ(e.diagnostics()[1].path, "workload.global_batch");
    EXPECT_EQ(e.diagnostics()[2].path, "sharding");
    EXPECT_EQ(e.exit_code(), ExitCode::bad_request);
  }
}

}  // namespace
}  // namespace pleat
