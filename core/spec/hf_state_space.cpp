// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Families that mix attention with state spaces or short convolutions: Jamba, Granite 4, LFM2.
#include <fmt/format.h>

#include "core/spec/hf_parts.hpp"

namespace pleat {
namespace {

constexpr IntRange kSizes{1, 1 << 20};
constexpr IntRange kPeriods{1, 10'000};
constexpr IntRange kOffsets{0, 10'000};

std::size_t at_index(std::int64_t n) { return static_cast<std::size_t>(n); }

// What the file must say no to, or yes: the other way is not told by a ModelSpec.
void require_flag(HfFields& fields, const std::string& name, bool usual) {
  if (fields.reader().optional_boolean(name).value_or(usual) == usual) return;
  fields.reader().problem(name, fmt::format("{} is not supported in this family", !usual),
                          usual ? "true" : "false");
}

// One of `others` a layer is the mixer; "attention" and "full_attention" stay.
void read_mixers(HfFields& fields, const std::string& name, const FieldNames& others, Mixer mixer,
                 ModelSpec& m) {
  std::vector<std::string> words{"attention", "full_attention"};
  words.insert(words.end(), others.begin(), others.end());
  const std::vector<std::size_t> kinds = words_of_layers(fields.reader(), name, m.layers, words);
  for (std::size_t l = 0; l < kinds.size(); ++l) {
    if (kinds[l] >= 2) m.layer_traits[l].mixer = mixer;
  }
}

}  // namespace

void read_jamba_layers(HfFields& fields, ModelSpec& m) {
  const auto period = fields.integer_or({"attn_layer_period"}, kPeriods, 8, "the family's default");
  const auto offset = fields.integer_or({"attn_layer_offset"}, kOffsets, 4, "the family's default");
  m.layer_traits.assign(at_index(m.layers), {});
  for (std::int64_t l = 0; l < m.layers; ++l) {
    if (l % period != offset) m.layer_traits[at_index(l)].mixer = Mixer::mamba1;
  }
  RecurrenceSpec r;
  const auto expand = fields.integer_or({"mamba_expand"}, {1, 64}, 2, "the family's default");
  r.value_heads = expand * m.hidden;
  r.value_dim = 1;
  r.key_heads = 1;
  r.key_dim = fields.integer_or({"mamba_d_state"}, kSizes, 16, "the family's default");
  r.conv = fields.integer_or({"mamba_d_conv"}, {1, 1024}, 4, "the family's default");
  const JsonValue* rank = fields.reader().find("mamba_dt_rank");
  const bool automatic = rank == nullptr || rank->is_null() || rank->as_string() != nullptr;
  r.step_rank = automatic ? (m.hidden + 15) / 16
                          : fields.integer({"mamba_dt_rank"}, "columns of the steps", kSizes);
  if (automatic) {
    fields.assume(fmt::format("mamba_dt_rank: taken as {} (hidden size / 16)", r.step_rank));
  }
  r.inner_norms = true;
  require_flag(fields, "mamba_conv_bias", true);
  require_flag(fields, "mamba_proj_bias", false);
  m.recurrence = r;
  fields.leave_out(
      "Mamba-1's selective scan is priced as one operation on the attention curve, and runs on "
      "vector units");
  fields.leave_out("attention has no positions, and is priced with rotary ones");
}

void read_granite_hybrid_layers(HfFields& fields, ModelSpec& m) {
  leave_out_multipliers(fields, m);
  m.layer_traits.assign(at_index(m.layers), {});
  const std::string name = fields.present({"layer_types", "layers_block_type"});
  if (fields.has(name)) {
    read_mixers(fields, name, {"mamba", "linear_attention"}, Mixer::mamba2, m);
  } else {
    fields.assume("layer_types: taken as Mamba-2 in every layer (the family's default)");
    for (LayerTraits& t : m.layer_traits) t.mixer = Mixer::mamba2;
  }
  RecurrenceSpec r;
  const auto expand = fields.integer_or({"mamba_expand"}, {1, 64}, 2, "the family's default");
  r.value_heads = fields.integer({"mamba_n_heads"}, "heads of Mamba-2", kSizes);
  const JsonValue* head = fields.reader().find("mamba_d_head");
  const bool automatic = head == nullptr || head->is_null() || head->as_string() != nullptr;
  r.value_dim = automatic ? expand * m.hidden / std::max<std::int64_t>(1, r.value_heads)
                          : fields.integer({"mamba_d_head"}, "head size of Mamba-2", kSizes);
  if (r.values() != expand * m.hidden && r.value_heads > 0) {
    fields.reader().problem("mamba_n_heads",
                            fmt::format("{} heads of {} are not the inner width {}", r.value_heads,
                                        r.value_dim, expand * m.hidden));
  }
  r.key_heads = fields.integer({"mamba_n_groups"}, "groups of Mamba-2", kSizes);
  r.key_dim = fields.integer({"mamba_d_state"}, "state size of Mamba-2", kSizes);
  r.conv = fields.integer({"mamba_d_conv"}, "width of the convolution", {1, 1024});
  require_flag(fields, "mamba_conv_bias", true);
  require_flag(fields, "mamba_proj_bias", false);
  m.recurrence = r;
  fields.assume("Mamba-2: its scan is priced as one operation on the attention curve");
  if (fields.optional_text("position_embedding_type").value_or("nope") != "rope") {
    fields.leave_out("attention has no positions, and is priced with rotary ones");
  }
  if (!m.moe) {  // the MLP that is beside the experts elsewhere
    m.ffn = fields.integer({"shared_intermediate_size"}, "FFN width", kWidthRange);
  }
}

void read_lfm2_layers(HfFields& fields, ModelSpec& m) {
  m.layer_traits.assign(at_index(m.layers), {});
  read_mixers(fields, "layer_types", {"conv"}, Mixer::short_conv, m);
  RecurrenceSpec r;
  r.key_heads = r.value_heads = m.hidden;
  r.key_dim = r.value_dim = 1;
  r.conv = fields.integer_or({"conv_L_cache"}, {1, 1024}, 3, "the family's default");
  require_flag(fields, "conv_bias", false);
  m.recurrence = r;
  if (m.moe)
    m.moe->expert_bias = fields.boolean_or({"use_expert_bias"}, true, "the family's default");
}

}  // namespace pleat
