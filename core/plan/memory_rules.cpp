// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rules of the optimizer and of what holds memory: its kinds and types, offload of its state, units
// of recompute, the paged stash, packed documents (Megatron-LM arguments.py,
// transformer_config.py).
#include <fmt/format.h>

#include <algorithm>

#include "core/plan/constraint_rules.hpp"

namespace pleat::rules {
namespace {

bool shards_gradients(const Plan& p) {
  return p.sharding == Sharding::zero2 || p.sharding == Sharding::zero3;
}

// --- optimizer
bool muon_sharding_holds(const PlanContext& c) {
  return c.plan.optimizer.kind != OptimizerKind::muon || !shards_gradients(c.plan);
}
Violation explain_muon_sharding(const PlanContext& c) {
  return {"", "optimizer.kind",
          fmt::format("muon needs whole matrices, {} cuts them", name_of(c.plan.sharding)),
          "sharding none, or zero1 (whole matrices dealt to ranks)"};
}

bool remainder_holds(const PlanContext& c) {
  if (c.plan.optimizer.main_params != DType::remainder16) return true;
  const Precision p = c.plan.precision;
  const bool fp8 = p == Precision::fp8 || p == Precision::fp8_delayed ||
                   p == Precision::fp8_block || p == Precision::mxfp8;
  const bool bf16_weights =
      p == Precision::bf16 || p == Precision::nvfp4 || (fp8 && !c.plan.fp8_params);
  return bf16_weights && c.plan.sharding != Sharding::none &&
         c.plan.optimizer.kind == OptimizerKind::adamw;
}
Violation explain_remainder(const PlanContext& c) {
  return {"", "optimizer.main_params",
          fmt::format(
              "16-bit remainders complete bf16 weights of a sharded AdamW; precision is {}, "
              "sharding {}, optimizer {}",
              name_of(c.plan.precision), name_of(c.plan.sharding), name_of(c.plan.optimizer.kind)),
          "bf16 weights (fp8_params false) and sharding zero1, or main_params fp32"};
}

bool share_holds(double share) { return share >= 0 && share <= 1; }
bool offload_share_holds(const PlanContext& c) {
  const OptimizerPlan& o = c.plan.optimizer;
  return share_holds(o.state_offload) && share_holds(o.cpu_offload) &&
         o.state_offload + o.cpu_offload <= 1;
}
Violation explain_offload_share(const PlanContext& c) {
  const OptimizerPlan& o = c.plan.optimizer;
  return {
      "", "optimizer.state_offload",
      fmt::format("state_offload {} and cpu_offload {} are shares of the same state, together at "
                  "most 1",
                  o.state_offload, o.cpu_offload),
      ""};
}

bool cpu_step_holds(const PlanContext& c) {
  return c.plan.optimizer.cpu_offload <= 0 || c.plan.optimizer.kind == OptimizerKind::adamw ||
         c.plan.optimizer.kind == OptimizerKind::sgd;
}
Violation explain_cpu_step(const PlanContext& c) {
  return {"", "optimizer.cpu_offload",
          fmt::format("the CPU makes steps of adamw and sgd, not of {}",
                      name_of(c.plan.optimizer.kind)),
          "state_offload keeps the state in host memory and steps on the GPU"};
}

bool muon_offload_holds(const PlanContext& c) {
  return c.plan.optimizer.state_offload <= 0 || c.plan.optimizer.kind != OptimizerKind::muon;
}
Violation explain_muon_offload(const PlanContext&) {
  return {"", "optimizer.state_offload", "muon's state stays on the GPU: it steps whole matrices",
          "adamw, or state_offload 0"};
}

bool cpu_overlap_holds(const PlanContext& c) {
  return !c.plan.optimizer.cpu_offload_overlapped || c.plan.optimizer.cpu_offload > 0;
}
Violation explain_cpu_overlap(const PlanContext&) {
  return {"", "optimizer.cpu_offload_overlapped", "there is no step on the CPU to overlap with",
          "cpu_offload above 0"};
}

// --- units of recompute
bool recompute_unit_holds(const PlanContext& c) {
  const Plan& p = c.plan;
  if (p.recompute_unit == 1) return true;
  return p.recompute_unit > 1 && p.recompute_full && p.recompute_layers == 0 &&
         !shards_gradients(p);
}
Violation explain_recompute_unit(const PlanContext& c) {
  const Plan& p = c.plan;
  const auto refuse = [](std::string message, std::string hint) {
    return Violation{"", "recompute_unit", std::move(message), std::move(hint)};
  };
  if (p.recompute_unit < 1) {
    return refuse(fmt::format("must be at least 1, is {}", p.recompute_unit), "");
  }
  if (!p.recompute_full) {
    return refuse(fmt::format("units of {} layers need full recompute", p.recompute_unit),
                  "recompute_full true, or recompute_unit 1");
  }
  if (p.recompute_layers != 0) {
    return refuse("units cover all layers, recompute_layers the first of a chunk",
                  "recompute_layers 0, or recompute_unit 1");
  }
  return refuse(fmt::format("{} gathers weights layer by layer, units recompute several at once",
                            name_of(p.sharding)),
                "sharding none or zero1, or recompute_unit 1");
}

// --- paged stash. Routing sends a rank the balanced mean even where it is even, so less room than
// that overflows in every step.
bool stash_sizes_hold(const PlanContext& c) {
  const PagedStash& s = c.plan.paged_stash;
  if (s.buffer == 0 && s.capacity == 0) return true;
  return s.buffer >= 1 && s.capacity >= 1;
}
Violation explain_stash_sizes(const PlanContext& c) {
  const PagedStash& s = c.plan.paged_stash;
  return {
      "", "paged_stash",
      fmt::format("a stash needs a buffer and a capacity of at least the balanced mean, which is "
                  "1, they are {} and {}",
                  s.buffer, s.capacity),
      "buffer 1.1, capacity 1.5; both 0 for no stash"};
}

bool stash_present_holds(const PlanContext& c) {
  return c.plan.paged_stash.buffer == 0 || c.model.moe.has_value();
}
Violation explain_stash_present(const PlanContext& c) {
  return {"", "paged_stash", fmt::format("{} has no experts to stash for", c.model.name), ""};
}

bool stash_offload_holds(const PlanContext& c) {
  if (c.plan.paged_stash.buffer == 0) return true;
  return c.plan.offload_layers == 0 && !c.plan.offload.contains(Offload::expert_fc1) &&
         !c.plan.offload.contains(Offload::moe_act);
}
Violation explain_stash_offload(const PlanContext&) {
  return {"", "paged_stash",
          "the stash holds what offload of expert_fc1, moe_act or whole layers moves",
          "another offload, or no stash"};
}

// --- packed documents
bool documents_hold(const PlanContext& c) {
  const auto& lengths = c.workload.documents;
  return std::ranges::all_of(lengths, [](std::int64_t l) { return l >= 1; });
}
Violation explain_documents(const PlanContext&) {
  return {"", "workload.documents", "lengths of documents are at least 1 token", ""};
}

bool documents_flash_holds(const PlanContext& c) {
  return c.workload.documents.empty() || c.plan.flash_attention;
}
Violation explain_documents_flash(const PlanContext&) {
  return {"", "flash_attention", "packed documents need attention that does not store its scores",
          "flash_attention true"};
}

}  // namespace

void append_memory_rules(std::vector<Constraint>& list) {
  list.push_back({"muon-sharding", muon_sharding_holds, explain_muon_sharding});
  list.push_back({"remainder-weights", remainder_holds, explain_remainder});
  list.push_back({"optimizer-offload-share", offload_share_holds, explain_offload_share});
  list.push_back({"optimizer-cpu-kind", cpu_step_holds, explain_cpu_step});
  list.push_back({"optimizer-offload-muon", muon_offload_holds, explain_muon_offload});
  list.push_back({"optimizer-cpu-overlap", cpu_overlap_holds, explain_cpu_overlap});
  list.push_back({"recompute-unit", recompute_unit_holds, explain_recompute_unit});
  list.push_back({"stash-sizes", stash_sizes_hold, explain_stash_sizes});
  list.push_back({"stash-present", stash_present_holds, explain_stash_present});
  list.push_back({"stash-offload", stash_offload_holds, explain_stash_offload});
  list.push_back({"documents", documents_hold, explain_documents});
  list.push_back({"documents-attention", documents_flash_holds, explain_documents_flash});
}

}  // namespace pleat::rules
