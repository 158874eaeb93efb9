// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Small searches drawn at random: model, cluster, workload, pins. The same seed gives the same
// case.
#pragma once

#include <algorithm>
#include <random>

#include "tests/planner/search/small_case.hpp"
#include "tests/planner/space/every_plan.hpp"

namespace pleat::test {

struct RandomCase : Problem {
  SearchConfig config;
};

class CaseMaker {
 public:
  // `by_stage`: pipelines whose stages choose for themselves, all that they recompute free.
  explicit CaseMaker(unsigned seed, bool by_stage = false)
      : by_stage_(by_stage), random_(seed), loads_(seed), windows_(seed) {}

  // A space of 1 to `most` valid plans.
  RandomCase make(std::size_t most) {
    for (;;) {
      RandomCase c{{model(), cluster(), workload(), {}}, {}};
      spread_loads(c);
      give_windows(c.model);
      c.profile = profile();
      if (by_stage_) c.profile.sustained_clock.duty_slope = 0;
      c.config = config(c);
      const MeshSpace space = enumerate_meshes(c, c.config);
      const std::size_t plans = space.meshes.size() *
                                settings(c.model, c.cluster, c.config).size() *
                                memory_choices(c.model, c.cluster, c.config).size();
      if (plans == 0 || plans > 8 * most) continue;
      const bool many_ways = std::ranges::any_of(space.meshes, [](const Mesh& m) {
        return m.attention.pp > 4;
      });
      if (many_ways && c.config.by_stage.value_or(false)) continue;
      const auto valid = enumerate_plans(c, c.config).size();
      if (valid > 0 && valid <= most) return c;
    }
  }

  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  bool chance(double p) { return static_cast<double>(random_() % 1000) < 1000 * p; }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return *(list.begin() + pick(static_cast<int>(list.size())));
  }

 private:
  ModelSpec model() {
    ModelSpec m = small_model();
    m.layers = 2 + pick(7);
    m.hidden = one_of({256, 512, 1024});
    m.ffn = m.hidden * one_of({2, 4});
    m.vocab = one_of({1024, 8192});
    m.attention.heads = 8;
    m.attention.kv_groups = one_of({2, 8});
    if (chance(0.3)) {
      m.attention.kind = AttentionKind::mla;
      m.attention.q_lora_rank = chance(0.5) ? 128 : 0;
      m.attention.kv_lora_rank = 64;
      m.attention.qk_nope_head_dim = 32;
      m.attention.qk_rope_head_dim = 16;
      m.attention.v_head_dim = 32;
      m.attention.kv_groups = 8;
    }
    if (chance(0.3)) {
      m.moe.reset();
      m.moe_layer.assign(static_cast<std::size_t>(m.layers), false);
      return m;
    }
    m.moe->experts = one_of({4, 8, 16});
    m.moe->top_k = one_of({1, 2, 4});
    m.moe->ffn = one_of({128, 512});
    m.moe->shared_ffn = chance(0.5) ? 256 : 0;
    m.mtp_layers = chance(0.3) ? 1 : 0;
    m.moe_layer.assign(static_cast<std::size_t>(m.layers), true);
    for (int dense = pick(3), l = 0; l < dense && l + 1 < m.layers; ++l) {
      m.moe_layer[static_cast<std::size_t>(l)] = false;
    }
    return m;
  }

  ClusterSpec cluster() {
    ClusterSpec c = small_cluster();
    c.tiers.front().size = one_of({2, 4, 16});
    c.gpus_per_node = c.tiers.front().size;
    if (chance(0.6)) c.gpu.peak_fp8 = FlopsPerSecond(2e13);
    c.gpu.sms = one_of({0, 132});
    c.host_memory = Bytes(one_of({0.0, 1e6, 1e9}));
    c.tiers.front().bandwidth = BytesPerSecond(one_of({5e9, 5e10, 5e11}));
    return c;
  }

  WorkloadSpec workload() {
    WorkloadSpec w = short_workload();
    w.seq_len = one_of({64, 128, 512});
    w.global_batch = one_of({8, 16, 32});
    w.imbalance = one_of({1.0, 1.3});
    return w;
  }

  // Of every second case with experts, by a generator of its own.
  void spread_loads(RandomCase& c) {
    if (!c.model.moe || loads_() % 2 == 0) return;
    c.workload.routing = Routing::natural;
    const unsigned kind = loads_() % 3;
    if (kind == 0) c.workload.expert_spread = 0.3;
    if (kind != 1) return;
    for (int l = 0; l <= c.model.layers + 1; ++l) {
      const bool prediction = l > c.model.layers;
      if (l == c.model.layers || (!prediction && !c.model.is_moe(l))) continue;
      if (prediction && c.model.mtp_layers == 0) continue;
      std::vector<double>& loads = c.workload.expert_loads.emplace_back(ExpertLoads{l, {}}).of;
      for (std::int64_t e = 0; e < c.model.moe->experts; ++e) {
        loads.push_back(static_cast<double>(1 + loads_() % 9));
      }
    }
  }

  // To every second layer of every third model, by a generator of its own.
  void give_windows(ModelSpec& m) {
    if (windows_() % 3 != 0 || m.attention.kind == AttentionKind::mla) return;
    m.layer_traits.resize(static_cast<std::size_t>(m.layers));
    for (std::size_t l = 1; l < m.layer_traits.size(); l += 2) m.layer_traits[l].window = 16;
  }

  Profile profile() {
    Profile p = small_profile();
    p.host_per_op = Seconds(one_of({0.0, 2e-6, 2e-5}));
    const double host = one_of({0.0, 1e-4});
    p.host_per_moe_layer = {Seconds(host), Seconds(0.9 * host), Seconds(host / 2), Seconds(0)};
    p.host_per_dense_layer = p.host_per_moe_layer;
    p.host_busy_per_layer = Seconds(one_of({0.0, 3e-4}));
    p.overlap_efficiency = one_of({1.0, 0.7});
    p.overlap_efficiency_nccl = one_of({1.0, 0.7});
    p.comm_slowdown = one_of({1.0, 1.3});
    p.sustained_clock.duty_slope = one_of({0.0, 0.3});
    p.step_overhead = Seconds(one_of({0.0, 1e-3}));
    p.band_terms.nccl_exchange = one_of({0.0, 0.5});
    p.band_terms.sharded = one_of({0.0, 0.2});
    p.deepep_sms = 20;
    for (const int sms : {8, 20}) {
      const BytesPerSecond rate(sms * one_of({1e8, 1e9}));
      p.dispatch.push_back({DispatchKernel::deepep, 0, 2, sms, rate, rate, SourceClass::measured});
    }
    return p;
  }

  SearchConfig config(const RandomCase& c) {
    SearchConfig s = small_search(one_of({1, 2, 4, 8, 16}));
    s.top = one_of({1, 3, 10});
    if (chance(0.15)) s.runtime = Runtime::pleat;
    const auto pin = [&](Pinned<int>& values, double p) {
      if (chance(p)) values = {one_of({1, 2, 4})};
    };
    pin(s.pin<"tp">(), 0.5);
    pin(s.pin<"cp">(), 0.5);
    pin(s.pin<"pp">(), 0.4);
    pin(s.pin<"vpp">(), 0.3);
    pin(s.pin<"etp">(), 0.6);
    pin(s.pin<"micro-batch">(), 0.6);
    if (chance(0.4)) s.pin<"microbatch-group">() = {one_of({0, 0, 2, 3, 4, 8})};
    if (c.model.moe) pin(s.pin<"ep">(), 0.5);
    Pinned<Sharding>& sharding = s.pin<"sharding">();
    if (chance(0.7)) sharding = one_of({Sharding::zero1, Sharding::zero2, Sharding::zero3});
    if (chance(0.2)) sharding = some_of({Sharding::zero3, Sharding::zero1, Sharding::none});
    if (sharding && s.gpus == 1) sharding = Sharding::none;
    if (chance(0.6)) {
      s.pin<"cuda-graph">() = one_of({CudaGraph::none, CudaGraph::attention, CudaGraph::partial});
    }
    if (chance(0.2)) s.pin<"cuda-graph">() = some_of({CudaGraph::attention, CudaGraph::router});
    if (chance(0.6)) {
      s.pin<"cp-comm">() =
          one_of({CpComm::p2p, CpComm::all_gather, CpComm::all_to_all, CpComm::a2a_p2p});
    }
    s.pin<"cp-a2a">() = {one_of({2, 4})};
    if (chance(0.5)) s.hybrid_sharding = chance(0.6);
    if (chance(0.5)) s.pin<"dispatcher">() = Dispatcher::alltoall;
    if (c.model.moe && chance(0.2)) {
      s.pin<"dispatcher">() = some_of({Dispatcher::allgather, Dispatcher::alltoall,
                                       Dispatcher::deepep, Dispatcher::hierarchical});
    }
    if (chance(0.1)) s.pin<"dp">() = {one_of({1, 2, 4}), 8};
    if (chance(0.3)) s.pin<"ep-overlap">() = chance(0.5) && c.model.moe;
    if (chance(0.6)) s.pin<"delay-wgrad">() = false;
    if (chance(0.5)) s.pin<"tp-overlap">() = false;
    if (chance(0.5)) s.pin<"shared-expert-overlap">() = false;
    if (chance(0.5)) s.pin<"dispatcher-sms">() = chance(0.7) ? std::vector{0, 8} : std::vector{8};
    if (chance(0.3)) {
      s.pin<"tile-overlap">() = chance(0.7) ? std::vector{false, true} : std::vector{true};
    }
    if (c.model.moe && chance(0.15)) s.paged_stash = {one_of({1.0, 1.5}), one_of({1.0, 2.0})};
    if (chance(0.3)) s.recompute = false;
    if (chance(0.5)) s.offload = false;
    if (chance(0.5)) s.optimizer_offload = chance(0.2);
    else s.optimizer_offload = std::vector<bool>{false, true};
    if (chance(0.6)) s.cpu_optimizer = chance(0.3) && !s.optimizer_offload.only(true);
    if (++made_ % 3 == 0) s.host_share = made_ % 2 == 0 ? 0.5 : 0.125;
    if (s.recompute && chance(0.25)) s.recompute_sets = recompute_sets(c);
    // Free ones are so many that few other choices have room beside them.
    const bool few_sets = s.offload && chance(0.6);
    if (few_sets) {
      s.offload_sets = some_of(
          {std::set<Offload>{Offload::core_attn}, {}, {Offload::core_attn, Offload::attn_proj},
           {Offload::attn_norm, Offload::core_attn, Offload::attn_proj}, {Offload::mlp_norm}});
    }
    if (chance(0.6)) s.pin<"recompute-layers">() = {0};
    if (chance(0.6)) s.pin<"recompute-unit">() = {one_of({1, 2, 2})};
    if (chance(0.3)) s.pin<"offload-layers">() = {0};
    else if (few_sets && chance(0.7)) {
      s.pin<"offload-layers">() = {0, 1, 2};
      if (std::ranges::count(s.offload_sets, std::set<Offload>{}) == 0) {
        s.offload_sets.emplace_back();
      }
    }
    if (chance(0.2)) s.numerics.front().precision = Precision::fp8;
    if (chance(0.2)) {
      Numerics other = s.numerics.front();
      if (chance(0.7)) other.precision = one_of({Precision::bf16, Precision::fp8});
      if (chance(0.5)) other.optimizer.main_grads = DType::bf16;
      if (chance(0.5)) other.optimizer.exp_avg = DType::bf16;
      if (chance(0.5)) other.fp8_dispatch = other.fp8_combine = true;
      if (chance(0.3)) other.fp8_params = false;
      s.numerics.push_back(other);
    }
    if (s.paged_stash.buffer > 0 && s.runtime == Runtime::megatron) {
      s.pin<"dispatcher">() = Dispatcher::hybridep;  // elsewhere it has none
    }
    s.robust = chance(0.3);
    if (s.gpus > 1 && chance(0.3)) s.pin<"schedule">() = orders();
    // Ways of stages to choose are compared at the burst clock.
    s.by_stage = c.profile.sustained_clock.duty_slope == 0 && chance(0.7);
    if (by_stage_ || (*s.by_stage && chance(0.8))) {  // pinned sets hold for all stages
      s.recompute_sets.clear();
      s.offload_sets.clear();
    }
    if (by_stage_) {
      s.by_stage = s.recompute = true;
      s.pin<"recompute-layers">().reset();
      s.pin<"recompute-unit">().reset();
      s.gpus = one_of({2, 4, 8});
      s.pin<"tp">() = s.pin<"cp">() = s.pin<"etp">() = {1};
      s.pin<"pp">() = {2, 4};
      s.pin<"sharding">() = Sharding::zero1;
      s.numerics.resize(1);
    }
    return s;
  }

  // At least one, in any order.
  template <class T>
  std::vector<T> some_of(std::vector<T> all) {
    std::vector<T> some;
    for (const T& value : all) {
      if (chance(0.5)) some.push_back(value);
    }
    return some.empty() ? std::vector<T>{all.back()} : some;
  }
  template <class T>
  std::vector<T> some_of(std::initializer_list<T> all) {
    return some_of(std::vector<T>(all));
  }

  std::vector<RecomputeChoice> recompute_sets(const RandomCase& c) {
    std::vector<RecomputeChoice> all{{.modules = {}, .full = true},
                                     {.modules = {}, .full = true, .unit = 2},
                                     {.modules = {Module::core_attn}},
                                     {.modules = {Module::layernorm}}};
    if (c.model.moe) all.push_back({.modules = {Module::moe_act}});
    all.push_back({});
    return some_of(all);
  }

  std::vector<PipelineSchedule> orders() {
    std::vector<PipelineSchedule> some;
    for (const PipelineSchedule order :
         {PipelineSchedule::one_f_one_b, PipelineSchedule::zb_h1, PipelineSchedule::zb_v,
          PipelineSchedule::dualpipe, PipelineSchedule::dualpipe_v}) {
      if (chance(0.6)) some.push_back(order);
    }
    return some;
  }

  bool by_stage_;
  std::mt19937 random_, loads_, windows_;
  int made_ = 0;  // cases
};

}  // namespace pleat::test
