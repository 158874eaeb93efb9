// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Megatron-LM's checks of recompute, offload, CUDA graphs and number types.
#include "tests/interop/checked_words.hpp"

namespace pleat::interop_test {

const std::vector<ArgumentRule>& memory_rules() {
  static const std::vector<ArgumentRule> rules{
      {"training/arguments.py:1426", selective, [](C c) { return !c.given("recompute_method"); }},
      {"core/transformer/transformer_config.py:1929", selective,
       [](C c) { return !c.given("recompute_num_layers"); }},
      {"core/transformer/transformer_config.py:1914", full,
       [](C c) {
         return c.given("recompute_method") && c.integer("recompute_num_layers", 0) > 0 &&
                !c.given("recompute_modules");
       }},
      {"core/transformer/transformer_config.py:1965", [](C c) { return recomputes(c, "moe_act"); },
       [](C c) { return c.on("moe_grouped_gemm"); }},
      {"core/transformer/transformer_config.py:1970",
       [](C c) { return recomputes(c, "mla_up_proj"); },
       [](C c) { return c.on("multi_latent_attention"); }},
      {"core/transformer/transformer_config.py:2003",
       [](C c) { return fp8(c) && (recomputes(c, "moe_act") || recomputes(c, "layernorm")); },
       [](C c) { return c.text("fp8_recipe", "delayed") != "delayed"; }},
      {"core/transformer/transformer_config.py:1887", layer_offload,
       [](C c) { return c.integer("cpu_offloading_num_layers", 0) < c.integer("num_layers", 0); }},
      {"core/transformer/transformer_config.py:1892", layer_offload,
       [](C c) { return pp(c) == 1; }},
      {"core/transformer/transformer_config.py:1897", layer_offload,
       [](C c) { return !c.given("recompute_granularity"); }},
      {"core/transformer/transformer_config.py:2801", layer_offload,
       [](C c) { return !graphs(c) || full_graph(c); }},
      {"core/transformer/transformer_config.py:2128", fine_offload,
       [](C c) { return !layer_offload(c) && c.given("offload_modules"); }},
      {"core/transformer/transformer_config.py:2149",
       [](C c) { return fine_offload(c) && c.lists("offload_modules", "attn_proj"); },
       [](C c) { return c.lists("offload_modules", "core_attn"); }},
      {"core/transformer/transformer_config.py:2169",
       [](C c) { return fine_offload(c) && recomputes(c, "moe"); },
       [](C c) {
         return !c.lists("offload_modules", "expert_fc1") && !c.lists("offload_modules", "moe_act");
       }},
      {"core/transformer/transformer_config.py:2968",
       [](C c) { return fine_offload(c) && full_graph(c); },
       [](C c) { return c.given("fine_grained_offloading_max_inflight_offloads"); }},
      {"core/transformer/transformer_config.py:2212", stashes,
       [](C c) { return !layer_offload(c); }},
      {"core/transformer/transformer_config.py:2214", stashes,
       [](C c) { return c.given("moe_expert_rank_capacity_factor"); }},
      {"core/transformer/transformer_config.py:2222", stashes,
       [](C c) {
         return !c.lists("offload_modules", "expert_fc1") && !c.lists("offload_modules", "moe_act");
       }},
      {"core/transformer/transformer_config.py:1870", stashes,
       [](C c) { return c.text("moe_flex_dispatcher_backend", "deepep") == "hybridep"; }},
      {"core/transformer/transformer_config.py:1879", stashes,
       [](C c) { return c.on("moe_use_grouped_tensor") && c.on("moe_grouped_gemm"); }},
      {"training/arguments.py:1939", fine_offload,
       [](C c) { return c.variable("NVTE_CPU_OFFLOAD_V1") == "1"; }},
  };
  return rules;
}

const std::vector<ArgumentRule>& graph_rules() {
  static const std::vector<ArgumentRule> rules{
      {"core/transformer/transformer_config.py:2794", full_graph,
       [](C c) { return !c.given("cuda_graph_modules"); }},
      {"core/transformer/transformer_config.py:2822",
       [](C c) { return captures(c, "moe_preprocess"); },
       [](C c) { return captures(c, "moe_router"); }},
      {"core/transformer/transformer_config.py:2826",
       [](C c) { return graphs_modules(c) && experts(c) <= 1; },
       [](C c) { return !captures(c, "moe_router") && !captures(c, "moe"); }},
      {"core/transformer/transformer_config.py:2834", [](C c) { return captures(c, "mlp"); },
       [](C c) { return experts(c) <= 1 || c.text("moe_layer_freq", "1") != "1"; }},
      {"core/transformer/transformer_config.py:2849",
       [](C c) {
         return captures(c, "moe_preprocess") && !c.on("moe_pad_expert_input_to_capacity");
       },
       [](C c) { return dispatcher(c) != "alltoall" || !c.given("moe_expert_capacity_factor"); }},
      {"core/transformer/transformer_config.py:2856", [](C c) { return graphs(c) && full(c); },
       full_graph},
      {"core/transformer/transformer_config.py:2866", [](C c) { return recomputes(c, "moe"); },
       [](C c) { return !graphs_modules(c) || !captures(c, "moe_router"); }},
      {"core/transformer/transformer_config.py:2879",
       [](C c) { return graphs(c) && recomputes(c, "core_attn"); },
       [](C c) { return c.text("attention_dropout", "0.1") == "0"; }},
      {"training/arguments.py:1236", full_graph,
       [](C c) { return c.off("check_for_nan_in_loss_and_grad"); }},
      {"training/arguments.py:1969", full_graph,
       [](C c) { return !c.given("cuda_graph_modules"); }},
      {"training/arguments.py:1925",
       [](C c) { return c.on("delay_wgrad_compute") && captures(c, "attn"); },
       [](C c) { return c.off("add_bias_linear") && !c.on("add_qkv_bias"); }},
      {"training/arguments.py:1919",
       [](C c) {
         return c.on("delay_wgrad_compute") && c.on("overlap_grad_reduce") && captures(c, "attn");
       },
       [](C c) { return !c.off("gradient_accumulation_fusion"); }},
  };
  return rules;
}

const std::vector<ArgumentRule>& precision_rules() {
  static const std::vector<ArgumentRule> rules{
      {"training/arguments.py:1196", always, [](C c) { return !(c.on("fp16") && c.on("bf16")); }},
      {"core/transformer/transformer_config.py:1582", always,
       [](C c) { return !(fp8(c) && fp4(c)); }},
      {"core/transformer/transformer_config.py:1571", [](C c) { return c.on("fp8_output_proj"); },
       [](C c) { return fp8(c) && c.text("fp8_recipe", "delayed") == "mxfp8"; }},
      {"core/transformer/transformer_config.py:1567", [](C c) { return c.on("fp8_param_gather"); },
       fp8},
      {"training/arguments.py:1096", [](C c) { return c.on("fp8_param_gather"); },
       [](C c) { return sharded(c) || fsdp(c); }},
      {"training/mixed_precision: mxfp8 weights",
       [](C c) { return c.on("fp8_param_gather") && c.text("fp8_recipe", "delayed") == "mxfp8"; },
       [](C c) { return c.on("reuse_grad_buf_for_mxfp8_param_ag"); }},
      {"training/arguments.py:1210",
       [](C c) { return c.text("main_grads_dtype", "fp32") == "bf16" && c.on("bf16"); },
       [](C c) { return c.on("grad_reduce_in_bf16"); }},
      {"core/distributed/fsdp/mcore_fsdp_adapter.py: fp32 for both",
       [](C c) { return c.given("megatron_fsdp_grad_comm_dtype"); },
       [](C c) {
         return fsdp(c) && c.on("grad_reduce_in_bf16") &&
                !c.on("accumulate_allreduce_grads_in_fp32");
       }},
      // fp16 gradients are what such a run has unless it accumulates them in fp32.
      {"training/arguments.py:3069: fp16", [](C c) { return c.on("fp16"); },
       [](C c) { return c.text("main_grads_dtype", "fp32") == "fp32"; }},
      {"core/optimizer/optimizer_config.py",
       [](C c) { return c.on("use_precision_aware_optimizer"); },
       [](C c) { return sharded(c) && c.text("optimizer", "adam") == "adam"; }},
      {"training/arguments.py:1885", [](C c) { return c.on("optimizer_cpu_offload"); },
       [](C c) { return c.on("use_precision_aware_optimizer"); }},
      {"training/arguments.py:1889",
       [](C c) { return c.on("optimizer_cpu_offload") && c.on("fp8_param_gather"); },
       [](C c) { return c.text("fp8_recipe", "delayed") == "delayed"; }},
      {"training/arguments.py:1150", [](C c) { return fsdp(c) && c.given("optimizer"); },
       [](C c) { return c.text("optimizer", "adam") == "sgd"; }},
      {"training/arguments.py:1741", [](C c) { return c.text("optimizer", "adam") == "muon"; },
       [](C c) { return c.text("ckpt_format", "torch_dist") == "torch_dist"; }},
      {"core/optimizer/optimizer_config.py: states",
       [](C c) {
         return c.given("exp_avg_dtype") || c.given("exp_avg_sq_dtype") ||
                c.given("main_grads_dtype") || c.given("main_params_dtype");
       },
       [](C c) { return c.on("use_precision_aware_optimizer"); }},
      {"core/transformer/transformer_config.py:2422", [](C c) { return c.on("squared_relu"); },
       [](C c) { return c.off("bias_gelu_fusion"); }},
      {"core/transformer/transformer_config.py:2431",
       [](C c) { return !c.on("swiglu") && !c.on("squared_relu"); },
       [](C c) { return !c.off("add_bias_linear") || c.off("bias_gelu_fusion"); }},
  };
  return rules;
}

}  // namespace pleat::interop_test
