// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Limits are far above any model, and low enough that no product of two of them overflows.
#include "core/plan/resolved_model.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/json/parse.hpp"

namespace pleat {
namespace {

// In the order of the enums.
const std::vector<std::string> kAttentionNames{"gqa", "mla", "compressed"};
const std::vector<std::string> kActivationNames{"silu", "gelu", "squared_relu",
                                                "clamped_swiglu"};
const std::vector<std::string> kNormNames{"rms_norm", "layer_norm"};
const std::vector<std::string> kScoreNames{"softmax", "sigmoid"};

constexpr IntRange kWidth{1, 1 << 24};
constexpr IntRange kWidthOrNone{0, 1 << 24};
constexpr IntRange kCount{1, 1 << 16};
constexpr DoubleRange kPositiveNumber{0.0, 1e12, true};
constexpr DoubleRange kLossFactor{0.0, 1000.0};

// What few models have is written only where they have it, and read as its default elsewhere.
template <class Value>
void write_if(JsonValue& out, const char* key, Value value) {
  if (value != Value{}) out.set(key, value);
}

bool optional_flag(ObjectReader& r, const char* key) {
  return r.optional_boolean(key).value_or(false);
}

std::int64_t optional_width(ObjectReader& r, const char* key, IntRange range = kWidthOrNone) {
  return r.optional_integer(key, range).value_or(0);
}

JsonValue write_attention(const AttentionSpec& a) {
  JsonValue out = JsonValue::object();
  out.set("kind", name_in(kAttentionNames, a.kind))
      .set("heads", a.heads)
      .set("kv_groups", a.kv_groups)
      .set("head_dim", a.head_dim)
      .set("qk_norm", a.qk_norm)
      .set("qkv_bias", a.qkv_bias)
      .set("out_bias", a.out_bias)
      .set("rope_theta", a.rope_theta)
      .set("q_lora_rank", a.q_lora_rank)
      .set("kv_lora_rank", a.kv_lora_rank)
      .set("qk_nope_head_dim", a.qk_nope_head_dim)
      .set("qk_rope_head_dim", a.qk_rope_head_dim)
      .set("v_head_dim", a.v_head_dim);
  write_if(out, "rotary_dim", a.rotary_dim);
  write_if(out, "rope_interleaved", a.rope_interleaved);
  if (a.rope_scaling != RopeScaling{}) {
    out.set("rope_scaling", write_rope_scaling(a.rope_scaling));
  }
  write_if(out, "wide_qk_norm", a.wide_qk_norm);
  write_if(out, "sinks", a.sinks);
  write_if(out, "output_gate", a.output_gate);
  write_if(out, "keys_are_values", a.keys_are_values);
  write_if(out, "out_groups", a.out_groups);
  write_if(out, "out_lora_rank", a.out_lora_rank);
  write_if(out, "index_heads", a.index_heads);
  write_if(out, "index_dim", a.index_dim);
  write_if(out, "index_top_k", a.index_top_k);
  return out;
}

AttentionSpec read_attention(ObjectReader r) {
  AttentionSpec a;
  a.kind = static_cast<AttentionKind>(r.choice("kind", kAttentionNames));
  a.heads = r.integer("heads", kCount);
  a.kv_groups = r.integer("kv_groups", {0, 1 << 16});
  a.head_dim = r.integer("head_dim", kWidthOrNone);
  a.qk_norm = r.boolean("qk_norm");
  a.qkv_bias = r.boolean("qkv_bias");
  a.out_bias = r.boolean("out_bias");
  a.rope_theta = r.number("rope_theta", kPositiveNumber);
  a.q_lora_rank = r.integer("q_lora_rank", kWidthOrNone);
  a.kv_lora_rank = r.integer("kv_lora_rank", kWidthOrNone);
  a.qk_nope_head_dim = r.integer("qk_nope_head_dim", kWidthOrNone);
  a.qk_rope_head_dim = r.integer("qk_rope_head_dim", kWidthOrNone);
  a.v_head_dim = r.integer("v_head_dim", kWidthOrNone);
  a.rotary_dim = optional_width(r, "rotary_dim");
  a.rope_interleaved = optional_flag(r, "rope_interleaved");
  if (auto scaling = r.optional_object("rope_scaling")) {
    a.rope_scaling = read_rope_scaling(*scaling);
  }
  a.wide_qk_norm = optional_flag(r, "wide_qk_norm");
  a.sinks = optional_flag(r, "sinks");
  a.output_gate = optional_flag(r, "output_gate");
  a.keys_are_values = optional_flag(r, "keys_are_values");
  a.out_groups = optional_width(r, "out_groups");
  a.out_lora_rank = optional_width(r, "out_lora_rank");
  a.index_heads = optional_width(r, "index_heads");
  a.index_dim = optional_width(r, "index_dim");
  a.index_top_k = optional_width(r, "index_top_k", {0, 1 << 30});
  const auto need = [&r](const char* key, std::int64_t value, const char* kind) {
    if (value == 0 && r.has(key))
      r.problem(key, fmt::format("{} attention needs at least 1", kind));
  };
  switch (a.kind) {
    case AttentionKind::gqa:
      need("kv_groups", a.kv_groups, "gqa");
      need("head_dim", a.head_dim, "gqa");
      break;
    case AttentionKind::mla:
      need("kv_lora_rank", a.kv_lora_rank, "mla");
      need("qk_nope_head_dim", a.qk_nope_head_dim, "mla");
      need("v_head_dim", a.v_head_dim, "mla");
      break;
    case AttentionKind::compressed:
      need("head_dim", a.head_dim, "compressed");
      need("q_lora_rank", a.q_lora_rank, "compressed");
      if (a.out_groups == 0 || a.out_lora_rank == 0)
        r.problem("out_groups", "compressed attention needs out_groups and out_lora_rank");
      break;
  }
  r.finish();
  return a;
}

JsonValue write_moe(const ModelSpec& m) {
  JsonValue dense = JsonValue::array();
  for (std::size_t i = 0; i < m.moe_layer.size(); ++i) {
    if (!m.moe_layer[i]) dense.push_back(i);
  }
  JsonValue out = JsonValue::object();
  out.set("experts", m.moe->experts)
      .set("top_k", m.moe->top_k)
      .set("ffn", m.moe->ffn)
      .set("shared_ffn", m.moe->shared_ffn)
      .set("shared_gate", m.moe->shared_gate)
      .set("score", name_in(kScoreNames, m.moe->score))
      .set("groups", m.moe->groups)
      .set("top_groups", m.moe->top_groups)
      .set("expert_bias", m.moe->expert_bias)
      .set("normalize_top_k", m.moe->normalize_top_k)
      .set("scaling_factor", m.moe->scaling_factor)
      .set("dense_layers", std::move(dense));
  write_if(out, "latent", m.moe->latent);
  write_if(out, "latent_norm", m.moe->latent_norm);
  write_if(out, "router_bias", m.moe->router_bias);
  write_if(out, "mlp_bias", m.moe->mlp_bias);
  write_if(out, "aux_loss", m.moe->aux_loss);
  write_if(out, "seq_aux_loss", m.moe->seq_aux_loss);
  write_if(out, "z_loss", m.moe->z_loss);
  write_if(out, "bias_update", m.moe->bias_update);
  return out;
}

void read_dense_layers(ObjectReader& r, std::vector<bool>& moe_layer) {
  std::size_t index = 0;
  for (const JsonValue& item : r.array("dense_layers")) {
    const std::string at = fmt::format("dense_layers[{}]", index++);
    const std::int64_t* layer = item.as_integer();
    if (layer == nullptr || *layer < 0 || *layer >= static_cast<std::int64_t>(moe_layer.size())) {
      r.problem(at, fmt::format("must be a layer, from 0 to {}, not {}",
                                static_cast<std::int64_t>(moe_layer.size()) - 1, item.brief()));
    } else if (!moe_layer[static_cast<std::size_t>(*layer)]) {
      r.problem(at, fmt::format("layer {} is listed twice", *layer));
    } else {
      moe_layer[static_cast<std::size_t>(*layer)] = false;
    }
  }
}

MoeSpec read_moe(ObjectReader r, std::vector<bool>& moe_layer) {
  MoeSpec m;
  m.experts = r.integer("experts", kCount);
  m.top_k = r.integer("top_k", kCount);
  m.ffn = r.integer("ffn", kWidth);
  m.shared_ffn = r.integer("shared_ffn", kWidthOrNone);
  m.shared_gate = r.boolean("shared_gate");
  m.score = static_cast<RouterScore>(r.choice("score", kScoreNames));
  m.groups = r.integer("groups", kCount);
  m.top_groups = r.integer("top_groups", kCount);
  m.expert_bias = r.boolean("expert_bias");
  m.normalize_top_k = r.boolean("normalize_top_k");
  m.scaling_factor = r.number("scaling_factor", kPositiveNumber);
  m.latent = optional_width(r, "latent");
  m.latent_norm = optional_flag(r, "latent_norm");
  m.router_bias = optional_flag(r, "router_bias");
  m.mlp_bias = optional_flag(r, "mlp_bias");
  m.aux_loss = r.optional_number("aux_loss", kLossFactor).value_or(0);
  m.seq_aux_loss = r.optional_number("seq_aux_loss", kLossFactor).value_or(0);
  m.z_loss = r.optional_number("z_loss", kLossFactor).value_or(0);
  m.bias_update = r.optional_number("bias_update", {0.0, 1.0}).value_or(0);
  if (m.top_k > m.experts && m.experts > 0) {
    r.problem("top_k", fmt::format("top-k {} > {} experts", m.top_k, m.experts));
  }
  if (m.top_groups > m.groups && m.groups > 0) {
    r.problem("top_groups", fmt::format("top groups {} > {} groups", m.top_groups, m.groups));
  }
  if (m.groups > 0 && m.experts % m.groups != 0) {
    r.problem("groups",
              fmt::format("{} experts cannot be split over {} groups", m.experts, m.groups));
  }
  moe_layer.assign(moe_layer.size(), true);
  read_dense_layers(r, moe_layer);
  r.finish();
  return m;
}

void write_hybrid(JsonValue& out, const ModelSpec& m) {
  if (m.local_attention) out.set("local_attention", write_attention(*m.local_attention));
  write_layer_kinds(out, m);
  if (m.norms_per_layer != 2) out.set("norms_per_layer", m.norms_per_layer);
  if (m.residual_streams != 1) out.set("residual_streams", m.residual_streams);
  if (!m.left_out.empty()) {
    JsonValue list = JsonValue::array();
    for (const std::string& what : m.left_out) list.push_back(what);
    out.set("left_out", std::move(list));
  }
}

void read_hybrid(ObjectReader& r, ModelSpec& m) {
  if (auto local = r.optional_object("local_attention")) m.local_attention = read_attention(*local);
  read_layer_kinds(r, m);
  m.norms_per_layer = r.optional_integer("norms_per_layer", {2, 4}).value_or(2);
  m.residual_streams = r.optional_integer("residual_streams", {1, 64}).value_or(1);
  if (const JsonValue::Array* list = r.optional_array("left_out")) {
    for (const JsonValue& item : *list) {
      const std::string* what = item.as_string();
      if (what == nullptr) r.problem("left_out", fmt::format("{} is no text", item.brief()));
      m.left_out.push_back(what == nullptr ? "" : *what);
    }
  }
}

}  // namespace

JsonValue write_model(const ModelSpec& m) {
  JsonValue out = JsonValue::object();
  out.set("name", m.name)
      .set("model_type", m.model_type)
      .set("layers", m.layers)
      .set("hidden", m.hidden)
      .set("vocab", m.vocab)
      .set("ffn", m.ffn)
      .set("gated_mlp", m.gated_mlp)
      .set("mlp_bias", m.mlp_bias)
      .set("norm", name_in(kNormNames, m.norm))
      .set("norm_eps", m.norm_eps)
      .set("tied_embeddings", m.tied_embeddings)
      .set("learned_positions", m.learned_positions)
      .set("mtp_layers", m.mtp_layers)
      .set("attention", write_attention(m.attention));
  if (m.moe) out.set("moe", write_moe(m));
  if (m.activation != Activation::silu)
    out.set("activation", name_in(kActivationNames, m.activation));
  if (m.mtp_loss != ModelSpec{}.mtp_loss) out.set("mtp_loss", m.mtp_loss);
  write_hybrid(out, m);
  return out;
}

ModelSpec read_model(ObjectReader r) {
  ModelSpec m;
  m.name = r.text("name");
  m.model_type = r.text("model_type");
  m.layers = r.integer("layers", kCount);
  m.hidden = r.integer("hidden", kWidth);
  m.vocab = r.integer("vocab", {1, 1 << 28});
  m.ffn = r.integer("ffn", kWidthOrNone);
  m.gated_mlp = r.boolean("gated_mlp");
  m.mlp_bias = r.boolean("mlp_bias");
  m.norm = static_cast<NormKind>(r.choice("norm", kNormNames));
  m.norm_eps = r.number("norm_eps", kPositiveNumber);
  m.tied_embeddings = r.boolean("tied_embeddings");
  m.learned_positions = r.integer("learned_positions", {0, 1 << 28});
  m.mtp_layers = r.integer("mtp_layers", {0, 64});
  m.attention = read_attention(r.object("attention"));
  m.moe_layer.assign(static_cast<std::size_t>(m.layers), false);
  if (auto moe = r.optional_object("moe")) m.moe = read_moe(*moe, m.moe_layer);
  const auto dense = std::ranges::find(m.moe_layer, false);
  if (m.ffn == 0 && dense != m.moe_layer.end())
    r.problem("ffn", fmt::format("0, but layer {} is dense", dense - m.moe_layer.begin()));
  if (const auto name = r.optional_choice("activation", kActivationNames))
    m.activation = static_cast<Activation>(*name);
  if (m.activation == Activation::clamped_swiglu && !m.gated_mlp) {
    r.problem("gated_mlp", "clamped_swiglu is always gated", "true");
  }
  m.mtp_loss = r.optional_number("mtp_loss", kLossFactor).value_or(m.mtp_loss);
  read_hybrid(r, m);
  r.finish();
  return m;
}

}  // namespace pleat
