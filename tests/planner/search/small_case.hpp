// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A small MoE model on a made-up cluster of two-GPU nodes, so that every plan can be priced.
#pragma once

#include "planner/problem.hpp"
#include "planner/search/search.hpp"
#include "planner/search_config.hpp"

namespace pleat::test {

inline ModelSpec small_model() {
  ModelSpec m;
  m.name = "small-moe";
  m.layers = 6;
  m.hidden = 256;
  m.vocab = 1024;
  m.ffn = 1024;
  m.attention.heads = 8;
  m.attention.kv_groups = 4;
  m.attention.head_dim = 32;
  m.moe.emplace();
  m.moe->experts = 8;
  m.moe->top_k = 2;
  m.moe->ffn = 256;
  m.moe->shared_ffn = 256;
  m.moe_layer = {false, true, true, true, true, true};
  return m;
}

inline ClusterSpec small_cluster(double gpu_bytes = 80e9) {
  ClusterSpec c;
  c.name = "twos";
  c.gpu.name = "toy";
  c.gpu.peak_fp32 = FlopsPerSecond(1e12);
  c.gpu.peak_bf16 = FlopsPerSecond(1e13);
  c.gpu.memory = Bytes(gpu_bytes);
  c.gpu.memory_bandwidth = BytesPerSecond(1e11);
  c.gpu.host_link = BytesPerSecond(1e10);
  c.gpus_per_node = 2;
  c.tiers = {{"link", 2, BytesPerSecond(5e10), Seconds(2e-6)},
             {"net", 0, BytesPerSecond(5e9), Seconds(1e-5)}};
  return c;
}

inline WorkloadSpec short_workload() {
  WorkloadSpec w;
  w.seq_len = 128;
  w.global_batch = 16;
  return w;
}

inline Profile small_profile() { return datasheet_profile("twos", 2, Runtime::megatron); }

inline Problem small_problem() {
  return {small_model(), small_cluster(), short_workload(), small_profile()};
}

inline SearchConfig small_search(int gpus) {
  SearchConfig config;
  config.gpus = gpus;
  config.threads = 1;
  return config;
}

}  // namespace pleat::test
