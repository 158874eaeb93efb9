// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "interop/megatron_import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/elementwise.hpp"
#include "interop/megatron_vocabulary.hpp"

namespace pleat::interop {
namespace {

using R = const ArgumentReader&;

// One number a layer: a pattern, or "1 in n" as Megatron-LM counts it (`last`: the n-th is 0).
std::vector<int> by_layer(R r, const char* member, std::int64_t layers, bool last) {
  const std::string text = r.text(member).value_or("");
  const auto count = static_cast<std::size_t>(layers);
  int every = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), every);
  if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && every > 0) {
    std::vector<int> values(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t n = static_cast<std::size_t>(every);
      values[i] = last ? (i + 1) % n != 0 : i % n == 0;
    }
    return values;
  }
  std::vector<int> values = parse_pattern(text, count, member);
  if (values.size() != count)
    r.problem(member, "has " + std::to_string(values.size()) + " numbers for " +
                          std::to_string(count) + " layers");
  values.resize(count);
  return values;
}

void read_attention(R r, ModelSpec& m) {
  AttentionSpec& a = m.attention;
  a.heads = r.required("num_attention_heads");
  a.kv_groups = a.heads;
  a.rope_theta = r.number("rotary_base").value_or(10000);
  a.rope_interleaved = r.is_on("multi_latent_attention") || r.is_on("rotary_interleaved");
  if (r.is_on("multi_latent_attention")) {
    a.kind = AttentionKind::mla;
    a.q_lora_rank = r.integer("q_lora_rank").value_or(0);
    a.kv_lora_rank = r.integer("kv_lora_rank").value_or(32);
    a.qk_nope_head_dim = r.integer("qk_head_dim").value_or(128);
    a.qk_rope_head_dim = r.integer("qk_pos_emb_head_dim").value_or(64);
    a.v_head_dim = r.integer("v_head_dim").value_or(128);
  } else {
    if (r.is_on("group_query_attention")) a.kv_groups = r.required("num_query_groups");
    a.head_dim = r.integer("kv_channels").value_or(m.hidden / std::max<std::int64_t>(1, a.heads));
    a.qk_norm = r.is_on("qk_layernorm");
    const double share = r.number("rotary_percent").value_or(1.0);
    if (share < 0 || share > 1)
      r.problem("rotary_percent", "must be from 0 to 1");
    else if (share < 1.0)
      a.rotary_dim = std::llround(share * static_cast<double>(a.head_dim));
  }
  if (r.text("position_embedding_type").value_or("learned_absolute") != "learned_absolute")
    read_positions(r, a);
  const bool biases = !r.is_off("add_bias_linear");
  m.mlp_bias = biases;
  a.out_bias = biases;
  a.qkv_bias = biases || r.is_on("add_qkv_bias");
  a.sinks = r.text("softmax_type") == "learnable";
  a.output_gate = r.is_on("attention_output_gate");
}

std::vector<LayerTraits>& traits_of(ModelSpec& m) {
  if (m.layer_traits.empty()) m.layer_traits.resize(static_cast<std::size_t>(m.layers));
  return m.layer_traits;
}

void read_windows(R r, ModelSpec& m) {
  std::vector<std::string> window = r.list("window_size");
  if (window.empty()) return;
  std::string left = window.front();  // "(127,0)", "(127, 0)" or 127
  if (left.starts_with('(')) left.erase(0, 1);
  int reach = -1;
  const auto parsed = std::from_chars(left.data(), left.data() + left.size(), reach);
  if (parsed.ec != std::errc() || reach < 0 || reach >= 1 << 30) {
    r.problem("window_size", "'" + window.front() + "' is not (keys to the left, 0)");
    return;
  }
  const std::vector<int> pattern = r.text("window_attn_skip_freq")
                                       ? by_layer(r, "window_attn_skip_freq", m.layers, true)
                                       : std::vector<int>(static_cast<std::size_t>(m.layers), 1);
  for (std::size_t i = 0; i < pattern.size(); ++i)
    traits_of(m)[i].window = pattern[i] != 0 ? reach + 1 : 0;
}

void read_variant(R r, ModelSpec& m) {
  const std::string variant = r.text("experimental_attention_variant")
                                  .value_or(r.text("linear_attention_type").value_or(""));
  if (variant == "dsa") {
    m.attention.index_heads = r.required("dsa_indexer_n_heads");
    m.attention.index_dim = r.required("dsa_indexer_head_dim");
    m.attention.index_top_k = r.required("dsa_indexer_topk");
    for (LayerTraits& t : traits_of(m)) {
      t.sparse = true;
      t.own_indexer = true;
    }
  } else if (variant == "gated_delta_net" || variant == "gdn") {
    m.recurrence = RecurrenceSpec{.key_heads = r.integer("linear_num_key_heads").value_or(16),
                                  .value_heads = r.integer("linear_num_value_heads").value_or(32),
                                  .key_dim = r.integer("linear_key_head_dim").value_or(128),
                                  .value_dim = r.integer("linear_value_head_dim").value_or(128),
                                  .conv = r.integer("linear_conv_kernel_dim").value_or(4)};
    const std::vector<int> pattern = by_layer(r, "linear_attention_freq", m.layers, true);
    for (std::size_t i = 0; i < pattern.size(); ++i)
      traits_of(m)[i].mixer = pattern[i] != 0 ? Mixer::gated_delta_net : Mixer::attention;
  } else if (!variant.empty()) {
    r.problem("experimental_attention_variant", "'" + variant + "' has no counterpart");
  }
}

void read_moe(R r, ModelSpec& m, ImportedRun& out) {
  m.moe_layer.assign(static_cast<std::size_t>(m.layers), false);
  if (r.integer("num_experts").value_or(0) <= 0) return;
  MoeSpec moe;
  moe.experts = r.required("num_experts");
  moe.top_k = r.integer("moe_router_topk").value_or(2);
  moe.ffn = r.integer("moe_ffn_hidden_size").value_or(m.ffn);
  moe.shared_ffn = r.integer("moe_shared_expert_intermediate_size").value_or(0);
  moe.shared_gate = r.is_on("moe_shared_expert_gate");
  const std::string score = r.text("moe_router_score_function").value_or("softmax");
  if (score == "sigmoid")
    moe.score = RouterScore::sigmoid;
  else if (score != "softmax")
    r.problem("moe_router_score_function", "'" + score + "' has no counterpart");
  moe.normalize_top_k = moe.score == RouterScore::sigmoid || !r.is_on("moe_router_pre_softmax");
  moe.groups = r.integer("moe_router_num_groups").value_or(1);
  moe.top_groups = r.integer("moe_router_group_topk").value_or(1);
  moe.expert_bias = r.is_on("moe_router_enable_expert_bias");
  moe.scaling_factor = r.number("moe_router_topk_scaling_factor").value_or(1.0);
  moe.latent = r.integer("moe_latent_size").value_or(0);
  for (const std::string& kind : r.list("moe_router_load_balancing_type"))
    if (kind == "sinkhorn") out.ignored.push_back("moe_router_load_balancing_type sinkhorn");
  moe.mlp_bias = m.mlp_bias;
  m.moe = moe;
  const std::vector<int> pattern = r.text("moe_layer_freq")
                                       ? by_layer(r, "moe_layer_freq", m.layers, false)
                                       : std::vector<int>(m.moe_layer.size(), 1);
  for (std::size_t i = 0; i < pattern.size(); ++i) m.moe_layer[i] = pattern[i] != 0;
  const bool dense = std::find(pattern.begin(), pattern.end(), 0) != pattern.end();
  if (!dense) m.mlp_bias = false;  // there is no dense MLP
}

// "MEME*E/*E": a letter a layer, then what each prediction layer is made of.
std::string hybrid_pattern(R r) {
  return r.text("hybrid_layer_pattern").value_or(r.text("hybrid_override_pattern").value_or(""));
}

void read_hybrid(R r, ModelSpec& m, ImportedRun& out) {
  const std::string text = hybrid_pattern(r);
  for (const std::string& word : r.list("spec")) {
    const bool stack = word.find("mamba_stack_spec") != std::string::npos ||
                       word.find("hybrid_stack_spec") != std::string::npos;
    if (stack && text.empty())
      r.problem("spec", "is of hybrid layers, and no --hybrid-layer-pattern says which");
    else if (!stack && word.find("hybrid_layer_specs") == std::string::npos &&
             word.find("mamba_layer_specs") == std::string::npos)
      out.ignored.push_back("spec " + word);
  }
  if (text.empty()) return;
  const auto problem = [&](std::string message, const char* hint) {
    r.problem(r.text("hybrid_layer_pattern") ? "hybrid_layer_pattern" : "hybrid_override_pattern",
              std::move(message), hint);
  };
  const std::string pattern = text.substr(0, text.find('/'));
  if (static_cast<std::int64_t>(pattern.size()) != m.layers) return;  // more than are read
  m.layer_traits.assign(pattern.size(), LayerTraits{});
  m.moe_layer.assign(pattern.size(), false);
  bool mamba = false;
  for (std::size_t l = 0; l < pattern.size(); ++l) {
    LayerTraits& t = m.layer_traits[l];
    if (pattern[l] == 'M') {
      t = {.mixer = Mixer::mamba2, .mlp = false};
      mamba = true;
    } else if (pattern[l] == '*') {
      t = {.mixer = Mixer::attention, .mlp = false};
    } else if (pattern[l] == '-' || (pattern[l] == 'E' && m.moe)) {
      t = {.mixer = Mixer::none};
      m.moe_layer[l] = pattern[l] == 'E';
    } else {
      problem(fmt::format("'{}' is not read", pattern[l]),
              "M (Mamba-2), * (attention), - (MLP), E (experts, with --num-experts)");
      return;
    }
  }
  for (std::size_t at = pattern.size(); at < text.size();) {
    const std::size_t end = std::min(text.find('/', at + 1), text.size());
    if (text.substr(at + 1, end - at - 1) != "*E")
      problem("prediction layers are read as attention and experts", "/*E");
    at = end;
  }
  m.mtp_traits = {};
  if (!mamba) return;
  const std::int64_t head = r.integer("mamba_head_dim").value_or(64);
  m.recurrence = RecurrenceSpec{
      .key_heads = r.integer("mamba_num_groups").value_or(8),
      .value_heads =
          r.integer("mamba_num_heads").value_or(2 * m.hidden / std::max<std::int64_t>(1, head)),
      .key_dim = r.integer("mamba_state_dim").value_or(128),
      .value_dim = head,
      .conv = 4};
}

// Prediction layers stand behind the pattern, or are counted.
std::int64_t prediction_layers(R r) {
  const std::string text = hybrid_pattern(r);
  return r.integer("mtp_num_layers").value_or(std::count(text.begin(), text.end(), '/'));
}

std::int64_t read_vocabulary(R r, std::int64_t given, ImportedRun& out) {
  const auto padded = r.integer("padded_vocab_size");
  const std::int64_t said = r.integer("vocab_size").value_or(padded.value_or(0));
  const auto known = tokenizer_vocabulary(r);
  if (given > 0 || said > 0) return given > 0 ? given : said;
  if (known) {
    out.assumed.push_back(fmt::format("vocab_size {}, of {}", known->tokens, known->from));
    return known->tokens;
  }
  const auto tokenizer = r.text("tokenizer_model");
  r.problem("vocab_size",
            tokenizer ? fmt::format("is not given, and the tokenizer {} is not known", *tokenizer)
                      : "neither it, padded_vocab_size nor a tokenizer is given",
            "--vocab-size N, or --model NAME");
  return 1;
}

}  // namespace

ModelSpec read_megatron_model(const ArgumentReader& r, const ImportChoices& choices,
                              ImportedRun& out) {
  ModelSpec m;
  m.name = "megatron";
  m.model_type = "megatron";
  const std::string hybrid = hybrid_pattern(r);
  m.layers = hybrid.empty() ? r.required("num_layers")
                            : static_cast<std::int64_t>(std::min(hybrid.find('/'), hybrid.size()));
  if (const auto said = r.integer("num_layers"); said && *said != m.layers)
    out.assumed.push_back(fmt::format("num_layers {}, of the hybrid pattern", m.layers));
  m.hidden = r.required("hidden_size");
  if (m.layers > 1 << 16) {
    r.problem("num_layers", "is more than 65536");
    m.layers = 1;
  }
  m.vocab = read_vocabulary(r, choices.vocab, out);
  const bool swiglu = r.is_on("swiglu");
  const bool clamped = r.is_on("quick_geglu");  // with gpt-oss's limit and offset
  if (clamped && (r.number("activation_func_clamp_value") != kGluLimit ||
                  r.number("glu_linear_offset") != 1.0)) {
    r.problem("quick_geglu", "only with --activation-func-clamp-value 7 --glu-linear-offset 1");
  }
  m.gated_mlp = swiglu || clamped;
  m.activation = clamped                   ? Activation::clamped_swiglu
                 : swiglu                  ? Activation::silu
                 : r.is_on("squared_relu") ? Activation::squared_relu
                                           : Activation::gelu;
  // Megatron-LM's default widths: 4 h, or 8/3 h in multiples of 64 when gated.
  const std::int64_t usual = swiglu ? 4 * m.hidden * 2 / 3 / 64 * 64 : 4 * m.hidden;
  m.ffn = r.integer("ffn_hidden_size").value_or(usual);
  m.norm = r.text("normalization").value_or("LayerNorm") == "RMSNorm" ? NormKind::rms_norm
                                                                      : NormKind::layer_norm;
  m.norm_eps = r.number("norm_epsilon").value_or(r.number("layernorm_epsilon").value_or(1e-5));
  m.tied_embeddings = !r.is_on("untie_embeddings_and_output_weights");
  const std::string position = r.text("position_embedding_type").value_or("learned_absolute");
  if (position == "learned_absolute" && !r.is_on("use_rotary_position_embeddings"))
    m.learned_positions = r.integer("max_position_embeddings").value_or(0);
  read_attention(r, m);
  read_windows(r, m);
  read_moe(r, m, out);
  read_variant(r, m);
  m.mtp_layers = prediction_layers(r);
  if (m.mtp_layers > 0 && !m.layer_traits.empty()) m.mtp_traits = m.layer_traits.back();
  if (r.is_on("enable_mhc_connections"))
    m.residual_streams = r.integer("mhc_num_residual_streams").value_or(4);
  read_hybrid(r, m, out);
  return m;
}

}  // namespace pleat::interop
