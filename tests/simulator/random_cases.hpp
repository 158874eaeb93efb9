// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Random models, clusters with their profiles, and legal plans: what properties are tested over.
#pragma once

#include <map>
#include <random>
#include <string>
#include <utility>

#include "core/plan/constraints.hpp"
#include "core/spec/catalog.hpp"
#include "simulator/estimate.hpp"

namespace pleat::test {

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}
  std::size_t below(std::size_t n) { return engine_() % n; }  // the same on every platform
  bool chance(double p) { return below(1'000'000) < p * 1e6; }
  template <class T>
  T of(std::initializer_list<T> list) {
    return *(list.begin() + static_cast<std::ptrdiff_t>(below(list.size())));
  }

 private:
  std::mt19937 engine_;
};

inline ModelSpec random_model(Dice& dice) {
  ModelSpec m;
  m.name = "random";
  m.layers = dice.of({4, 6, 8, 12});
  m.hidden = dice.of({512, 1024, 2048, 4096});
  m.vocab = dice.of({8192, 32768});
  m.ffn = m.hidden * dice.of({2, 4});
  m.gated_mlp = dice.chance(0.8);
  m.tied_embeddings = dice.chance(0.2);
  m.attention.heads = dice.of({8, 16, 32});
  if (dice.chance(0.4)) {
    m.attention.kind = AttentionKind::mla;
    m.attention.kv_groups = m.attention.heads;
    m.attention.q_lora_rank = dice.of({0, 512});
    m.attention.kv_lora_rank = 256;
    m.attention.qk_nope_head_dim = 64;
    m.attention.qk_rope_head_dim = 32;
    m.attention.v_head_dim = 64;
  } else {
    m.attention.kv_groups = m.attention.heads / dice.of({1, 2, 8});
    m.attention.head_dim = dice.of({64, 128});
    m.attention.qk_norm = dice.chance(0.3);
  }
  m.moe_layer.assign(static_cast<std::size_t>(m.layers), false);
  if (dice.chance(0.75)) {
    m.moe = MoeSpec{.experts = dice.of({8, 16, 64}),
                    .top_k = dice.of({1, 2, 4, 8}),
                    .ffn = dice.of({256, 512, 1024}),
                    .shared_ffn = dice.of({0, 512})};
    for (std::size_t i = dice.below(3); i < m.moe_layer.size(); ++i) m.moe_layer[i] = true;
    if (dice.chance(0.2)) m.mtp_layers = 1;
  }
  return m;
}

struct Platform {
  ClusterSpec cluster;
  Profile profile;
};

// Shipped clusters with their newest profile, or as if nobody had measured them.
inline const Platform& random_platform(Dice& dice) {
  static std::map<std::pair<std::string, bool>, Platform> loaded;  // reading them takes longest
  const std::string name =
      dice.of({"a100-sxm", "h100-sxm", "h800-sxm", "b200", "gb200-nvl72", "gb300-nvl72"});
  const bool measured = dice.chance(0.7);
  Platform& p = loaded[{name, measured}];
  if (!p.cluster.name.empty()) return p;
  p.cluster = load_cluster(name);
  const auto found = find_newest_profile(name, Runtime::megatron);
  p.profile = found && measured
                  ? found->profile
                  : datasheet_profile(name, p.cluster.tiers.size(), Runtime::megatron);
  return p;
}

inline Plan random_plan(Dice& dice, const ModelSpec& model, const GpuSpec& gpu, int gpus) {
  Plan p;
  const auto degree = [&](int most) {
    int d = 1;
    while (d * 2 <= most && dice.chance(0.6)) d *= 2;
    return d;
  };
  p.attention.pp = degree(8);
  p.attention.tp = degree(8);
  p.attention.cp = degree(4);
  p.attention.dp = std::max(1, gpus / (p.attention.tp * p.attention.cp * p.attention.pp));
  if (model.moe) {
    p.expert.ep = degree(64);
    p.expert.etp = dice.chance(0.2) ? p.attention.tp : 1;
  } else {
    p.expert.etp = p.attention.tp;
  }
  p.expert.edp = std::max(1, gpus / (p.expert.ep * p.expert.etp * p.attention.pp));
  if (!model.moe) p.expert = {.etp = 1, .ep = 1, .edp = gpus / p.attention.pp};
  p.vpp = p.attention.pp > 1 ? degree(4) : 1;
  p.micro_batch = degree(4);
  if (p.attention.pp > 1 && dice.chance(0.3)) {
    p.schedule = dice.of({PipelineSchedule::zb_h1, PipelineSchedule::zb_v,
                          PipelineSchedule::dualpipe, PipelineSchedule::dualpipe_v});
    const bool folds =
        p.schedule == PipelineSchedule::zb_v || p.schedule == PipelineSchedule::dualpipe_v;
    p.vpp = folds ? 2 : 1;
  }
  const bool fp8 = gpu.peak_fp8 > FlopsPerSecond(0);
  p.precision =
      fp8 ? dice.of({Precision::bf16, Precision::bf16, Precision::fp8, Precision::fp8_block})
          : Precision::bf16;
  if (gpu.peak_fp4 > FlopsPerSecond(0) && dice.chance(0.3)) p.precision = Precision::mxfp8;
  p.sharding = dice.of({Sharding::none, Sharding::zero1, Sharding::zero1, Sharding::zero3});
  p.dispatcher = dice.of({Dispatcher::alltoall, Dispatcher::allgather, Dispatcher::deepep});
  p.cuda_graph = dice.of(
      {CudaGraph::none, CudaGraph::attention, CudaGraph::partial, CudaGraph::full_iteration});
  p.recompute_full = dice.chance(0.15);
  if (!p.recompute_full) {
    for (const Module module : {Module::layernorm, Module::core_attn, Module::mla_up_proj,
                                Module::moe_act, Module::mlp}) {
      if (dice.chance(0.15)) p.recompute.insert(module);
    }
  }
  p.overlap.expert_parallel = p.expert.ep > 1 && dice.chance(0.5);
  p.overlap.tensor_parallel = dice.chance(0.3);
  p.overlap.shared_expert = dice.chance(0.2);
  p.overlap.grad_reduce = dice.chance(0.8);
  p.overlap.param_gather = dice.chance(0.8);
  return p;
}

struct RandomCase {
  unsigned seed = 0;
  ModelSpec model;
  Platform platform;
  WorkloadSpec workload;
  Plan plan;

  [[nodiscard]] bool legal() const {
    return violations({model, workload, plan, plan.world()}).empty();
  }
  [[nodiscard]] Program program() const {
    return compile(model, workload, plan, Runtime::megatron);
  }
  [[nodiscard]] StepEstimate price() const {
    return estimate(program(), platform.cluster, platform.profile);
  }
  [[nodiscard]] std::string name() const {
    return "seed " + std::to_string(seed) + ": " + platform.profile.name + ", " + summary(plan) +
           ", sequence " + std::to_string(workload.seq_len);
  }
};

// The case of a seed: models, platforms and workloads are drawn until a plan for them is legal.
inline RandomCase random_case(unsigned seed) {
  Dice dice(seed);
  for (;;) {
    RandomCase c{.seed = seed,
                 .model = random_model(dice),
                 .platform = random_platform(dice),
                 .workload = {},
                 .plan = {}};
    c.workload.seq_len = dice.of({1024, 2048, 4096, 8192});
    c.workload.global_batch = dice.of({64, 128, 256});
    const int gpus = dice.of({1, 8, 16, 32, 64, 128, 256});
    for (int i = 0; i < 200; ++i) {
      c.plan = random_plan(dice, c.model, c.platform.cluster.gpu, gpus);
      if (c.plan.world() != gpus || !c.legal()) continue;
      c.plan.overlap.gather_beside_step = seed % 2 == 0;  // where it may be
      c.plan.overlap.gather_beside_step = c.plan.overlap.gather_beside_step && c.legal();
      return c;
    }
  }
}

}  // namespace pleat::test
