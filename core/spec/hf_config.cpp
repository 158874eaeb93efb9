// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Hugging Face config.json to ModelSpec. How to read it: read_hf_config at the end, one function a
// part of the model above it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/elementwise.hpp"
#include "core/json/parse.hpp"
#include "core/spec/hf_family.hpp"
#include "core/spec/hf_fields.hpp"
#include "core/spec/hf_parts.hpp"
#include "core/spec/model.hpp"

namespace pleat {
namespace {

constexpr IntRange kHeadRange{1, 65'536};
constexpr IntRange kRankRange{1, 1 << 20};
// Beyond this no count of parameters is believed (and 64 bits are still far away).
constexpr double kMaxParameters = 1e15;

std::int64_t default_head_dim(HfFields& fields, std::int64_t hidden, std::int64_t heads) {
  if (hidden == 0 || heads == 0) return 0;  // reported already
  if (hidden % heads != 0) {
    fields.reader().problem("head_dim", fmt::format("missing, and hidden size {} is not a multiple "
                                                    "of {} heads",
                                                    hidden, heads));
    return 0;
  }
  fields.assume(fmt::format("head_dim: taken as {} (hidden size / heads)", hidden / heads));
  return hidden / heads;
}

void read_mla(HfFields& fields, AttentionSpec& a) {
  a.q_lora_rank = fields.optional_integer({"q_lora_rank"}, kRankRange).value_or(0);
  a.kv_lora_rank =
      fields.integer({"kv_lora_rank"}, "rank of the compressed keys and values", kRankRange);
  a.qk_nope_head_dim =
      fields.integer({"qk_nope_head_dim"}, "q/k size without rotation", kHeadRange);
  a.qk_rope_head_dim = fields.integer({"qk_rope_head_dim"}, "q/k size with rotation", kHeadRange);
  a.v_head_dim = fields.integer({"v_head_dim"}, "v size", kHeadRange);
  if (a.qk_rope_head_dim % 2 != 0) {
    fields.reader().problem("qk_rope_head_dim",
                            fmt::format("{} is odd; rotation works on pairs", a.qk_rope_head_dim));
  }
  a.kv_groups = a.heads;
  if (fields.boolean_or({"attention_bias"}, false, "no biases")) {
    fields.reader().problem("attention_bias", "true is not supported with latent attention");
  }
}

void read_gqa(HfFields& fields, const HfFamily& family, std::int64_t hidden, AttentionSpec& a) {
  a.kv_groups =
      fields.integer_or({"num_key_value_heads"}, kHeadRange, a.heads, "one per query head");
  if (a.heads > 0 && a.kv_groups > 0 && a.heads % a.kv_groups != 0) {
    fields.reader().problem(
        "num_key_value_heads",
        fmt::format("{} heads cannot share {} key/value heads evenly", a.heads, a.kv_groups),
        "a divisor of num_attention_heads");
  }
  const auto head_dim = fields.optional_integer({"head_dim"}, kHeadRange);
  a.head_dim = head_dim                 ? *head_dim
               : fields.has("head_dim") ? 0
                                        : default_head_dim(fields, hidden, a.heads);
  if (a.head_dim % 2 != 0) {
    fields.reader().problem("head_dim",
                            fmt::format("{} is odd; rotation works on pairs", a.head_dim));
  }
  if (a.head_dim > 0 && hidden > 0 && a.heads * a.head_dim != hidden) {
    fields.assume(
        fmt::format("heads * head_dim = {} differs from hidden_size {}: both are used as they are",
                    a.heads * a.head_dim, hidden));
  }
  a.v_head_dim = fields.optional_integer({"v_head_dim"}, kHeadRange).value_or(0);
  a.qk_norm = family.qk_norm;
  if (!family.qk_norm_field.empty()) {
    a.qk_norm = fields.boolean_or({std::string(family.qk_norm_field)}, family.qk_norm,
                                  "the family's default");
  }
  a.wide_qk_norm = a.qk_norm && family.wide_qk_norm;
  a.qkv_bias =
      fields.boolean_or({std::string(family.bias_field)}, family.qkv_bias, "the family's default");
  a.out_bias = a.qkv_bias && family.bias_covers_output;
}

// DeepSeek-V4: one key/value head of head_dim, whose last columns rotate.
void read_compressed(HfFields& fields, AttentionSpec& a) {
  a.kv_groups = fields.integer_or({"num_key_value_heads"}, {1, 1}, 1, "one for all query heads");
  a.head_dim = fields.integer({"head_dim"}, "size of a head", kHeadRange);
  a.q_lora_rank = fields.integer({"q_lora_rank"}, "rank of the compressed queries", kRankRange);
  a.rotary_dim = fields.integer({"qk_rope_head_dim"}, "columns that rotate", kHeadRange);
  a.out_groups = fields.integer({"o_groups"}, "groups of the output projection", kHeadRange);
  a.out_lora_rank = fields.integer({"o_lora_rank"}, "rank of the output projection", kRankRange);
  if (a.out_groups > 0 && a.heads % a.out_groups != 0) {
    fields.reader().problem(
        "o_groups", fmt::format("{} heads cannot be split into {} groups", a.heads, a.out_groups));
  }
}

// gated_mlp says it where a family's configs leave it open.
void read_activation(HfFields& fields, const FieldNames& names, const FieldNames& allowed,
                     ModelSpec& m) {
  m.gated_mlp = fields.reader().optional_boolean("gated_mlp").value_or(m.gated_mlp);
  const std::string name = fields.present(names);
  const auto activation = fields.optional_text(name);
  if (!activation) return;
  if (std::find(allowed.begin(), allowed.end(), *activation) == allowed.end()) {
    fields.reader().problem(name,
                            fmt::format("\"{}\" is not supported in this family", *activation),
                            fmt::format("one of: {}", fmt::join(allowed, ", ")));
  }
  if (*activation == "situ" || *activation == "swigluoai") {
    fields.assume(fmt::format("{} {}: priced as silu", name, *activation));
  }
}

// GPT-2 and GPT-3: LayerNorm, learned positions, biases everywhere, GELU, tied embeddings.
void read_gpt2(HfFields& fields, ModelSpec& m) {
  m.layers = fields.integer({"n_layer", "num_hidden_layers"}, "layers", kLayerRange);
  m.hidden = fields.integer({"n_embd", "hidden_size"}, "hidden size", kHiddenRange);
  AttentionSpec& a = m.attention;
  a.heads = fields.integer({"n_head", "num_attention_heads"}, "heads", kHeadRange);
  a.kv_groups = fields.optional_integer({"num_key_value_heads"}, kHeadRange).value_or(a.heads);
  const auto head_dim = fields.optional_integer({"head_dim"}, kHeadRange);
  a.head_dim = head_dim ? *head_dim : default_head_dim(fields, m.hidden, a.heads);
  a.qkv_bias = a.out_bias = m.mlp_bias = true;
  m.norm = NormKind::layer_norm;
  m.gated_mlp = false;
  m.activation = Activation::gelu;
  m.ffn =
      fields.integer_or({"n_inner", "intermediate_size"}, kWidthRange, 4 * m.hidden, "4 * n_embd");
  m.learned_positions =
      fields.integer_or({"n_positions", "n_ctx"}, kWidthRange, 0, "no table: rotary positions");
  m.norm_eps = fields.number_or({"layer_norm_epsilon"}, {0, 1, true}, 1e-5, "the family's default");
  read_activation(fields, {"activation_function"}, {"gelu", "gelu_new", "gelu_pytorch_tanh"}, m);
  m.tied_embeddings = fields.boolean_or({"tie_word_embeddings"}, true, "the family's default");
}

// Of families that have models without experts.
bool says_experts(HfFields& fields) {
  const std::string name = fields.present({"n_routed_experts", "num_local_experts", "num_experts"});
  if (!fields.has(name)) return false;
  const std::int64_t* count = fields.reader().value().find(name)->as_integer();
  return count == nullptr || *count > 1;  // what is no number is a problem of its own
}

void read_llama_like(HfFields& fields, const HfFamily& family, ModelSpec& m) {
  m.layers = fields.integer({"num_hidden_layers"}, "layers", kLayerRange);
  m.hidden = fields.integer({"hidden_size"}, "hidden size", kHiddenRange);
  m.attention.kind = family.attention;
  m.attention.heads = fields.integer({"num_attention_heads"}, "heads", kHeadRange);
  switch (family.attention) {
    case AttentionKind::mla:
      read_mla(fields, m.attention);
      fields.present({"num_key_value_heads", "head_dim"});  // meaningless with latent attention
      break;
    case AttentionKind::gqa:
      read_gqa(fields, family, m.hidden, m.attention);
      break;
    case AttentionKind::compressed:
      read_compressed(fields, m.attention);
      break;
  }
  m.attention.sinks = family.sinks;
  read_hf_rope(fields, m.attention);
  const bool moe = family.moe && (!family.moe_optional || says_experts(fields));
  if (moe) m.moe = read_hf_moe(fields, family);
  m.moe_layer.assign(static_cast<std::size_t>(m.layers), false);
  if (moe && m.layers > 0) m.moe_layer = read_hf_moe_layers(fields, m.layers);

  // The dense layers' width goes by another name where intermediate_size is the experts'.
  FieldNames widths{"intermediate_size"};
  for (const char* name : {"intermediate_size_mlp", "dense_intermediate_size"}) {
    if (fields.has(name)) widths = {name};
  }
  const bool dense = m.moe_layers() < m.layers || !moe;
  m.ffn = dense ? fields.integer(widths, "FFN width", kWidthRange)
                : fields.optional_integer(widths, kWidthRange).value_or(0);  // no layer has it
  if (!moe) m.mlp_bias = fields.reader().optional_boolean("mlp_bias").value_or(false);
  m.norm = family.norm;
  m.norm_eps = fields.number_or({"rms_norm_eps", "layernorm_epsilon", "norm_eps"}, {0, 1, true},
                                1e-6, "the usual value");
  m.activation = family.activation;
  m.gated_mlp = family.gated;
  read_activation(fields, {"hidden_act", "hidden_activation", "mlp_hidden_act"}, family.activations,
                  m);
  if (m.activation == Activation::clamped_swiglu) {
    if (!m.gated_mlp)
      fields.reader().problem("gated_mlp", "this activation is always gated", "true");
    const auto limit = static_cast<double>(kGluLimit);
    if (fields.number_or({"swiglu_limit"}, {0, 1e6}, limit, "the family's default") != limit) {
      fields.reader().problem("swiglu_limit", "this activation is clamped elsewhere",
                              fmt::format("{}", limit));
    }
  }
  m.tied_embeddings = fields.boolean_or({"tie_word_embeddings", "tie_embedding"}, family.tied,
                                        "the family's default");
  m.mtp_layers =
      fields
          .optional_integer(
              {"num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules"}, {0, 64})
          .value_or(0);
  if (family.read_layers != nullptr && m.layers > 0) family.read_layers(fields, m);
}

void check_size(HfFields& fields, const ModelSpec& m) {
  const double mlp = m.moe ? static_cast<double>(m.moe->experts) * static_cast<double>(m.moe->ffn)
                           : static_cast<double>(m.ffn);
  const double width = mlp + static_cast<double>(m.ffn) +
                       static_cast<double>(m.moe ? m.moe->shared_ffn : 0) +
                       4.0 * static_cast<double>(m.attention.heads) *
                           static_cast<double>(std::max(m.attention.qk_dim(), m.attention.v_dim()));
  const double estimate = 3.0 * static_cast<double>(m.hidden) *
                          (width * static_cast<double>(m.layers) + static_cast<double>(m.vocab));
  if (estimate > kMaxParameters) {
    fields.reader().problem(
        "", fmt::format("about {:.1e} parameters", estimate),
        fmt::format("at most {:.0e}: check layers, sizes and experts", kMaxParameters));
  }
}

ModelSpec read_family(HfFields& fields, const HfFamily& family) {
  ModelSpec m;
  m.model_type = family.model_type;
  m.vocab = fields.integer({"vocab_size"}, "vocabulary", kWidthRange);
  if (family.read_all != nullptr) {
    family.read_all(fields, m);
  } else if (family.gpt2_names) {
    read_gpt2(fields, m);
    m.moe_layer.assign(static_cast<std::size_t>(m.layers), false);
  } else {
    read_llama_like(fields, family, m);
  }
  check_size(fields, m);
  m.left_out = fields.left_out();
  return m;
}

// A family that is not known is read as the nearest one that is, where that reads all of its
// fields; else what it would not read is the problem. Nothing: reported.
const HfFamily* stands_for(ObjectReader& reader, const std::string& model_type) {
  const HfFamily& near = nearest_hf_family(model_type, reader.value());
  std::string file = "";
  Diagnostics problems;
  std::vector<std::string> assumptions;
  ObjectReader trial(reader.value(), "", {file, problems});
  trial.find("model_type");
  HfFields fields(trial, assumptions);
  (void)read_family(fields, near);
  const std::vector<std::string> unplaced = without_harmless(trial.unread(), reader.value());
  if (!problems.has_errors() && unplaced.empty()) return &near;
  const std::string reason =
      unplaced.empty() ? problems.list().front().path + ": " + problems.list().front().message
                       : fmt::format("its fields have no place for {}", fmt::join(unplaced, ", "));
  std::vector<std::string> names;
  for (const HfFamily& family : hf_families()) names.emplace_back(family.model_type);
  reader.problem("model_type",
                 fmt::format("unknown family \"{}\"; nearest is {}, but {}", model_type,
                             near.model_type, reason),
                 fmt::format("known families: {}; if the model is one of them under another name, "
                             "set model_type to it",
                             fmt::join(names, ", ")));
  return nullptr;
}

}  // namespace

HfImport read_hf_config(const std::string& text, const std::string& file_name,
                        const std::string& model_name) {
  const JsonValue root = parse_json(text, file_name, {.allow_non_finite = true});
  Diagnostics problems;
  HfImport import;
  ObjectReader top(root, "", {file_name, problems});
  const JsonValue* nested = top.is_object() ? root.find("text_config") : nullptr;
  if (nested != nullptr && root.find("hidden_size") != nullptr) nested = nullptr;
  if (nested != nullptr) top.find("text_config");
  ObjectReader reader = nested != nullptr ? top.object("text_config") : top;
  problems.throw_if_errors();

  auto model_type = reader.optional_text("model_type");
  const auto outer_type = top.optional_text("model_type");
  if (!model_type) model_type = outer_type;
  if (!model_type) {
    const JsonValue* found = reader.find("model_type");
    if (found == nullptr || found->is_null()) {
      reader.problem("model_type", "missing (the model's family)",
                     "like \"llama\" or \"qwen3_moe\"");
    }
  } else if (const HfFamily* family = find_hf_family(*model_type)) {
    HfFields fields(reader, import.assumptions);
    import.model = read_family(fields, *family);
  } else if (const HfFamily* near = stands_for(reader, *model_type)) {
    import.assumptions.push_back(
        fmt::format("model_type {}: not known; its fields are all of {}, whose code is assumed",
                    *model_type, near->model_type));
    HfFields fields(reader, import.assumptions);
    import.model = read_family(fields, *near);
    import.model.model_type = *model_type;
  }
  problems.throw_if_errors();

  import.model.name = model_name;
  if (nested != nullptr) {
    import.unused_fields = top.unread();
    for (const std::string& key : reader.unread())
      import.unused_fields.push_back("text_config." + key);
  } else {
    import.unused_fields = reader.unread();
  }
  return import;
}

}  // namespace pleat
