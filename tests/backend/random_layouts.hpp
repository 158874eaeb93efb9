// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Small models and layouts drawn at random from all that plans may say: blocks on any stage, stages
// without any, every order of the pipeline. The same seed gives the same case.
#pragma once

#include <algorithm>
#include <random>
#include <string>

#include "backend/supported.hpp"
#include "core/diagnostics.hpp"
#include "core/plan/constraints.hpp"
#include "core/program/losses.hpp"
#include "tests/backend/model_cases.hpp"
#include "tests/backend/train_runs.hpp"

namespace pleat::test {

struct RandomLayout {
  ModelSpec model;
  Plan plan;
  WorkloadSpec workload;
  PackingRules packing;
};

inline std::string describe(const RandomLayout& c) {
  std::string text = c.model.name + ", " + std::to_string(c.model.layers) + " layers, " +
                     std::to_string(c.model.mtp_layers) + " depths";
  if (c.model.tied_embeddings) text += ", tied";
  if (has_router_losses(c.model)) text += ", router losses";
  if (c.workload.capacity_factor > 0) text += ", capacity";
  if (!c.workload.expert_loads.empty()) text += ", loads";
  if (c.packing.end_of_document >= 0) text += ", documents";
  return text + ": " + summary(c.plan);
}

class LayoutMaker {
 public:
  explicit LayoutMaker(unsigned seed) : random_(seed) {}

  // One that breaks no rule and that the backend runs on the CPU.
  RandomLayout make() {
    for (;;) {
      RandomLayout c{model(), {}, workload(), {}};
      if (c.model.moe && chance(0.3)) know_loads(c);
      c.plan = plan(c);
      if (chance(0.3) && !c.model.learned_positions) {
        c.packing = {.end_of_document = 63,
                     .reset_positions = chance(0.5),
                     .reset_attention = chance(0.5),
                     .mask_loss = chance(0.5)};
      }
      if (is_legal(c)) return c;
    }
  }

  // Another layout of the same model and batch, in the same precision, with the same optimizer.
  RandomLayout another(const RandomLayout& of) {
    for (;;) {
      RandomLayout c = of;
      c.plan = plan(c);
      c.plan.precision = of.plan.precision;
      c.plan.micro_batch = of.plan.micro_batch;
      c.plan.optimizer.kind = of.plan.optimizer.kind;
      c.plan.optimizer.main_params = of.plan.optimizer.main_params;
      if (is_legal(c)) return c;
    }
  }

  static bool is_legal(const RandomLayout& c) {
    if (!violations({c.model, c.workload, c.plan, c.plan.world()}).empty()) return false;
    // Which tokens are dropped depends on how a microbatch lies on ranks.
    const bool together = c.plan.attention.tp * c.plan.attention.cp == 1;
    if (c.workload.capacity_factor > 0 && !together) return false;
    try {
      require_supported(compile(c.model, c.workload, c.plan, Runtime::pleat), false);
    } catch (const ConfigError&) {
      return false;
    }
    return true;
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  bool chance(double p) { return static_cast<double>(random_() % 1000) < 1000 * p; }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return *(list.begin() + pick(static_cast<int>(list.size())));
  }

  ModelSpec model() {
    ModelSpec m = chance(0.4) ? small_mla() : small_moe();
    if (chance(0.2)) {
      m = chance(0.5) ? small_gpt() : small_moe();
      m.moe.reset();
    }
    m.layers = 1 + pick(8);
    m.moe_layer.assign(static_cast<std::size_t>(m.layers), m.moe.has_value());
    if (m.moe && m.layers > 1) m.moe_layer[0] = chance(0.5);
    m.tied_embeddings = chance(0.5);
    if (!m.learned_positions && chance(0.7)) m = with_depth(m, 1 + pick(2));
    if (!m.moe) return m;
    if (chance(0.4)) m = with_losses(m);
    if (chance(0.3)) m = with_bias_update(m);
    if (chance(0.3)) m.moe->shared_ffn = 0;
    return m;
  }

  WorkloadSpec workload() {
    WorkloadSpec w{.seq_len = 16, .global_batch = one_of({8, 16})};
    if (chance(0.25)) {
      w.capacity_factor = 1.25;
      w.pad_to_capacity = chance(0.5);
    }
    return w;
  }

  // Of every layer with experts; those of the first are perhaps alike.
  void know_loads(RandomLayout& c) {
    c.workload.routing = Routing::natural;
    const int first = pick(2);
    for (int l = 0; l < c.model.layers; ++l) {
      if (!c.model.is_moe(l)) continue;
      ExpertLoads loads{l, {}};
      for (std::int64_t e = 0; e < c.model.moe->experts; ++e) {
        loads.of.push_back(l < first ? 1 : pick(20));
      }
      loads.of[0] += 1;
      c.workload.expert_loads.push_back(loads);
    }
  }

  Plan plan(const RandomLayout& c) {
    const int tp = one_of({1, 1, 2}), cp = one_of({1, 1, 1, 2}), dp = one_of({1, 1, 2});
    Plan p = folded_plan({tp, cp, dp, one_of({1, 2, 2, 3, 4, 4, 6, 8})}, one_of({1, 1, 2}),
                         one_of({1, 2, 4}));
    p.vpp = one_of({1, 1, 2, 3});
    if (chance(0.6)) {
      p.schedule = one_of({PipelineSchedule::zb_h1, PipelineSchedule::zb_v,
                           PipelineSchedule::dualpipe, PipelineSchedule::dualpipe_v});
      p.vpp = p.schedule == PipelineSchedule::zb_v || p.schedule == PipelineSchedule::dualpipe_v
                  ? 2
                  : 1;
    }
    if (p.vpp > 1 && chance(0.3)) p.microbatch_group = 2 * p.attention.pp;
    p.layout = chance(0.9) ? layout(c.model, p.attention.pp * p.vpp) : "";
    p.micro_batch = one_of({1, 1, 2});
    p.sharding = one_of({Sharding::none, Sharding::zero1, Sharding::zero2, Sharding::zero3});
    p.dispatcher = one_of({Dispatcher::alltoall, Dispatcher::alltoall, Dispatcher::allgather,
                           Dispatcher::deepep, Dispatcher::hybridep});
    p.cp_comm = one_of({CpComm::p2p, CpComm::all_gather, CpComm::all_to_all});
    if (chance(0.4)) {
      for (const Module m : {Module::layernorm, Module::mla_up_proj, Module::core_attn, Module::mlp,
                             Module::moe_act, Module::shared_experts, Module::moe}) {
        if (chance(0.3)) p.recompute.insert(m);
      }
    } else if (chance(0.3)) {
      p.recompute_full = true;
      p.recompute_layers = pick(2);
      p.recompute_unit = one_of({1, 1, 2});
    }
    if (chance(0.2))
      p.offload = {one_of({Offload::core_attn, Offload::qkv_linear, Offload::moe_act})};
    if (chance(0.3)) p.optimizer.state_offload = one_of({0.5, 1.0});
    if (chance(0.3)) p.loss_chunks = one_of({2, 4});
    if (chance(0.2)) p.optimizer.cpu_offload = one_of({0.5, 1.0}) - p.optimizer.state_offload;
    p.optimizer.cpu_offload = std::max(0.0, p.optimizer.cpu_offload);
    p.overlap.expert_parallel = chance(0.2);
    p.overlap.delay_wgrad = p.overlap.expert_parallel && chance(0.5);
    if (p.sharding == Sharding::zero1 && dp == 2 && chance(0.3)) p.optimizer_instances = 2;
    if (!c.workload.expert_loads.empty() && p.expert.ep > 1) {
      p.expert.placement = ExpertPlacement::by_load;
      p.expert.redundant = one_of({0, 1, 2});
    }
    return p;
  }

  // E first and L last, as they must be; every other block on any stage.
  std::string layout(const ModelSpec& m, int stages) {
    const int used = 1 + pick(stages);  // all layers on the first so many
    std::vector<int> at;
    for (std::int64_t l = 0; l < m.layers; ++l) at.push_back(pick(used));
    std::ranges::sort(at);
    const int mtp = at.back() + (chance(0.3) ? 0 : pick(stages - at.back()));
    std::string text = "E";
    for (int s = 0; s < stages; ++s) {
      text.append(static_cast<std::size_t>(std::ranges::count(at, s)), 't');
      if (m.mtp_layers > 0 && s == mtp) text += 'm';
      if (s + 1 < stages) text += '|';
    }
    return text + "L";
  }

  std::mt19937 random_;
};

}  // namespace pleat::test
