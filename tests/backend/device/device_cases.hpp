// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Runs that between them use every way in which the executor touches memory.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "tests/backend/layouts.hpp"
#include "tests/backend/model_cases.hpp"
#include "tests/backend/train_runs.hpp"
#include "tests/support/fused_programs.hpp"

namespace pleat::test {

struct DeviceCase {
  std::string name;
  Plan plan;
  ModelSpec model = small_moe();
  WorkloadSpec workload = small_workload();
  bool forced = false;
  friend std::ostream& operator<<(std::ostream& out, const DeviceCase& c) { return out << c.name; }
};

inline Plan changed(Plan plan, void (*change)(Plan&)) {
  change(plan);
  return plan;
}

inline Plan in_precision(Precision precision, Plan plan) {
  plan.precision = precision;
  return plan;
}

inline Plan context_plan(CpComm comm, int cp) {
  Plan p = folded_plan({.cp = cp}, 1, 1);
  p.sharding = Sharding::zero1;
  p.cp_comm = comm;
  return p;
}

inline std::vector<DeviceCase> device_cases() {
  const Plan pair = fp32_plan(2, 2), narrow = changed(pair, [](Plan& p) {
    p.precision = Precision::bf16;
    p.optimizer.main_grads = DType::bf16;
    p.optimizer.exp_avg = DType::fp8;
    p.optimizer.exp_avg_sq = DType::fp16;
  });
  WorkloadSpec capped = small_workload(), padded = capped, packed = capped;
  capped.capacity_factor = padded.capacity_factor = 1.0;
  padded.pad_to_capacity = true;
  packed.documents = {5, 9, 7};
  WorkloadSpec loaded = small_workload();
  loaded.routing = Routing::natural;
  loaded.expert_loads = {{1, {40, 20, 2, 3, 4, 0, 5, 7}}, {2, {1, 2, 3, 4, 40, 30, 2, 1}}};
  const auto by_load = [](Plan plan, int redundant) {
    plan.expert.placement = ExpertPlacement::by_load;
    plan.expert.redundant = redundant;
    return plan;
  };
  std::vector<DeviceCase> all{
      {"OneRank", fp32_plan()},
      {"Folded", folded_plan({.tp = 2, .dp = 2, .pp = 2}, 2, 2), small_mla()},
      {"Forced", tp_plan(2, 2, 4), small_moe(), small_workload(), true},
      {"Bf16", changed(folded_plan({.tp = 2, .dp = 2}, 1, 4),
                       [](Plan& p) { p.precision = Precision::bf16; })},
      {"NarrowState", narrow},
      {"Zero2", changed(pair, [](Plan& p) { p.sharding = Sharding::zero2; })},
      {"Zero3", changed(fp32_plan(4, 2), [](Plan& p) { p.sharding = Sharding::zero3; })},
      {"AllGather", changed(folded_plan({.dp = 4}, 2, 2),
                            [](Plan& p) { p.dispatcher = Dispatcher::allgather; })},
      {"Ring", context_plan(CpComm::p2p, 4)},
      {"GatheredKeys", context_plan(CpComm::all_gather, 2), small_mla()},
      {"ExchangedHeads", context_plan(CpComm::all_to_all, 2), small_mla()},
      {"Recomputed", changed(fp32_plan(2, 2, 2), [](Plan& p) { p.recompute_full = true; })},
      {"OffloadedActivations", changed(pair, [](Plan& p) { p.offload = {Offload::moe_act}; })},
      {"PagedStash",
       changed(pair, [](Plan& p) { p.paged_stash = {.buffer = 2, .capacity = 2.5}; })},
      {"ReloadedState", changed(narrow, [](Plan& p) { p.optimizer.state_offload = 0.6; })},
      {"SteppedOnTheHost", changed(pair,
                                   [](Plan& p) {
                                     p.optimizer.state_offload = 0.4;
                                     p.optimizer.cpu_offload = 0.35;
                                   })},
      {"Sgd", changed(pair, [](Plan& p) { p.optimizer.kind = OptimizerKind::sgd; })},
      {"Lamb", changed(tp_plan(2, 2, 2), [](Plan& p) { p.optimizer.kind = OptimizerKind::lamb; })},
      {"Muon", changed(tp_plan(2, 2, 2), [](Plan& p) { p.optimizer.kind = OptimizerKind::muon; })},
      {"Capped", pair, small_moe(), capped},
      {"Padded", pair, small_moe(), padded},
      {"Packed", pair, small_moe(), packed},
      {"TokensAsTheyAre", changed(pair, [](Plan& p) { p.dispatcher = Dispatcher::deepep; })},
      {"ExpertsByLoad", by_load(fp32_plan(4, 4), 0), small_moe(), loaded},
      {"ExpertCopies",
       changed(by_load(fp32_plan(4, 2), 2),
               [](Plan& p) {
                 p.precision = Precision::bf16;
                 p.optimizer.main_grads = DType::bf16;
               }),
       small_moe(), loaded},
      {"TileLevel", changed(folded_plan({.tp = 2, .dp = 2}, 1, 2),
                            [](Plan& p) { p.overlap.tile_level = true; })},
      {"TileLevelOfAll", changed(folded_plan({.dp = 4}, 2, 2),
                                 [](Plan& p) {
                                   p.dispatcher = Dispatcher::allgather;
                                   p.overlap.tile_level = true;
                                 })},
      {"OssOnShares", in_precision(Precision::bf16, tp_plan(2, 2, 2)), small_oss()},
      {"NarrowRows", changed(pair,
                             [](Plan& p) {
                               p.precision = Precision::bf16;
                               p.fp8_dispatch = p.fp8_combine = true;
                             })},
      {"NarrowRowsOfAll", changed(folded_plan({.dp = 4}, 2, 2),
                                  [](Plan& p) {
                                    p.precision = Precision::bf16;
                                    p.dispatcher = Dispatcher::allgather;
                                    p.fp8_dispatch = true;
                                  })},
      {"Remainders", changed(narrow,
                             [](Plan& p) {
                               p.optimizer.exp_avg = p.optimizer.exp_avg_sq = DType::fp32;
                               p.optimizer.main_params = DType::remainder16;
                             })},
      {"RemaindersOfNarrowState",
       changed(narrow, [](Plan& p) { p.optimizer.main_params = DType::remainder16; })},
      {"RoundedGradients", changed(pair,
                                   [](Plan& p) {
                                     p.precision = Precision::bf16;
                                     p.optimizer.grad_reduce = DType::bf16;
                                   })},
      {"RoundedShards", changed(fp32_plan(4, 2),
                                [](Plan& p) {
                                  p.precision = Precision::bf16;
                                  p.sharding = Sharding::zero3;
                                  p.optimizer.grad_reduce = DType::bf16;
                                })},
      {"LossInParts", changed(tp_plan(2, 1, 2), [](Plan& p) { p.loss_chunks = 4; }),
       with_depth(small_moe(), 2)},
      {"RoundedCopies", changed(tp_plan(2, 2, 2),
                                [](Plan& p) {
                                  p.precision = Precision::bf16;
                                  p.sharding = Sharding::none;
                                  p.optimizer.grad_reduce = DType::bf16;
                                })},
      {"LambBf16", changed(tp_plan(2, 2, 2),
                           [](Plan& p) {
                             p.precision = Precision::bf16;
                             p.optimizer.main_grads = DType::bf16;
                             p.optimizer.kind = OptimizerKind::lamb;
                           })},
      {"MuonBf16", changed(tp_plan(2, 2, 2),
                           [](Plan& p) {
                             p.precision = Precision::bf16;
                             p.optimizer.main_grads = DType::bf16;
                             p.optimizer.kind = OptimizerKind::muon;
                           })},
      {"Fp8", in_precision(Precision::fp8, tp_plan(2, 2, 2)), small_mla(), small_workload(), true},
      {"Fp8Attention",
       in_precision(Precision::fp8,
                    changed(tp_plan(2, 2, 2), [](Plan& p) { p.fp8_attention = true; })),
       small_mla(), small_workload(), true},
      {"Mxfp8Attention",
       in_precision(Precision::mxfp8,
                    changed(fp32_plan(2), [](Plan& p) { p.fp8_attention = true; })),
       small_oss(), small_workload(), true},
      {"Mxfp8LatentAttention",
       in_precision(Precision::mxfp8,
                    changed(fp32_plan(2), [](Plan& p) { p.fp8_attention = true; })),
       small_mla(), small_workload(), true},
      {"Mxfp8LatentAttentionOnShares",
       in_precision(Precision::mxfp8, changed(tp_plan(2), [](Plan& p) { p.fp8_attention = true; })),
       small_mla(), small_workload(), true},
      {"Fp8Block",
       in_precision(Precision::fp8_block,
                    changed(fp32_plan(4, 2), [](Plan& p) { p.sharding = Sharding::zero3; })),
       small_moe(), small_workload(), true},
      {"Mxfp8",
       in_precision(Precision::mxfp8,
                    changed(folded_plan({.dp = 4}, 2, 2),
                            [](Plan& p) { p.dispatcher = Dispatcher::allgather; })),
       small_moe(), small_workload(), true},
      {"DelayedScaling",
       in_precision(Precision::fp8_delayed,
                    changed(tp_plan(2, 1, 2), [](Plan& p) { p.recompute_full = true; })),
       small_moe(), small_workload(), true},
      {"DelayedScalingOfExperts",
       in_precision(Precision::fp8_delayed,
                    changed(fp32_plan(4, 2), [](Plan& p) { p.sharding = Sharding::zero3; })),
       small_moe(), small_workload(), true},
      {"FusedCodes",
       in_precision(Precision::mxfp8,
                    changed(tp_plan(2, 1, 2), [](Plan& p) { p.recompute_full = true; })),
       in_blocks(small_moe(), 32), small_workload(), true},
      {"Nvfp4",
       in_precision(Precision::nvfp4,
                    changed(fp32_plan(2, 2, 2), [](Plan& p) { p.recompute_full = true; })),
       small_moe(), small_workload(), true}};
  for (const ModelCase& c : model_cases()) all.push_back({c.name, fp32_plan(2), c.model});
  const std::vector<SuiteLayout> layouts = suite_layouts();
  for (std::size_t i = 3; i < layouts.size(); i += 13) {
    const bool latent = layouts[i].architecture == Architecture::mla;
    all.push_back({layouts[i].name, layouts[i].plan, latent ? small_mla() : biased(small_moe())});
    if (i % 2 == 0) continue;  // of 8 and 16 ranks, of all kinds
    all.push_back(all.back());
    all.back().name += "_bf16";
    all.back().plan.precision = Precision::bf16;
  }
  return all;
}

}  // namespace pleat::test
