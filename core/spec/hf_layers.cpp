// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/hf_parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace pleat {
namespace {

constexpr IntRange kWindowRange{1, 1 << 30};

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

constexpr std::int64_t kMostPerLayer = 65'536;

// A small number for each layer: a flag, a ratio. Entries after the last layer belong to the
// prediction depths.
std::vector<std::int64_t> per_layer(ObjectReader& reader, const std::string& name,
                                    std::int64_t layers) {
  std::vector<std::int64_t> list;
  for (const JsonValue& item : reader.array(name)) {
    const std::int64_t* entry = item.as_integer();
    const bool good = entry != nullptr && *entry >= 0 && *entry <= kMostPerLayer;
    if (!good) {
      reader.problem(name, fmt::format("entry {} is {}", list.size(), item.brief()),
                     fmt::format("integers from 0 to {}", kMostPerLayer));
    }
    list.push_back(good ? *entry : 0);
  }
  if (list.size() < size(layers)) {
    reader.problem(name, fmt::format("{} entries for {} layers", list.size(), layers));
    list.resize(size(layers), 0);
  }
  return list;
}

}  // namespace

std::vector<std::size_t> words_of_layers(ObjectReader& reader, const std::string& name,
                                         std::int64_t layers,
                                         const std::vector<std::string>& names) {
  std::vector<std::size_t> list;
  for (const JsonValue& item : reader.array(name)) {
    const std::string* word = item.as_string();
    const auto found = word == nullptr ? names.end() : std::find(names.begin(), names.end(), *word);
    if (found == names.end()) {
      reader.problem(name, fmt::format("entry {} is {}", list.size(), item.brief()),
                     fmt::format("one of: {}", fmt::join(names, ", ")));
    }
    list.push_back(found == names.end() ? 0 : size(found - names.begin()));
  }
  if (list.size() != size(layers)) {
    reader.problem(name, fmt::format("{} entries for {} layers", list.size(), layers));
    list.resize(size(layers), 0);
  }
  return list;
}

namespace {

void allocate(ModelSpec& m) { m.layer_traits.assign(size(m.layers), {}); }

const std::vector<std::string> kLayerTypes{"full_attention", "sliding_attention"};

}  // namespace

void read_windows(HfFields& fields, ModelSpec& m) {
  const auto window = fields.optional_integer({"sliding_window"}, kWindowRange);
  const bool used = fields.reader().optional_boolean("use_sliding_window").value_or(true);
  if (!window || !used) return;
  std::vector<std::size_t> types(size(m.layers), 1);
  // Qwen2's way: windows from this layer on.
  const auto first = fields.optional_integer({"max_window_layers"}, {0, kLayerRange.max});
  for (std::size_t l = 0; first && l < types.size() && l < size(*first); ++l) types[l] = 0;
  if (fields.has("layer_types"))
    types = words_of_layers(fields.reader(), "layer_types", m.layers, kLayerTypes);
  allocate(m);
  for (std::size_t l = 0; l < types.size(); ++l)
    m.layer_traits[l].window = types[l] == 1 ? *window : 0;
}

void read_windows_if_used(HfFields& fields, ModelSpec& m) {
  if (fields.reader().optional_boolean("use_sliding_window").value_or(false)) {
    read_windows(fields, m);
  } else {
    fields.present({"sliding_window", "max_window_layers"});
  }
}

void read_chunks(HfFields& fields, ModelSpec& m) {
  const auto chunk = fields.optional_integer({"attention_chunk_size"}, kWindowRange);
  if (!chunk) return;
  fields.assume(
      "every fourth layer attends to all positions (no_rope_layer_interval 4), the others "
      "within their chunk");
  allocate(m);
  for (std::size_t l = 0; l < m.layer_traits.size(); ++l) {
    if ((l + 1) % 4 == 0) continue;
    m.layer_traits[l].window = *chunk;
    m.layer_traits[l].chunked = true;
  }
}

void read_gemma_layers(HfFields& fields, ModelSpec& m) {
  m.norms_per_layer = 4;
  read_windows(fields, m);
  m.local_attention = m.attention;
  m.attention.head_dim = fields.integer_or({"global_head_dim"}, {1, 65'536}, m.attention.head_dim,
                                           "as in sliding layers");
  m.attention.kv_groups = fields.integer_or({"num_global_key_value_heads"}, {1, 65'536},
                                            m.attention.kv_groups, "as in sliding layers");
  m.attention.keys_are_values =
      fields.reader().optional_boolean("attention_k_eq_v").value_or(false);
  if (m.moe) {
    m.moe->shared_ffn = m.ffn;
    fields.assume(
        "the dense MLP beside the experts is a shared expert; its own norms are left out");
  }
}

void read_mimo_layers(HfFields& fields, ModelSpec& m) {
  const auto local = per_layer(fields.reader(), "hybrid_layer_pattern", m.layers);
  const auto window = fields.integer({"sliding_window"}, "window", kWindowRange);
  allocate(m);
  for (std::size_t l = 0; l < m.layer_traits.size(); ++l)
    m.layer_traits[l].window = local[l] ? window : 0;
  AttentionSpec a = m.attention;
  const IntRange heads{1, 65'536};
  a.heads = fields.integer_or({"swa_num_attention_heads"}, heads, a.heads, "as in full layers");
  a.kv_groups =
      fields.integer_or({"swa_num_key_value_heads"}, heads, a.kv_groups, "as in full layers");
  a.head_dim = fields.integer_or({"swa_head_dim"}, heads, a.head_dim, "as in full layers");
  a.v_head_dim = fields.integer_or({"swa_v_head_dim"}, heads, a.v_head_dim, "as in full layers");
  a.sinks = fields.reader().optional_boolean("add_swa_attention_sink_bias").value_or(false);
  m.attention.sinks =
      fields.reader().optional_boolean("add_full_attention_sink_bias").value_or(false);
  m.local_attention = a;
}

void read_delta_net_layers(HfFields& fields, ModelSpec& m) {
  RecurrenceSpec r;
  r.key_heads =
      fields.integer({"linear_num_key_heads"}, "key heads of gated DeltaNet", {1, 65'536});
  r.value_heads =
      fields.integer({"linear_num_value_heads"}, "value heads of gated DeltaNet", {1, 65'536});
  r.key_dim = fields.integer({"linear_key_head_dim"}, "key size of a head", {1, 65'536});
  r.value_dim = fields.integer({"linear_value_head_dim"}, "value size of a head", {1, 65'536});
  r.conv = fields.integer({"linear_conv_kernel_dim"}, "width of the convolution", {1, 1024});
  m.recurrence = r;
  m.attention.output_gate = fields.boolean_or({"attn_output_gate"}, true, "the family's default");
  allocate(m);
  if (fields.has("layer_types")) {
    fields.reader().find("full_attention_interval");
    const auto types = words_of_layers(fields.reader(), "layer_types", m.layers,
                                       {"linear_attention", "full_attention"});
    for (std::size_t l = 0; l < types.size(); ++l) {
      if (types[l] == 0) m.layer_traits[l].mixer = Mixer::gated_delta_net;
    }
  } else {
    const auto every = size(
        fields.integer_or({"full_attention_interval"}, kLayerRange, 4, "the family's default"));
    for (std::size_t l = 0; l < m.layer_traits.size(); ++l) {
      if ((l + 1) % every != 0) m.layer_traits[l].mixer = Mixer::gated_delta_net;
    }
  }
  fields.assume("gated DeltaNet: its recurrence is priced as one operation on the attention curve");
}

namespace {

void assume_kimi(HfFields& fields, const RecurrenceSpec& r) {
  fields.assume(fmt::format(
      "Kimi Delta Attention: the decay through a rank of one head, {} output gate; its recurrence "
      "is priced as one operation on the attention curve",
      r.gate_rank > 0 ? "so the" : "a full"));
}

// As transformers writes it.
void read_kimi_layer_types(HfFields& fields, ModelSpec& m) {
  RecurrenceSpec r;
  r.key_heads = r.value_heads =
      fields.integer({"linear_num_heads"}, "heads of Kimi Delta Attention", {1, 65'536});
  r.key_dim = r.value_dim = fields.integer({"linear_head_dim"}, "size of a head", {1, 65'536});
  r.conv = fields.integer({"linear_conv_kernel_dim"}, "width of the convolution", {1, 1024});
  r.gate_rank = r.value_dim;
  m.recurrence = r;
  allocate(m);
  const auto types = words_of_layers(fields.reader(), "layer_types", m.layers,
                                     {"linear_attention", "full_attention"});
  for (std::size_t l = 0; l < types.size(); ++l) {
    if (types[l] == 0) m.layer_traits[l].mixer = Mixer::kimi_delta;
  }
  assume_kimi(fields, r);
}

}  // namespace

void read_kimi_layers(HfFields& fields, ModelSpec& m) {
  m.attention.output_gate = fields.reader().optional_boolean("mla_use_output_gate").value_or(false);
  if (fields.has("layer_types") && !fields.has("linear_attn_config")) {
    read_kimi_layer_types(fields, m);
    return;
  }
  auto linear = fields.reader().optional_object("linear_attn_config");
  if (!linear) return;
  RecurrenceSpec r;
  r.key_heads = r.value_heads = linear->integer("num_heads", {1, 65'536});
  r.key_dim = r.value_dim = linear->integer("head_dim", {1, 65'536});
  r.conv = linear->integer("short_conv_kernel_size", {1, 1024});
  const bool full = linear->optional_boolean("use_full_rank_gate").value_or(false);
  r.gate_rank = full ? 0 : r.value_dim;
  m.recurrence = r;
  allocate(m);
  for (const JsonValue& item : linear->array("kda_layers")) {  // counted from 1
    const std::int64_t* layer = item.as_integer();
    if (layer == nullptr || *layer < 1 || *layer > m.layers) {
      linear->problem("kda_layers", fmt::format("{} is not a layer of this model", item.brief()),
                      fmt::format("layers are 1 to {}", m.layers));
    } else {
      m.layer_traits[size(*layer - 1)].mixer = Mixer::kimi_delta;
    }
  }
  assume_kimi(fields, r);
  if (fields.has("attn_res_block_size")) {
    fields.assume("attention over earlier layers' outputs (attn_res_block_size) is left out");
  }
}

void read_nemotron_h_layers(HfFields& fields, ModelSpec& m) {
  const auto pattern = fields.optional_text("hybrid_override_pattern");
  const auto layers = size(m.layers);
  if (!pattern || pattern->size() != layers) {
    fields.reader().problem("hybrid_override_pattern",
                            pattern
                                ? fmt::format("{} letters for {} layers", pattern->size(), layers)
                                : std::string("missing (the kind of each layer)"));
    return;
  }
  allocate(m);
  m.moe_layer.assign(layers, false);
  for (std::size_t l = 0; l < layers; ++l) {
    LayerTraits& t = m.layer_traits[l];
    switch ((*pattern)[l]) {
      case 'M':
        t = {.mixer = Mixer::mamba2, .mlp = false};
        break;
      case '*':
        t = {.mixer = Mixer::attention, .mlp = false};
        break;
      case '-':
        t = {.mixer = Mixer::none};
        break;
      case 'E':
        t = {.mixer = Mixer::none};
        m.moe_layer[l] = m.moe.has_value();
        break;
      default:
        fields.reader().problem("hybrid_override_pattern",
                                fmt::format("'{}' at layer {}", (*pattern)[l], l),
                                "one of: M (Mamba-2), * (attention), - (MLP), E (experts)");
    }
  }
  RecurrenceSpec r;
  r.value_heads = fields.integer({"mamba_num_heads"}, "heads of Mamba-2", {1, 65'536});
  r.value_dim = fields.integer({"mamba_head_dim"}, "head size of Mamba-2", {1, 65'536});
  r.key_heads = fields.integer({"n_groups"}, "groups of Mamba-2", {1, 65'536});
  r.key_dim = fields.integer({"ssm_state_size"}, "state size of Mamba-2", {1, 65'536});
  r.conv = fields.integer({"conv_kernel"}, "width of the convolution", {1, 1024});
  m.recurrence = r;
  if (const auto mtp = fields.optional_text("mtp_hybrid_override_pattern"); mtp && *mtp != "*E") {
    fields.reader().problem("mtp_hybrid_override_pattern",
                            fmt::format("\"{}\" is not supported", *mtp),
                            "\"*E\", attention and experts");
  }
  fields.assume("Mamba-2: its scan is priced as one operation on the attention curve");
}

void read_indexed_layers(HfFields& fields, ModelSpec& m) {
  AttentionSpec& a = m.attention;
  a.index_heads = fields.integer({"index_n_heads"}, "heads of the indexer", {1, 65'536});
  a.index_dim = fields.integer({"index_head_dim"}, "head size of the indexer", {1, 65'536});
  a.index_top_k = fields.integer({"index_topk"}, "keys that the indexer keeps", {1, 1 << 30});
  std::vector<std::size_t> types(size(m.layers), 0);
  if (fields.has("indexer_types"))
    types = words_of_layers(fields.reader(), "indexer_types", m.layers, {"full", "shared"});
  allocate(m);
  for (std::size_t l = 0; l < types.size(); ++l) {
    m.layer_traits[l].sparse = true;
    m.layer_traits[l].own_indexer = types[l] == 0;
  }
  m.mtp_traits = {.sparse = true, .own_indexer = true};
  fields.assume(
      "sparse attention: absorbed form on the kept keys, the indexer trained on them; its "
      "saved activations are not modelled in full");
}

void read_sparse_block_layers(HfFields& fields, ModelSpec& m) {
  auto sparse = fields.reader().optional_object("sparse_attention_config");
  if (!sparse) return;
  AttentionSpec& a = m.attention;
  a.index_heads = sparse->integer("sparse_num_index_heads", {1, 65'536});
  a.index_dim = sparse->integer("sparse_index_dim", {1, 65'536});
  a.index_top_k = sparse->integer("sparse_topk_blocks", {1, 1 << 20}) *
                  sparse->integer("sparse_block_size", {1, 1 << 10});
  const auto on = per_layer(*sparse, "sparse_attention_freq", m.layers);
  allocate(m);
  for (std::size_t l = 0; l < m.layer_traits.size(); ++l) {
    m.layer_traits[l].sparse = m.layer_traits[l].own_indexer = on[l] != 0;
  }
  m.mtp_traits = m.layer_traits.empty() ? LayerTraits{} : m.layer_traits.back();
  fields.assume(
      "block-sparse attention: an indexer with queries from h, one key and a weight per "
      "head keeps sparse_topk_blocks blocks");
}

void read_compressed_layers(HfFields& fields, ModelSpec& m) {
  AttentionSpec& a = m.attention;
  a.index_heads = fields.integer({"index_n_heads"}, "heads of the indexer", {1, 65'536});
  a.index_dim = fields.integer({"index_head_dim"}, "head size of the indexer", {1, 65'536});
  a.index_top_k = fields.integer({"index_topk"}, "keys that the indexer keeps", {1, 1 << 30});
  const auto window = fields.integer({"sliding_window"}, "window", kWindowRange);
  const auto ratios = per_layer(fields.reader(), "compress_ratios", m.layers);
  const auto of = [&](std::int64_t ratio) {
    const bool indexed = ratio == 4;  // the long ratio keeps every compressed key
    return LayerTraits{
        .window = window, .sparse = indexed, .own_indexer = indexed, .compression = ratio};
  };
  allocate(m);
  for (std::size_t l = 0; l < m.layer_traits.size(); ++l) m.layer_traits[l] = of(ratios[l]);
  m.mtp_traits = of(ratios.size() > size(m.layers) ? ratios[size(m.layers)] : 0);
  m.residual_streams = fields.optional_integer({"hc_mult"}, {1, 64}).value_or(1);
  fields.assume(
      "compressed attention: ratio 4 with an overlapping compressor and an indexer, other "
      "ratios with every compressed key; one operation on the attention curve");
  if (m.residual_streams > 1) {
    fields.assume(
        fmt::format("hyper-connections: {} residual streams, mixed by memory-bound "
                    "operations; between stages all of them are sent",
                    m.residual_streams));
  }
  if (fields.has("num_hash_layers")) {
    fields.assume("layers routed by a hash of the token (num_hash_layers) are taken as routed");
  }
}

}  // namespace pleat
