// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/plan/layout.hpp"
#include "tests/interop/checked_words.hpp"

namespace pleat::interop_test {
namespace {

std::int64_t virtual_stages(C c) {
  if (has_layout(c)) {
    const std::string layout = c.text("pipeline_model_parallel_layout", "");
    // Stages of the expanded string, as the strict parser counts them.
    for (int v = 1; v <= 64; ++v) {
      try {
        static_cast<void>(parse_layout(layout, c.integer("num_layers", 0),
                                       c.integer("mtp_num_layers", 0) > 0, static_cast<int>(pp(c)),
                                       v));
        return v;
      } catch (const std::exception&) {
      }
    }
    return 0;
  }
  return c.integer("num_virtual_stages_per_pipeline_rank", 1);
}

// Layers that the split counts, embedding and loss among them where they are accounted for.
std::int64_t counted_layers(C c) {
  return c.integer("num_layers", 0) + c.on("account_for_embedding_in_pipeline_split") +
         c.on("account_for_loss_in_pipeline_split");
}

const std::vector<ArgumentRule>& size_rules() {
  static const std::vector<ArgumentRule> rules{
      {"training/arguments.py:432", always,
       [](C c) { return c.world % (tp(c) * pp(c) * cp(c)) == 0; }},
      {"core/parallel_state.py:874", [](C c) { return experts(c) > 0; },
       [](C c) { return c.world % (etp(c) * ep(c) * pp(c)) == 0; }},
      {"core/transformer/transformer_config.py:1447", always,
       [](C c) { return c.integer("num_attention_heads", 0) % tp(c) == 0; }},
      {"core/transformer/transformer_config.py:1465",
       [](C c) { return c.on("group_query_attention"); },
       [](C c) {
         const std::int64_t g = c.integer("num_query_groups", 1);
         return g % tp(c) == 0 || tp(c) % g == 0;
       }},
      {"training/arguments.py:1332", [](C c) { return !c.given("kv_channels"); },
       [](C c) { return c.integer("hidden_size", 0) % c.integer("num_attention_heads", 1) == 0; }},
      {"training/arguments.py:1336", [](C c) { return cp(c) > 1; },
       [](C c) { return c.integer("seq_length", 0) % (2 * cp(c)) == 0; }},
      {"training/arguments.py:582",
       [](C c) { return c.given("hierarchical_context_parallel_sizes"); },
       [](C c) {
         std::int64_t product = 1;
         for (const std::string& size : c.arguments.at("hierarchical_context_parallel_sizes"))
           product *= std::stoll(size);
         return product == cp(c);
       }},
      {"training/arguments.py:584", [](C c) { return c.text("cp_comm_type", "p2p") == "a2a+p2p"; },
       [](C c) { return c.given("hierarchical_context_parallel_sizes"); }},
      {"core/parallel_state.py: distributed optimizer instances", gives_instances,
       [](C c) {
         const std::int64_t n = c.integer("num_distributed_optimizer_instances", 1);
         const std::int64_t ranks = c.world / (tp(c) * pp(c));
         return ranks % n == 0 && (experts(c) == 0 || c.world / (etp(c) * ep(c) * pp(c)) % n == 0);
       }},
      {"core/distributed/distributed_data_parallel.py: distributed optimizer instances",
       gives_instances, [](C c) { return sharded(c); }},
      {"training/arguments.py:1354", always,
       [](C c) { return c.integer("max_position_embeddings", 0) >= c.integer("seq_length", 0); }},
      {"training/arguments.py:1657", [](C c) { return ep(c) > 1; },
       [](C c) { return experts(c) > 0 && experts(c) % ep(c) == 0; }},
      {"core/transformer/transformer_config.py:1702",
       [](C c) { return c.given("moe_ffn_hidden_size"); }, [](C c) { return experts(c) > 0; }},
      {"training/arguments.py:694", always,
       [](C c) { return c.integer("micro_batch_size", 0) > 0; }},
      {"training/arguments.py:705", always,
       [](C c) { return c.integer("global_batch_size", 0) > 0; }},
      {"core/num_microbatches_calculator.py", always,
       [](C c) {
         const std::int64_t dp = c.world / (tp(c) * pp(c) * cp(c));
         return c.integer("global_batch_size", 0) % (c.integer("micro_batch_size", 1) * dp) == 0;
       }},
      {"core/model_parallel_config.py:504", [](C c) { return c.on("sequence_parallel"); },
       [](C c) { return tp(c) > 1; }},
      {"core/transformer/moe/moe_layer.py", [](C c) { return experts(c) > 0 && tp(c) > 1; },
       [](C c) { return c.on("sequence_parallel"); }},
      {"training/arguments.py:1974", [](C c) { return c.on("multi_latent_attention"); },
       [](C c) { return !c.on("group_query_attention"); }},
      {"core/transformer/transformer_config.py:3349",
       [](C c) { return c.on("multi_latent_attention"); },
       [](C c) { return !c.on("attention_output_gate"); }},
      {"core/transformer/transformer_config.py:2613",
       [](C c) { return experts(c) > 0 && !c.off("add_bias_linear"); },
       [](C c) { return etp(c) == 1; }},
      {"core/transformer/transformer_config.py:1502", gdn,
       [](C c) {
         const std::int64_t ranks = tp(c) * cp(c);
         return c.integer("linear_num_key_heads", 16) % ranks == 0 &&
                c.integer("linear_num_value_heads", 32) % ranks == 0;
       }},
      {"core/transformer/transformer_config.py:1495", gdn,
       [](C c) {
         return c.integer("linear_num_value_heads", 32) % c.integer("linear_num_key_heads", 16) ==
                0;
       }},
      {"core/transformer/transformer_config.py:3170", [](C c) { return dsa(c) && cp(c) > 1; },
       [](C c) { return c.text("cp_comm_type", "p2p") == "allgather"; }},
      {"core/transformer/transformer_config.py:3163", dsa,
       [](C c) { return c.off("apply_rope_fusion"); }},
      {"core/transformer/transformer_config.py:1513", dsa,
       [](C c) { return c.off("add_bias_linear"); }},
  };
  return rules;
}

const std::vector<ArgumentRule>& router_rules() {
  static const std::vector<ArgumentRule> rules{
      {"core/transformer/transformer_config.py:2621",
       [](C c) { return c.on("moe_router_enable_expert_bias"); },
       [](C c) { return c.text("moe_router_score_function", "softmax") == "sigmoid"; }},
      {"core/transformer/transformer_config.py:2669",
       [](C c) {
         return experts(c) > 0 && c.integer("moe_router_topk", 2) == 1 &&
                c.text("moe_router_score_function", "softmax") == "softmax";
       },
       [](C c) { return c.on("moe_router_pre_softmax"); }},
      {"core/transformer/transformer_config.py:2678",
       [](C c) { return c.given("moe_router_group_topk"); },
       [](C c) {
         const std::int64_t groups = c.integer("moe_router_num_groups", 0);
         return groups > 0 && experts(c) % groups == 0 &&
                c.integer("moe_router_group_topk", 0) <= groups;
       }},
      {"core/transformer/transformer_config.py:1824",
       [](C c) { return c.on("moe_shared_expert_overlap"); },
       [](C c) { return dispatcher(c) != "allgather"; }},
      {"core/transformer/transformer_config.py:1758",
       [](C c) { return c.on("moe_pad_expert_input_to_capacity"); },
       [](C c) { return !deepep(c); }},
      {"core/transformer/transformer_config.py:1864",
       [](C c) { return c.on("moe_pad_expert_input_to_capacity"); },
       [](C c) { return c.given("moe_expert_capacity_factor"); }},
      {"core/transformer/transformer_config.py:1815",
       [](C c) { return c.given("moe_shared_expert_intermediate_size"); },
       [](C c) { return c.integer("moe_shared_expert_intermediate_size", 0) > 0; }},
      {"core/transformer/transformer_config.py:1996",
       [](C c) { return recomputes(c, "shared_experts"); },
       [](C c) { return !c.on("moe_shared_expert_overlap"); }},
  };
  return rules;
}

const std::vector<ArgumentRule>& pipeline_rules() {
  static const std::vector<ArgumentRule> rules{
      {"training/arguments.py:928", always,
       [](C c) {
         return has_layout(c) + c.given("num_virtual_stages_per_pipeline_rank") +
                    c.given("num_layers_per_virtual_pipeline_stage") <=
                1;
       }},
      {"training/arguments.py:945", has_layout, [](C c) { return virtual_stages(c) > 0; }},
      {"core/transformer/transformer_config.py:2252", has_layout,
       [](C c) {
         return !c.on("account_for_embedding_in_pipeline_split") &&
                !c.on("account_for_loss_in_pipeline_split");
       }},
      {"core/transformer/pipeline_parallel_layer_layout.py:86", has_layout,
       [](C c) {
         const std::string layout = c.text("pipeline_model_parallel_layout", "");
         return std::count(layout.begin(), layout.end(), 'm') == c.integer("mtp_num_layers", 0);
       }},
      {"core/transformer/pipeline_parallel_layer_layout.py:120",
       [](C c) { return has_layout(c) && c.integer("mtp_num_layers", 0) > 0; },
       [](C c) {
         const auto stages =
             parse_layout(c.text("pipeline_model_parallel_layout", ""), c.integer("num_layers", 0),
                          true, static_cast<int>(pp(c)), static_cast<int>(virtual_stages(c)));
         for (std::size_t i = 0; i < stages.size(); ++i)
           if (stages[i].mtp) return i % static_cast<std::size_t>(pp(c)) != 0;
         return false;
       }},
      {"training/arguments.py:968", [](C c) { return !has_layout(c) && pp(c) > 1; },
       [](C c) { return counted_layers(c) % (pp(c) * virtual_stages(c)) == 0; }},
      {"training/arguments.py:1002", [](C c) { return virtual_stages(c) > 1; },
       [](C c) { return pp(c) > 1; }},
      {"core/models/gpt/gpt_layer_specs.py:572",
       [](C c) { return c.given("experimental_attention_variant"); },
       [](C c) { return c.integer("mtp_num_layers", 0) == 0; }},
      {"core/transformer/moe/experts.py:205",
       [](C c) { return experts(c) > 0 && !c.off("add_bias_linear"); },
       [](C c) { return c.off("bias_dropout_fusion"); }},
      {"training/arguments.py:883", [](C c) { return c.integer("mtp_num_layers", 0) > 0; },
       [](C c) { return c.text("position_embedding_type", "learned_absolute") == "rope"; }},
  };
  return rules;
}

const std::vector<ArgumentRule>& exchange_rules() {
  static const std::vector<ArgumentRule> rules{
      {"core/transformer/transformer_config.py:3008",
       [](C c) { return ep_overlap(c) && pp(c) > 1; }, [](C c) { return virtual_stages(c) > 1; }},
      {"core/transformer/transformer_config.py:3013", ep_overlap, [](C c) { return ep(c) > 1; }},
      {"core/transformer/transformer_config.py:3016", ep_overlap,
       [](C c) { return dispatcher(c) != "allgather"; }},
      {"core/transformer/transformer_config.py:3021", ep_overlap,
       [](C c) { return !full(c) && !c.given("recompute_method"); }},
      {"core/transformer/transformer_config.py:3030", ep_overlap,
       [](C c) { return !recomputes(c, "moe"); }},
      {"core/transformer/transformer_config.py:3035", ep_overlap,
       [](C c) { return c.on("bf16") || c.on("fp16"); }},
      {"core/transformer/transformer_config.py:3039", ep_overlap,
       [](C c) { return !c.on("moe_shared_expert_overlap"); }},
      {"core/transformer/transformer_config.py:3042", ep_overlap,
       [](C c) { return c.integer("mtp_num_layers", 0) <= 1; }},
      {"core/transformer/moe/token_dispatcher.py:1836",
       [](C c) { return dispatcher(c) == "flex"; }, [](C c) { return etp(c) * ep(c) > 1; }},
      {"TransformerEngine pytorch/module/_common.py: weight gradients in bulk",
       [](C c) { return c.on("delay_wgrad_compute"); },
       [](C c) { return !c.on("tp_comm_overlap"); }},
      {"core/transformer/transformer_config.py:3075",
       [](C c) { return c.on("delay_wgrad_compute"); }, ep_overlap},
      {"training/arguments.py:1442", [](C c) { return c.on("tp_comm_overlap"); },
       [](C c) { return c.on("sequence_parallel"); }},
      {"training/arguments.py:1025", [](C c) { return c.on("overlap_param_gather"); },
       [](C c) { return sharded(c) || fsdp(c); }},
      {"training/arguments.py:1028", [](C c) { return c.on("overlap_param_gather"); },
       [](C c) { return c.on("overlap_grad_reduce"); }},
      {"training/arguments.py:1067",
       [](C c) { return c.on("overlap_param_gather_with_optimizer_step"); },
       [](C c) {
         return c.on("use_distributed_optimizer") && c.on("overlap_param_gather") &&
                c.text("ckpt_format", "torch_dist") == "torch";
       }},
      {"training/arguments.py:1477",
       [](C c) {
         return (tp(c) > 1 || cp(c) > 1) && c.capability < 10 && !fsdp(c) && !ep_overlap(c);
       },
       [](C c) { return c.variable("CUDA_DEVICE_MAX_CONNECTIONS") == "1"; }},
      {"training/arguments.py:1166", fsdp,
       [](C c) { return c.variable("CUDA_DEVICE_MAX_CONNECTIONS") != "1"; }},
      {"training/arguments.py:1169", fsdp,
       [](C c) { return c.text("ckpt_format", "torch_dist") == "fsdp_dtensor"; }},
  };
  return rules;
}

}  // namespace

const std::vector<ArgumentRule>& argument_rules() {
  static const std::vector<ArgumentRule> all = [] {
    std::vector<ArgumentRule> list;
    for (const auto* part : {&size_rules(), &router_rules(), &pipeline_rules(), &memory_rules(),
                             &graph_rules(), &exchange_rules(), &precision_rules()})
      list.insert(list.end(), part->begin(), part->end());
    return list;
  }();
  return all;
}

}  // namespace pleat::interop_test
