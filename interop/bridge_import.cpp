// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Fields of megatron-bridge 0.6.2 (training/config.py, mixed_precision.py, comm_overlap.py) and of
// megatron-core's TransformerConfig. Most have Megatron-LM's names.
#include "interop/bridge_import.hpp"

#include <fmt/format.h>

#include <array>
#include <map>
#include <string_view>

#include "core/diagnostics.hpp"

namespace pleat::interop {
namespace {

using Renames = std::map<std::string_view, std::string_view>;

// Of `model`, where the argument has another name.
const Renames kModel{
    {"num_moe_experts", "num_experts"},
    {"layernorm_epsilon", "norm_epsilon"},
    {"num_layers_in_first_pipeline_stage", "decoder_first_pipeline_num_layers"},
    {"num_layers_in_last_pipeline_stage", "decoder_last_pipeline_num_layers"},
    {"microbatch_group_size_per_vp_stage", "microbatch_group_size_per_virtual_pipeline_stage"}};

// Arguments that importing knows; what else is set there may change the run.
constexpr auto kSame = std::to_array<std::string_view>({"hybrid_override_pattern",
                                                        "hybrid_layer_pattern",
                                                        "cuda_graph_scope",
                                                        "rotary_base",
                                                        "num_layers",
                                                        "hidden_size",
                                                        "ffn_hidden_size",
                                                        "num_attention_heads",
                                                        "num_query_groups",
                                                        "kv_channels",
                                                        "seq_length",
                                                        "vocab_size",
                                                        "mtp_num_layers",
                                                        "tensor_model_parallel_size",
                                                        "pipeline_model_parallel_size",
                                                        "virtual_pipeline_model_parallel_size",
                                                        "context_parallel_size",
                                                        "expert_model_parallel_size",
                                                        "expert_tensor_parallel_size",
                                                        "sequence_parallel",
                                                        "recompute_granularity",
                                                        "recompute_method",
                                                        "recompute_num_layers",
                                                        "recompute_modules",
                                                        "cuda_graph_impl",
                                                        "cuda_graph_modules",
                                                        "fp8",
                                                        "fp8_recipe",
                                                        "fp4",
                                                        "bf16",
                                                        "fp16",
                                                        "rotary_percent",
                                                        "rotary_interleaved",
                                                        "normalization",
                                                        "add_qkv_bias",
                                                        "qk_layernorm",
                                                        "multi_latent_attention",
                                                        "q_lora_rank",
                                                        "kv_lora_rank",
                                                        "qk_head_dim",
                                                        "qk_pos_emb_head_dim",
                                                        "v_head_dim",
                                                        "position_embedding_type",
                                                        "rotary_scaling_factor",
                                                        "mscale",
                                                        "mscale_all_dim",
                                                        "window_size",
                                                        "softmax_type",
                                                        "overlap_moe_expert_parallel_comm",
                                                        "delay_wgrad_compute",
                                                        "moe_shared_expert_overlap",
                                                        "tp_comm_overlap",
                                                        "cp_comm_type",
                                                        "hierarchical_context_parallel_sizes",
                                                        "account_for_embedding_in_pipeline_split",
                                                        "account_for_loss_in_pipeline_split",
                                                        "moe_router_topk",
                                                        "moe_ffn_hidden_size",
                                                        "moe_shared_expert_intermediate_size",
                                                        "moe_shared_expert_gate",
                                                        "moe_router_score_function",
                                                        "moe_router_pre_softmax",
                                                        "moe_router_num_groups",
                                                        "moe_router_group_topk",
                                                        "moe_router_enable_expert_bias",
                                                        "moe_router_topk_scaling_factor",
                                                        "moe_token_dispatcher_type",
                                                        "moe_flex_dispatcher_backend",
                                                        "moe_enable_deepep",
                                                        "moe_deepep_num_sms",
                                                        "moe_hybridep_num_sms",
                                                        "moe_flex_dispatcher_num_sms",
                                                        "moe_permute_fusion",
                                                        "moe_router_fusion",
                                                        "moe_router_force_load_balancing",
                                                        "moe_expert_capacity_factor",
                                                        "moe_pad_expert_input_to_capacity",
                                                        "moe_latent_size",
                                                        "cpu_offloading_num_layers",
                                                        "fine_grained_activation_offloading",
                                                        "offload_modules",
                                                        "fp8_output_proj",
                                                        "experimental_attention_variant",
                                                        "linear_attention_freq",
                                                        "linear_num_key_heads",
                                                        "linear_num_value_heads",
                                                        "linear_key_head_dim",
                                                        "linear_value_head_dim",
                                                        "linear_conv_kernel_dim",
                                                        "dsa_indexer_n_heads",
                                                        "dsa_indexer_head_dim",
                                                        "dsa_indexer_topk",
                                                        "mamba_num_heads",
                                                        "mamba_head_dim",
                                                        "mamba_state_dim",
                                                        "mamba_num_groups",
                                                        "attention_output_gate",
                                                        "moe_paged_stash",
                                                        "moe_expert_rank_capacity_factor",
                                                        "moe_paged_stash_buffer_size_factor_cuda"});

constexpr auto kOfDdp =
    std::to_array<std::string_view>({"use_distributed_optimizer", "overlap_grad_reduce",
                                     "overlap_param_gather", "num_distributed_optimizer_instances",
                                     "data_parallel_sharding_strategy", "use_megatron_fsdp"});
constexpr auto kOfOptimizer = std::to_array<std::string_view>(
    {"optimizer", "use_precision_aware_optimizer", "main_grads_dtype", "main_params_dtype",
     "exp_avg_dtype", "exp_avg_sq_dtype", "optimizer_cpu_offload", "optimizer_offload_fraction",
     "overlap_cpu_optimizer_d2h_h2d", "overlap_param_gather_with_optimizer_step"});

std::string python_word(const std::string& text) {
  if (text == "true") return "True";
  return text == "false" ? "False" : text == "null" ? "None" : text;
}

// "torch.bfloat16" of {_target_: torch.bfloat16, _call_: false}.
std::string target_of(const JsonValue& value) {
  const JsonValue* const target = value.find("_target_");
  const std::string* const name = target == nullptr ? nullptr : target->as_string();
  return name == nullptr ? "" : *name;
}

std::vector<std::string> values_of(const JsonValue& value) {
  if (const std::string* const text = value.as_string()) return {python_word(*text)};
  if (const std::string target = target_of(value); !target.empty()) return {target};
  std::vector<std::string> out;
  for (const JsonValue& item : value.items())
    if (const std::string* const text = item.as_string()) out.push_back(python_word(*text));
  return out;
}

bool is_set(const JsonValue* value) {
  if (value == nullptr) return false;
  const std::string* const text = value->as_string();
  return text == nullptr ? !value->items().empty() || !value->members().empty()
                         : !text->empty() && *text != "null";
}

class Converter {
 public:
  explicit Converter(const JsonValue& yaml) : yaml_(yaml) {}

  Arguments convert() {
    const JsonValue& model = *yaml_.find("model");
    for (const std::string_view name : kSame) put(model.find(name), name);
    for (const auto& [name, argument] : kModel) put(model.find(name), argument);
    model_words(model);
    for (const std::string_view name : kOfDdp) put(of("ddp", name), name);
    put(of("ddp", "bucket_size"), "ddp_bucket_size");
    for (const std::string_view name : kOfOptimizer) put(of("optimizer", name), name);
    for (const char* name : {"micro_batch_size", "global_batch_size", "rampup_batch_size"})
      put(of("train", name), name);
    for (const char* name : {"sequence_length", "seq_length"})
      put(of("dataset", name), "seq_length");
    // The tokenizer's size becomes the model's when both are set up.
    for (const char* name : {"tokenizer_type", "tokenizer_model"}) put(of("tokenizer", name), name);
    if (!is_set(model.find("vocab_size"))) put(of("tokenizer", "vocab_size"), "vocab_size");
    // What set-up copies into the others, where the file was written before it.
    for (const char* name : {"bf16", "fp16", "fp8", "fp8_recipe", "fp4"})
      put(of("mixed_precision", name), name);
    for (const char* name : {"tp_comm_overlap", "overlap_grad_reduce", "overlap_param_gather",
                             "overlap_param_gather_with_optimizer_step",
                             "overlap_moe_expert_parallel_comm", "delay_wgrad_compute"})
      put(of("comm_overlap", name), name);
    const JsonValue* const mixed = of("mixed_precision", "grad_reduce_in_fp32");
    if (is(is_set(mixed) ? mixed : of("ddp", "grad_reduce_in_fp32"), "false"))
      set("grad_reduce_in_bf16", "True");
    if (is(of("mixed_precision", "fp8_param"), "true") || is(model.find("fp8_param"), "true"))
      set("fp8_param_gather", "True");
    return std::move(out_);
  }

 private:
  [[nodiscard]] const JsonValue* of(const char* section, std::string_view name) const {
    const JsonValue* const s = yaml_.find(section);
    return s == nullptr ? nullptr : s->find(name);
  }
  static bool is(const JsonValue* value, std::string_view word) {
    const std::string* const text = value == nullptr ? nullptr : value->as_string();
    return text != nullptr && *text == word;
  }
  void set(std::string_view argument, std::string value) {
    out_[std::string(argument)] = {std::move(value)};
  }
  void put(const JsonValue* value, std::string_view argument) {
    if (is_set(value)) out_[std::string(argument)] = values_of(*value);
  }

  // What Megatron-LM says by a switch, or as a pattern.
  void model_words(const JsonValue& model) {
    if (is_set(model.find("num_query_groups"))) set("group_query_attention", "True");
    if (is(model.find("add_bias_linear"), "false")) set("add_bias_linear", "False");
    if (is(model.find("share_embeddings_and_output_weights"), "false"))
      set("untie_embeddings_and_output_weights", "True");
    const JsonValue* const activation = model.find("activation_func");
    const std::string name = activation == nullptr ? "" : target_of(*activation);
    const bool gated = is(model.find("gated_linear_unit"), "true");
    if (gated && name.ends_with("silu")) set("swiglu", "True");
    if (name.ends_with("squared_relu")) set("squared_relu", "True");
    if (gated && name.ends_with("quick_gelu")) {
      set("quick_geglu", "True");
      put(model.find("activation_func_clamp_value"), "activation_func_clamp_value");
      put(model.find("glu_linear_offset"), "glu_linear_offset");
    }
    for (const char* pattern : {"moe_layer_freq", "linear_attention_freq"}) {
      const JsonValue* const list = model.find(pattern);
      if (list == nullptr || !list->is_array()) {
        put(list, pattern);
        continue;
      }
      std::string text;
      for (const std::string& v : values_of(*list)) text += (text.empty() ? "[" : ",") + v;
      set(pattern, text + "]");
    }
    const JsonValue* const layout = model.find("pipeline_model_parallel_layout");
    if (layout != nullptr && layout->is_array())
      set("pipeline_model_parallel_layout", layout_text(*layout));
    else
      put(layout, "pipeline_model_parallel_layout");
  }

  // [[embedding, decoder], [decoder, loss]]: of each virtual stage what it holds.
  static std::string layout_text(const JsonValue& stages) {
    std::string text;
    for (const JsonValue& stage : stages.items()) {
      if (!text.empty()) text += '|';
      for (const std::string& part : values_of(stage)) {
        text += part == "embedding" ? 'E' : part == "mtp" ? 'm' : part == "loss" ? 'L' : 't';
      }
    }
    return text;
  }

  const JsonValue& yaml_;
  Arguments out_;
};

}  // namespace

Arguments read_bridge_config(const JsonValue& yaml, const std::string& where) {
  const JsonValue* const model = yaml.find("model");
  if (model == nullptr || !model->is_object() || yaml.find("train") == nullptr) {
    throw_config_error(ExitCode::bad_file, where, "model",
                       "is no configuration of Megatron-Bridge: it has no `model` and `train`",
                       "run_config.yaml of a checkpoint, or of logger.save_config_filepath");
  }
  if (is_set(yaml.find("peft"))) {
    throw_config_error(ExitCode::bad_file, where, "peft",
                       "is set: most weights are frozen, which no plan says",
                       "null, as in a recipe that trains all weights");
  }
  return Converter(yaml).convert();
}

}  // namespace pleat::interop
