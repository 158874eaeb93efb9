// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Short questions about a checked argument list, for its rules.
#pragma once

#include <string>

#include "tests/interop/megatron_rules.hpp"

namespace pleat::interop_test {

using C = const Checked&;

inline bool always(C) { return true; }

inline std::int64_t tp(C c) { return c.integer("tensor_model_parallel_size", 1); }
inline std::int64_t cp(C c) { return c.integer("context_parallel_size", 1); }
inline std::int64_t pp(C c) { return c.integer("pipeline_model_parallel_size", 1); }
inline std::int64_t ep(C c) { return c.integer("expert_model_parallel_size", 1); }
inline std::int64_t etp(C c) { return c.integer("expert_tensor_parallel_size", tp(c)); }
inline std::int64_t experts(C c) { return c.integer("num_experts", 0); }
inline bool fsdp(C c) { return c.on("use_megatron_fsdp"); }
inline bool sharded(C c) { return c.on("use_distributed_optimizer"); }
inline bool gives_instances(C c) { return c.given("num_distributed_optimizer_instances"); }
inline bool selective(C c) { return c.text("recompute_granularity", "") == "selective"; }
inline bool full(C c) { return c.text("recompute_granularity", "") == "full"; }
inline bool recomputes(C c, const char* module) {
  return selective(c) && c.lists("recompute_modules", module);
}
inline bool fp8(C c) { return c.given("fp8"); }
inline bool fp4(C c) { return c.given("fp4"); }
inline bool graphs(C c) { return c.text("cuda_graph_impl", "none") != "none"; }
inline bool graphs_modules(C c) {
  return c.text("cuda_graph_impl", "none") == "transformer_engine";
}
inline bool full_graph(C c) { return c.text("cuda_graph_impl", "none") == "full_iteration"; }
inline bool captures(C c, const char* module) { return c.lists("cuda_graph_modules", module); }
inline bool fine_offload(C c) { return c.on("fine_grained_activation_offloading"); }
inline bool stashes(C c) { return c.on("moe_paged_stash"); }
inline bool layer_offload(C c) { return c.integer("cpu_offloading_num_layers", 0) > 0; }
inline bool ep_overlap(C c) { return c.on("overlap_moe_expert_parallel_comm"); }
inline bool has_layout(C c) { return c.given("pipeline_model_parallel_layout"); }
inline bool dsa(C c) { return c.text("experimental_attention_variant", "") == "dsa"; }
inline bool gdn(C c) { return c.text("experimental_attention_variant", "") == "gated_delta_net"; }
inline std::string dispatcher(C c) { return c.text("moe_token_dispatcher_type", "allgather"); }
inline bool deepep(C c) {
  return dispatcher(c) == "flex" && c.text("moe_flex_dispatcher_backend", "deepep") == "deepep";
}

}  // namespace pleat::interop_test
