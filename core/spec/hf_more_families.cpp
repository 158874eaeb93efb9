// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Fields that one family has: what a ModelSpec does not tell of them is left out aloud.
#include <fmt/format.h>

#include "core/spec/hf_parts.hpp"

namespace pleat {
namespace {

constexpr IntRange kCounts{1, 65'536};

}  // namespace

void leave_out_multipliers(HfFields& fields, ModelSpec&) {
  for (const char* name :
       {"embedding_multiplier", "logits_scaling", "residual_multiplier", "attention_multiplier"}) {
    const auto factor = fields.reader().optional_number(name, {0, 1e9});
    if (factor && *factor != 1) {
      fields.leave_out(
          fmt::format("{} {}: scales numbers, costs no time of its own", name, *factor));
    }
  }
}

void leave_out_clipping(HfFields& fields, ModelSpec&) {
  if (const auto limit = fields.reader().optional_number("clip_qkv", {0, 1e9})) {
    fields.leave_out(fmt::format("clip_qkv {}: queries, keys and values are not clipped", *limit));
  }
}

void read_ernie_parts(HfFields& fields, ModelSpec& m) {
  m.attention.rope_interleaved = true;
  if (m.attention.qkv_bias) fields.leave_out("use_bias: biases of MLPs and experts");
}

void leave_out_hunyuan_parts(HfFields& fields, ModelSpec&) {
  fields.leave_out("norms of heads after their rotation: computed before it");
  if (fields.reader().optional_boolean("use_cla").value_or(false)) {
    fields.leave_out("use_cla: keys and values that layers share are counted and priced in each");
  }
}

void read_phi_parts(HfFields& fields, ModelSpec& m) {
  read_windows(fields, m);
  fields.leave_out("SparseMixer routing: priced as softmax");
  if (fields.reader().optional_boolean("lm_head_bias").value_or(false)) {
    fields.leave_out(fmt::format("lm_head_bias: {} parameters of the output projection", m.vocab));
  }
}

void read_bailing_parts(HfFields& fields, ModelSpec& m) {
  m.attention.out_bias = fields.boolean_or({"use_bias"}, false, "as published models have it");
  if (fields.reader().optional_boolean("norm_head").value_or(false)) {
    fields.leave_out("norm_head: the output projection's rows are not normed");
  }
  const auto name = fields.optional_text("score_function");
  if (m.moe && name) {
    if (*name != "sigmoid" && *name != "softmax") {
      fields.reader().problem("score_function", fmt::format("unknown value \"{}\"", *name),
                              "one of: softmax, sigmoid");
    }
    m.moe->score = *name == "sigmoid" ? RouterScore::sigmoid : RouterScore::softmax;
  }
  if (m.moe) {
    m.moe->expert_bias =
        fields.reader().optional_boolean("moe_router_enable_expert_bias").value_or(false);
  }
  read_windows_if_used(fields, m);
}

void read_dbrx(HfFields& fields, ModelSpec& m) {
  m.layers = fields.integer({"n_layers", "num_hidden_layers"}, "layers", kLayerRange);
  m.hidden = fields.integer({"d_model", "hidden_size"}, "hidden size", kHiddenRange);
  AttentionSpec& a = m.attention;
  a.heads = fields.integer({"n_heads", "num_attention_heads"}, "heads", kCounts);
  if (a.heads > 0 && m.hidden % a.heads != 0) {
    fields.reader().problem(
        "n_heads", fmt::format("{} heads do not divide the hidden size {}", a.heads, m.hidden));
  }
  a.head_dim = a.heads > 0 ? m.hidden / a.heads : 0;
  a.kv_groups = 1;
  if (auto nested = fields.reader().optional_object("attn_config")) {
    a.kv_groups = nested->optional_integer("kv_n_heads", kCounts).value_or(1);
    a.rope_theta = nested->optional_number("rope_theta", {1, 1e12}).value_or(a.rope_theta);
    if (const auto limit = nested->optional_number("clip_qkv", {0, 1e9})) {
      fields.leave_out(
          fmt::format("clip_qkv {}: queries, keys and values are not clipped", *limit));
    }
  }
  if (a.heads > 0 && a.heads % a.kv_groups != 0) {
    fields.reader().problem(
        "attn_config.kv_n_heads",
        fmt::format("{} heads cannot share {} key/value heads evenly", a.heads, a.kv_groups));
  }
  MoeSpec moe;
  if (auto nested = fields.reader().optional_object("ffn_config")) {
    moe.experts = nested->optional_integer("moe_num_experts", kExpertRange).value_or(4);
    moe.top_k = nested->optional_integer("moe_top_k", kExpertRange).value_or(1);
    moe.ffn = nested->optional_integer("ffn_hidden_size", kWidthRange).value_or(3584);
    moe.normalize_top_k =
        nested->optional_number("moe_normalize_expert_weights", {0, 1e6}).value_or(1) > 0;
    if (moe.top_k > moe.experts) {
      nested->problem("moe_top_k", fmt::format("top-k {} > {} experts", moe.top_k, moe.experts),
                      fmt::format("allowed: from 1 to {}", moe.experts));
    }
  } else {
    fields.reader().problem("ffn_config", "missing (experts, top_k and their width)",
                            "an object with moe_num_experts, moe_top_k and ffn_hidden_size");
  }
  m.moe = moe;
  m.moe_layer.assign(static_cast<std::size_t>(m.layers), true);
  m.norm_eps = 1e-5;
  m.tied_embeddings = fields.boolean_or({"tie_word_embeddings"}, false, "the family's default");
  fields.leave_out("LayerNorm without bias: taken as RMSNorm, which has as many weights");
}

}  // namespace pleat
