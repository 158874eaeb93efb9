// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/hf_weight_map.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

constexpr std::array<const char*, 13> kFamilies{
    "llama",       "mistral", "mixtral",  "qwen2", "qwen3",       "qwen2_moe",   "qwen3_moe",
    "deepseek_v2", "kimi_k2", "glm4_moe", "dots1", "deepseek_v3", "ernie4_5_moe"};

// Families whose weights are neither read nor written: transformers saves them in another form, or
// computes something else with them.
struct RefusedFamily {
  const char* model_type;
  const char* why;
};
constexpr std::array kRefused{
    RefusedFamily{"gpt2", "its products are saved transposed, and its positions are weights"},
    RefusedFamily{"nemotron", "its norms are saved less one"},
    RefusedFamily{"gpt_oss", "its experts are saved transposed, gate and up in alternate columns"},
    RefusedFamily{"llama4_text", "its experts are saved transposed"},
    RefusedFamily{"minimax_m2", "it norms all heads together"},
    RefusedFamily{"hunyuan_v1_moe", "it norms heads after their rotation, Pleat before it"},
    RefusedFamily{"phimoe", "its router is SparseMixer, Pleat's a softmax"},
    RefusedFamily{"granitemoe",
                  "its embeddings, residuals, scores and logits are multiplied by factors "
                  "that Pleat leaves out"},
    RefusedFamily{"granitemoeshared",
                  "its embeddings, residuals, scores and logits are multiplied by "
                  "factors that Pleat leaves out"},
    RefusedFamily{"dbrx", "its norms are layer norms without a bias, Pleat's are RMS norms"},
    RefusedFamily{"olmoe", "it norms all heads together"},
    RefusedFamily{"grok-1", "transformers has no such model"},
};

// The names that differ between families.
struct MoeNames {
  std::string block = "mlp.", gate = "gate_proj", up = "up_proj", down = "down_proj", shared;
  // Of ERNIE's router: a table of one row.
  bool bias_in_statics = false;
};

MoeNames moe_names(const ModelSpec& m) {
  if (m.model_type == "mixtral") return {"block_sparse_moe.", "w1", "w3", "w2", "", false};
  MoeNames names;
  const bool qwen = m.model_type == "qwen2_moe" || m.model_type == "qwen3_moe";
  names.shared = qwen ? "mlp.shared_expert." : "mlp.shared_experts.";
  names.bias_in_statics = m.model_type == "ernie4_5_moe";
  return names;
}

class MapBuilder {
 public:
  explicit MapBuilder(const ModelSpec& m) : m_(m) {}

  std::vector<HfWeight> build() {
    matrix("embedding", "model.embed_tokens.weight", m_.vocab, m_.hidden);
    for (std::int64_t l = 0; l < m_.layers; ++l) {
      ours_ = fmt::format("layers.{}.", l);
      theirs_ = fmt::format("model.layers.{}.", l);
      layer(m_.is_moe(l));
    }
    ours_ = theirs_ = "";
    vector("final_norm", "model.norm.weight", m_.hidden);
    if (!m_.tied_embeddings) matrix("head", "lm_head.weight", m_.vocab, m_.hidden);
    for (std::int64_t d = 0; d < m_.mtp_layers; ++d) depth(d);
    return std::move(weights_);
  }

 private:
  void layer(bool moe) {
    vector("attn_norm", "input_layernorm.weight", m_.hidden);
    if (m_.attention.kind == AttentionKind::mla) {
      latent_attention();
    } else {
      grouped_attention();
    }
    vector("mlp_norm", "post_attention_layernorm.weight", m_.hidden);
    if (moe) {
      experts();
    } else {
      gated("fc1", "mlp.gate_proj", "mlp.up_proj", "mlp.gate_up_proj", m_.ffn, m_.mlp_bias);
      linear("fc2", "mlp.down_proj", m_.hidden, m_.ffn, m_.mlp_bias);
    }
  }

  // DeepSeek-V3 keeps the prediction depth as one more layer (README_WEIGHTS.md of its repository).
  void depth(std::int64_t number) {
    ours_ = number == 0 ? "mtp." : fmt::format("mtp.{}.", number);
    theirs_ = fmt::format("model.layers.{}.", m_.layers + number);
    layer(m_.is_moe(m_.layers - 1));
    vector("h_norm", "hnorm.weight", m_.hidden);
    vector("e_norm", "enorm.weight", m_.hidden);
    matrix("proj", "eh_proj.weight", m_.hidden, 2 * m_.hidden);
    vector("final_norm", "shared_head.norm.weight", m_.hidden);
  }

  void grouped_attention() {
    const AttentionSpec& a = m_.attention;
    const std::int64_t q = a.heads * a.head_dim, k = a.kv_groups * a.head_dim,
                       v = a.kv_groups * a.v_dim();
    const auto packed = [&](const std::string& name, const char* suffix, std::int64_t columns) {
      HfWeight& w = add(name, q + k + v, columns);
      std::int64_t row = 0;
      const auto part = [&](const char* which, std::int64_t rows) {
        w.parts.push_back(
            {rows,
             {place(fmt::format("self_attn.{}_proj{}", which, suffix), rows, columns),
              place(fmt::format("self_attn.qkv_proj{}", suffix), w.rows, columns, row * columns)}});
        row += rows;
      };
      part("q", q);
      part("k", k);
      part("v", v);
    };
    packed("qkv", ".weight", m_.hidden);
    if (a.qkv_bias) packed("qkv.bias", ".bias", 1);
    if (a.qk_norm) {
      vector("q_norm", "self_attn.q_norm.weight", a.head_dim);
      vector("k_norm", "self_attn.k_norm.weight", a.head_dim);
    }
    linear("attn_proj", "self_attn.o_proj", m_.hidden, a.heads * a.v_dim(), a.out_bias);
  }

  void latent_attention() {
    const AttentionSpec& a = m_.attention;
    const std::int64_t head = a.qk_nope_head_dim + a.qk_rope_head_dim;
    if (a.q_lora_rank == 0) {
      matrix("q", "self_attn.q_proj.weight", a.heads * head, m_.hidden);
    } else {
      matrix("q_a", "self_attn.q_a_proj.weight", a.q_lora_rank, m_.hidden);
      vector("q_a_norm", "self_attn.q_a_layernorm.weight", a.q_lora_rank);
      matrix("q_b", "self_attn.q_b_proj.weight", a.heads * head, a.q_lora_rank);
    }
    const std::int64_t kv = a.kv_lora_rank + a.qk_rope_head_dim;
    matrix("kv_a", "self_attn.kv_a_proj_with_mqa.weight", kv, m_.hidden);
    vector("kv_a_norm", "self_attn.kv_a_layernorm.weight", a.kv_lora_rank);
    matrix("kv_b", "self_attn.kv_b_proj.weight", a.heads * (a.qk_nope_head_dim + a.v_head_dim),
           a.kv_lora_rank);
    linear("attn_proj", "self_attn.o_proj", m_.hidden, a.heads * a.v_head_dim, false);
  }

  void experts() {
    const MoeSpec& moe = *m_.moe;
    const MoeNames names = moe_names(m_);
    matrix("router", names.block + "gate.weight", moe.experts, m_.hidden);
    // transformers 5 names Mixtral's router like the others'.
    weights_.back().parts[0].places.push_back(place("mlp.gate.weight", moe.experts, m_.hidden));
    if (moe.expert_bias && names.bias_in_statics) {
      add("expert_bias", moe.experts, 1).parts = {
          {moe.experts, {matrix_place("mlp.moe_statics.e_score_correction_bias", 1, moe.experts)}}};
    } else if (moe.expert_bias) {
      vector("expert_bias", "mlp.gate.e_score_correction_bias", moe.experts);
    }
    for (std::int64_t e = 0; e < moe.experts; ++e) expert(e, moe, names);
    if (moe.shared_ffn == 0) return;
    gated("shared.fc1", names.shared + "gate_proj", names.shared + "up_proj",
          names.shared + "gate_up_proj", moe.shared_ffn, false);
    linear("shared.fc2", names.shared + "down_proj", m_.hidden, moe.shared_ffn, false);
    if (moe.shared_gate) matrix("shared.gate", "mlp.shared_expert_gate.weight", 1, m_.hidden);
  }

  // One by one, or all in one tensor [experts, rows, columns] (transformers 5 in memory).
  void expert(std::int64_t e, const MoeSpec& moe, const MoeNames& names) {
    const std::string theirs = fmt::format("{}experts.{}.", names.block, e);
    const std::int64_t f = moe.ffn, each = f * m_.hidden;
    const std::vector<std::int64_t> both{moe.experts, 2 * f, m_.hidden},
        down{moe.experts, m_.hidden, f};
    HfWeight& fc1 = add(fmt::format("experts.{}.fc1", e), 2 * f, m_.hidden);
    const auto part = [&](const std::string& which, std::int64_t row) {
      fc1.parts.push_back(
          {f,
           {place(theirs + which + ".weight", f, m_.hidden),
            {theirs_ + "mlp.experts.gate_up_proj", both, 2 * e * each + row * m_.hidden}}});
    };
    part(names.gate, 0);
    part(names.up, f);
    HfWeight& fc2 = add(fmt::format("experts.{}.fc2", e), m_.hidden, f);
    fc2.parts.push_back({m_.hidden,
                         {place(theirs + names.down + ".weight", m_.hidden, f),
                          {theirs_ + "mlp.experts.down_proj", down, e * each}}});
  }

  // [gate | up] here; two tensors there, or one.
  void gated(const std::string& name, const std::string& gate, const std::string& up,
             const std::string& fused, std::int64_t f, bool bias) {
    const auto both = [&](const std::string& ours, const char* suffix, std::int64_t columns) {
      HfWeight& w = add(ours, 2 * f, columns);
      w.parts.push_back(
          {f, {place(gate + suffix, f, columns), place(fused + suffix, 2 * f, columns)}});
      w.parts.push_back(
          {f,
           {place(up + suffix, f, columns), place(fused + suffix, 2 * f, columns, f * columns)}});
    };
    both(name, ".weight", m_.hidden);
    if (bias) both(name + ".bias", ".bias", 1);
  }

  void linear(const std::string& name, const std::string& theirs, std::int64_t rows,
              std::int64_t columns, bool bias) {
    matrix(name, theirs + ".weight", rows, columns);
    if (bias) vector(name + ".bias", theirs + ".bias", rows);
  }

  void matrix(const std::string& name, const std::string& theirs, std::int64_t rows,
              std::int64_t columns) {
    add(name, rows, columns).parts = {{rows, {matrix_place(theirs, rows, columns)}}};
  }

  void vector(const std::string& name, const std::string& theirs, std::int64_t size) {
    add(name, size, 1).parts = {{size, {place(theirs, size, 1)}}};
  }

  HfWeight& add(const std::string& name, std::int64_t rows, std::int64_t columns) {
    weights_.push_back({ours_ + name, rows, columns, {}});
    return weights_.back();
  }

  // One column: a vector.
  [[nodiscard]] HfPlace place(const std::string& theirs, std::int64_t rows, std::int64_t columns,
                              std::int64_t first = 0) const {
    if (columns > 1) return {theirs_ + theirs, {rows, columns}, first};
    return {theirs_ + theirs, {rows}, first};
  }
  [[nodiscard]] HfPlace matrix_place(const std::string& theirs, std::int64_t rows,
                                     std::int64_t columns) const {
    return {theirs_ + theirs, {rows, columns}, 0};
  }

  const ModelSpec& m_;
  std::string ours_, theirs_;
  std::vector<HfWeight> weights_;
};

}  // namespace

void require_known_weights(const ModelSpec& m) {
  if (m.model_type == "ernie4_5_moe" && m.attention.qkv_bias) {
    throw_config_error(ExitCode::bad_request, m.name, "use_bias",
                       "MLPs and experts have biases there, which Pleat leaves out",
                       "a model whose use_bias is false");
  }
  const auto refused = std::ranges::find(kRefused, m.model_type, [](const RefusedFamily& f) {
    return std::string_view(f.model_type);
  });
  if (refused != kRefused.end()) {
    throw_config_error(ExitCode::bad_request, m.name, "model_type",
                       fmt::format("weights of \"{}\" are neither read nor written: {}",
                                   m.model_type, refused->why),
                       fmt::format("one of: {}", fmt::join(kFamilies, ", ")));
  }
  if (std::find(kFamilies.begin(), kFamilies.end(), m.model_type) == kFamilies.end()) {
    throw_config_error(ExitCode::bad_request, m.name, "model_type",
                       fmt::format("the tensor names of \"{}\" are not known", m.model_type),
                       fmt::format("one of: {}", fmt::join(kFamilies, ", ")));
  }
}

std::vector<HfWeight> hf_weight_map(const ModelSpec& m) {
  require_known_weights(m);
  return MapBuilder(m).build();
}

}  // namespace pleat
