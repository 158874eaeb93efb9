// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Jobs so small that a good part of all their plans can be priced, drawn at random: a model of a
// few layers on up to eight made-up GPUs, whose memory is often too small for the plain plan.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "core/plan/plan.hpp"
#include "planner/problem.hpp"
#include "simulator/estimator.hpp"
#include "tests/planner/laws/dice.hpp"

namespace pleat::test {

struct SmallJob : Problem {
  int gpus = 1;
  Runtime runtime = Runtime::megatron;

  [[nodiscard]] std::string text() const {
    return model.name + ", " + std::to_string(gpus) + " GPUs of " +
           std::to_string(cluster.gpu.memory.base()) + " bytes, sequences of " +
           std::to_string(workload.seq_len) + ", batch " + std::to_string(workload.global_batch) +
           (runtime == Runtime::pleat ? ", runtime pleat" : ", runtime megatron");
  }
};

class SmallJobMaker {
 public:
  explicit SmallJobMaker(std::uint64_t seed) : dice_(seed) {}
  Dice& dice() { return dice_; }

  SmallJob make() {
    SmallJob job;
    job.gpus = dice_.one_of<int>({1, 2, 2, 4, 4, 8});
    job.runtime = dice_.chance(0.5) ? Runtime::pleat : Runtime::megatron;
    job.model = model();
    job.cluster = cluster();
    job.workload.seq_len = dice_.one_of<int>({64, 256});
    job.workload.global_batch = dice_.one_of<int>({8, 16});
    job.profile = profile(job);
    // Between what data parallelism needs that gives up all it can and that which gives up nothing.
    Plan plain;
    plain.attention.dp = plain.expert.edp = job.gpus;
    Plan lean = plain;
    lean.recompute_full = true;
    if (job.runtime == Runtime::megatron) lean.optimizer.cpu_offload = 1;
    const Estimator estimate(job.model, job.workload, job.cluster, job.profile, job.runtime);
    const auto least = static_cast<double>(estimate(lean).peak_bytes());
    const auto most = static_cast<double>(estimate(plain).peak_bytes());
    const double share = dice_.one_of<double>({0.02, 0.2, 0.5, 0.8, 1.5});
    job.cluster.gpu.memory = Bytes((least + share * (most - least)) / 0.95);
    return job;
  }

  // Of the runtime that places experts, on several GPUs, with busy experts and idle ones.
  SmallJob make_with_loads() {
    SmallJob job = make();
    while (!job.model.moe || job.gpus == 1 || job.runtime != Runtime::pleat) job = make();
    job.workload.routing = Routing::natural;
    for (int l = 0; l < job.model.layers; ++l) {
      if (!job.model.is_moe(l)) continue;
      ExpertLoads loads{l, {}};
      for (std::int64_t e = 0; e < job.model.moe->experts; ++e) {
        loads.of.push_back(dice_.one_of<double>({1, 2, 4, 10, 40}));
      }
      job.workload.expert_loads.push_back(loads);
    }
    return job;
  }

 private:
  ModelSpec model() {
    ModelSpec m;
    m.layers = dice_.one_of<int>({2, 3, 4, 6});
    m.hidden = 256;
    m.vocab = 1024;
    m.ffn = 1024;
    m.attention.heads = 8;
    m.attention.kv_groups = dice_.one_of<int>({2, 8});
    m.attention.head_dim = 32;
    m.moe_layer.assign(static_cast<std::size_t>(m.layers), false);
    m.name = std::to_string(m.layers) + " layers";
    if (dice_.chance(0.4)) return m;
    m.name += " with experts";
    m.moe.emplace();
    m.moe->experts = dice_.one_of<int>({4, 8});
    m.moe->top_k = 2;
    m.moe->ffn = 256;
    m.moe->shared_ffn = dice_.chance(0.5) ? 256 : 0;
    for (std::size_t l = dice_.below(2); l < m.moe_layer.size(); ++l) m.moe_layer[l] = true;
    return m;
  }

  ClusterSpec cluster() {
    const int domain = dice_.one_of<int>({2, 4, 8});
    ClusterSpec c;
    c.name = "small";
    c.gpu.name = "toy";
    c.gpu.peak_fp32 = FlopsPerSecond(1e12);
    c.gpu.peak_bf16 = FlopsPerSecond(1e13);
    if (dice_.chance(0.6)) c.gpu.peak_fp8 = FlopsPerSecond(2e13);
    c.gpu.memory = Bytes(80e9);
    c.gpu.memory_bandwidth = BytesPerSecond(1e11);
    c.gpu.host_link = BytesPerSecond(dice_.one_of<double>({1e9, 1e10}));
    c.gpus_per_node = domain;
    c.tiers = {
        {"link", domain, BytesPerSecond(dice_.one_of<double>({5e9, 5e10, 5e11})), Seconds(2e-6)},
        {"net", 0, BytesPerSecond(5e9), Seconds(1e-5)}};
    return c;
  }

  Profile profile(const SmallJob& job) {
    Profile p = datasheet_profile(job.cluster.name, job.cluster.tiers.size(), job.runtime);
    p.host_per_op = Seconds(dice_.one_of<double>({0.0, 2e-6, 2e-5}));
    p.overlap_efficiency = dice_.one_of<double>({1.0, 0.7});
    p.comm_slowdown = dice_.one_of<double>({1.0, 1.3});
    return p;
  }

  Dice dice_;
};

}  // namespace pleat::test
