// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Runs that use a device's streams, and runs that use its graphs.
#pragma once

#include "tests/backend/device/device_cases.hpp"

namespace pleat::test {

inline std::vector<DeviceCase> stream_cases() {
  const Plan pair = fp32_plan(2, 2);
  return {
      {"ShardedWeights", changed(fp32_plan(4, 2), [](Plan& p) { p.sharding = Sharding::zero3; })},
      {"ShardedGradients", changed(pair, [](Plan& p) { p.sharding = Sharding::zero2; })},
      {"Offloaded",
       changed(pair,
               [](Plan& p) {
                 p.offload = {Offload::attn_norm, Offload::core_attn, Offload::moe_act};
               })},
      {"OffloadedLayers", changed(pair, [](Plan& p) { p.offload_layers = 2; })},
      {"Paired",
       changed(pair, [](Plan& p) { p.overlap.expert_parallel = p.overlap.delay_wgrad = true; })},
      {"PairedWithAStash", changed(pair,
                                   [](Plan& p) {
                                     p.overlap.expert_parallel = true;
                                     p.paged_stash = {.buffer = 2, .capacity = 2.5};
                                   })},
      {"PairedInAPipeline", changed(fp32_plan(2, 2, 2),
                                    [](Plan& p) {
                                      p.vpp = 2;
                                      p.overlap.expert_parallel = true;
                                      p.offload = {Offload::moe_act};
                                    })},
      {"PairedWithPeers",
       changed(folded_plan({2, 1, 2, 1}, 2, 2), [](Plan& p) { p.overlap.expert_parallel = true; }),
       small_mla()},
      {"PairedTokens", changed(pair,
                               [](Plan& p) {
                                 p.overlap.expert_parallel = true;
                                 p.dispatcher = Dispatcher::deepep;
                               })},
      {"PairedSortedPackedRows", changed(pair,
                                         [](Plan& p) {
                                           p.overlap.expert_parallel = true;
                                           p.dispatcher = Dispatcher::hybridep;
                                           p.precision = Precision::bf16;
                                           p.fp8_dispatch = p.fp8_combine = true;
                                         })},
      {"PairedShards", changed(fp32_plan(4, 2),
                               [](Plan& p) {
                                 p.sharding = Sharding::zero3;
                                 p.overlap.expert_parallel = true;
                               })},
      {"SplitBackward", changed(fp32_plan(1, 1, 2), [](Plan& p) {
         p.vpp = 2;
         p.schedule = PipelineSchedule::zb_v;
         p.offload = {Offload::attn_norm, Offload::qkv_linear, Offload::moe_act};
       })}};
}

struct GraphCase {
  DeviceCase of;
  CudaGraph scope;
  bool streams = false;
  [[nodiscard]] std::string name() const { return of.name + "_" + pleat::name_of(scope); }
  friend std::ostream& operator<<(std::ostream& out, const GraphCase& c) {
    return out << c.name();
  }
};

inline ModelSpec dense_model() {
  ModelSpec m = small_moe();
  m.name = "small-dense";
  m.moe.reset();
  m.moe_layer.assign(4, false);
  return m;
}

inline std::vector<GraphCase> graph_cases() {
  const Plan pair = fp32_plan(2, 2);
  WorkloadSpec packed = small_workload(), dropped = small_workload();
  packed.documents = {5, 9, 7};
  dropped.capacity_factor = 1.0;
  WorkloadSpec padded = dropped;
  padded.pad_to_capacity = true;
  ModelSpec windows = dense_model();
  windows.layer_traits.assign(4, {.window = 5});
  return {{{"Dense", fp32_plan(), dense_model()}, CudaGraph::full_iteration},
          {{"Dense", tp_plan(2), dense_model()}, CudaGraph::partial},
          {{"Packed", fp32_plan(), dense_model(), packed}, CudaGraph::full_iteration},
          {{"Windows", fp32_plan(), windows}, CudaGraph::partial},
          {{"Experts", pair, biased(small_moe())}, CudaGraph::router},
          {{"Experts", pair, small_mla()}, CudaGraph::partial, true},
          {{"Experts", pair}, CudaGraph::full_iteration},
          {{"Padded", pair, small_moe(), padded}, CudaGraph::full_iteration},
          {{"PaddedAlone", fp32_plan(), small_mla(), padded}, CudaGraph::full_iteration},
          {{"Dropped", pair, small_moe(), dropped}, CudaGraph::router},
          {{"Pipelined", folded_plan({.tp = 2, .dp = 2, .pp = 2}, 2, 2), small_mla()},
           CudaGraph::partial,
           true},
          {{"Recomputed", changed(pair, [](Plan& p) { p.recompute = {Module::layernorm}; })},
           CudaGraph::partial},
          {{"Bf16", changed(pair, [](Plan& p) { p.precision = Precision::bf16; })},
           CudaGraph::partial},
          {{"Sharded", changed(fp32_plan(4, 2), [](Plan& p) { p.sharding = Sharding::zero3; })},
           CudaGraph::partial,
           true},
          {{"Ring", context_plan(CpComm::p2p, 4)}, CudaGraph::partial},
          {{"Dense", tp_plan(2), dense_model()}, CudaGraph::attention},
          {{"Experts", pair, small_mla()}, CudaGraph::attention, true},
          {{"Folded", folded_plan({.tp = 2, .dp = 2, .pp = 2}, 2, 2)}, CudaGraph::attention},
          {{"WholeMoe", changed(pair, [](Plan& p) { p.recompute = {Module::moe}; })},
           CudaGraph::attention}};
}

}  // namespace pleat::test
