// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the code of a Hugging Face model class fixes and its config.json leaves unsaid.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/json/json_value.hpp"
#include "core/spec/hf_fields.hpp"
#include "core/spec/model.hpp"

namespace pleat {

struct HfFamily {
  std::string_view model_type;
  AttentionKind attention = AttentionKind::gqa;
  bool moe = false;
  bool moe_optional = false;  // some of its models have no experts
  bool gpt2_names = false;    // n_layer, n_embd, … ; LayerNorm, biases, GELU, learned positions
  bool qk_norm = false;
  bool wide_qk_norm = false;
  std::string_view qk_norm_field = "";  // that may say otherwise
  bool qkv_bias = false;  // where the file does not say
  std::string_view bias_field = "attention_bias";
  bool bias_covers_output = true;  // the field adds a bias to the output projection too
  // MoE
  bool expert_ffn_is_intermediate = false;  // intermediate_size is the expert's width
  bool shared_gate = false;
  RouterScore score = RouterScore::softmax;
  bool expert_bias = false;
  bool normalize_top_k = true;
  bool shared_is_expert = false;  // one shared expert as wide as a routed one, unsaid in the file
  bool router_bias = false;
  bool expert_mlp_bias = false;
  // MLP and norms
  NormKind norm = NormKind::rms_norm;
  Activation activation = Activation::silu;  // where the file does not say
  bool gated = true;
  std::vector<std::string> activations = {"silu", "swish"};  // that the family may name
  bool sinks = false;
  bool tied = false;  // tables, where the file does not say
  // All of the model, of a config that is built otherwise; nullptr: as Llama's.
  void (*read_all)(HfFields&, ModelSpec&) = nullptr;
  // Layers that differ; nullptr: all alike.
  void (*read_layers)(HfFields&, ModelSpec&) = nullptr;
};

[[nodiscard]] const std::vector<HfFamily>& hf_families();
// nullptr if pleat does not know the family.
[[nodiscard]] const HfFamily* find_hf_family(std::string_view model_type);
// The known family most like an unknown one: by name, else by the fields the config has.
[[nodiscard]] const HfFamily& nearest_hf_family(const std::string& model_type,
                                                const JsonValue& config);

// Of fields that nobody read, those that may say something about the model's sizes or its work.
[[nodiscard]] std::vector<std::string> without_harmless(std::vector<std::string> fields,
                                                        const JsonValue& config);

}  // namespace pleat
