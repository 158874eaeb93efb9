// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/hf_parts.hpp"

#include <fmt/format.h>

namespace pleat {
namespace {

const FieldNames kExperts{"num_experts", "num_local_experts", "n_routed_experts",
                          "moe_num_experts"};
const FieldNames kTopK{"num_experts_per_tok",
                       "experts_per_token",
                       "num_experts_per_token",
                       "top_k_experts",
                       "moe_k",
                       "moe_topk"};
const FieldNames kSharedCounts{"n_shared_experts", "num_shared_experts", "moe_num_shared_experts",
                               "num_shared_expert"};

std::int64_t read_shared_ffn(HfFields& fields, const HfFamily& family, std::int64_t expert_ffn) {
  const FieldNames widths{"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
                          "shared_intermediate_size"};
  if (const auto width = fields.optional_integer(widths, {0, kWidthRange.max})) {
    fields.present(kSharedCounts);
    return *width;
  }
  if (family.shared_is_expert && !fields.has("num_shared_expert")) {
    fields.assume("one shared expert, as wide as a routed one (the family's code)");
    return expert_ffn;
  }
  const auto count = fields.of_all_layers(kSharedCounts, {0, 1024});
  return count.value_or(0) * expert_ffn;
}

void read_router(HfFields& fields, const HfFamily& family, MoeSpec& moe) {
  moe.score = family.score;
  const std::string score_field = fields.present({"scoring_func", "moe_router_activation_func"});
  if (const auto name = fields.optional_text(score_field)) {
    if (*name == "sqrtsoftplus") {
      moe.score = RouterScore::sigmoid;
      fields.assume("scoring_func sqrtsoftplus: priced as sigmoid");
    } else if (*name == "softmax" || *name == "sigmoid") {
      moe.score = *name == "softmax" ? RouterScore::softmax : RouterScore::sigmoid;
    } else {
      fields.reader().problem(score_field, fmt::format("unknown value \"{}\"", *name),
                              "one of: softmax, sigmoid");
    }
  } else if (family.score == RouterScore::sigmoid) {
    fields.assume("scoring_func: taken as sigmoid (the family's router)");
  }

  moe.expert_bias = family.expert_bias;
  const auto method = fields.optional_text("topk_method");
  if (method) {
    moe.expert_bias = *method == "noaux_tc";
  } else if (family.expert_bias) {
    fields.assume("topk_method: taken as noaux_tc (the family's router has an expert bias)");
  }
  moe.normalize_top_k = family.normalize_top_k;
  if (!family.expert_ffn_is_intermediate) {  // Mixtral's router always normalises
    moe.normalize_top_k = fields.boolean_or({"norm_topk_prob", "moe_renormalize"},
                                            family.normalize_top_k, "the family's default");
  }
  if (fields.has("routed_scaling_factor")) {
    moe.scaling_factor = fields.number_or({"routed_scaling_factor"}, {0, 1000, true}, 1, "");
  }
  fields.reader().find("routed_scaling_factor");

  const auto groups = fields.optional_integer({"n_group", "num_expert_group"}, kExpertRange);
  const auto top = fields.optional_integer({"topk_group"}, kExpertRange);
  if (method == "greedy") return;  // DeepSeek-V2-Lite: groups are in the file, but not used
  moe.groups = groups.value_or(1);
  moe.top_groups = top.value_or(moe.groups);
}

void check(HfFields& fields, const MoeSpec& moe) {
  if (moe.experts == 0 || moe.top_k == 0) return;  // reported already
  ObjectReader& reader = fields.reader();
  const std::string top_k_name = fields.present(kTopK);
  if (moe.top_k > moe.experts) {
    reader.problem(top_k_name, fmt::format("top-k {} > {} experts", moe.top_k, moe.experts),
                   fmt::format("allowed: from 1 to {}", moe.experts));
  }
  if (moe.top_groups > moe.groups) {
    reader.problem("topk_group",
                   fmt::format("{} > {} groups (n_group)", moe.top_groups, moe.groups));
  } else if (moe.experts % moe.groups != 0) {
    reader.problem("n_group", fmt::format("{} experts cannot be split into {} groups", moe.experts,
                                          moe.groups));
  } else if (const auto eligible = moe.experts / moe.groups * moe.top_groups;
             moe.top_k <= moe.experts && moe.top_k > eligible) {
    reader.problem(top_k_name, fmt::format("top-k {} > {} experts in the best {} of {} groups",
                                           moe.top_k, eligible, moe.top_groups, moe.groups));
  }
}

// A list with one 0/1 entry a layer.
std::vector<bool> read_frequency_list(HfFields& fields, std::int64_t layers) {
  std::vector<bool> moe;
  const JsonValue::Array* items = fields.reader().optional_array("moe_layer_freq");
  for (const JsonValue& item : *items) {
    const std::int64_t* entry = item.as_integer();
    if (entry == nullptr || (*entry != 0 && *entry != 1)) {
      fields.reader().problem("moe_layer_freq",
                              fmt::format("entry {} is {}", moe.size(), item.brief()),
                              "an integer, or a list of 0 (dense) and 1 (MoE)");
      return std::vector<bool>(static_cast<std::size_t>(layers), true);
    }
    moe.push_back(*entry == 1);
  }
  if (moe.size() != static_cast<std::size_t>(layers)) {
    fields.reader().problem("moe_layer_freq",
                            fmt::format("{} entries for {} layers", moe.size(), layers));
    moe.resize(static_cast<std::size_t>(layers), true);
  }
  return moe;
}

// ERNIE: every so many layers of a range, the last included; -1: to the last.
std::vector<bool> read_range(HfFields& fields, std::int64_t layers) {
  const auto first =
      fields.optional_integer({"moe_layer_start_index"}, {0, kLayerRange.max}).value_or(0);
  auto last = fields.optional_integer({"moe_layer_end_index"}, {-1, kLayerRange.max}).value_or(-1);
  if (last < 0) last = layers - 1;
  const auto every = fields.optional_integer({"moe_layer_interval"}, kLayerRange).value_or(1);
  std::vector<bool> moe;
  for (std::int64_t i = 0; i < layers; ++i)
    moe.push_back(i >= first && i <= last && (i + 1) % every == 0);
  return moe;
}

std::vector<bool> read_type_list(HfFields& fields, std::int64_t layers) {
  std::vector<bool> moe;
  const JsonValue::Array* items = fields.reader().optional_array("mlp_layer_types");
  if (items == nullptr) return std::vector<bool>(static_cast<std::size_t>(layers), true);
  for (const JsonValue& item : *items) {
    const std::string* kind = item.as_string();
    if (kind == nullptr || (*kind != "sparse" && *kind != "dense")) {
      fields.reader().problem("mlp_layer_types",
                              fmt::format("entry {} is {}", moe.size(), item.brief()),
                              "one of: dense, sparse");
    }
    moe.push_back(kind != nullptr && *kind == "sparse");
  }
  if (moe.size() != static_cast<std::size_t>(layers)) {
    fields.reader().problem("mlp_layer_types",
                            fmt::format("{} entries for {} layers", moe.size(), layers));
    moe.resize(static_cast<std::size_t>(layers), true);
  }
  return moe;
}

}  // namespace

MoeSpec read_hf_moe(HfFields& fields, const HfFamily& family) {
  MoeSpec moe;
  moe.experts = fields.integer(
      kExperts, "experts; without them the model is dense, of another family", kExpertRange);
  const bool top_k = fields.has(fields.present(kTopK));
  moe.top_k = top_k ? fields.of_all_layers(kTopK, kExpertRange).value_or(0)
                    : fields.integer(kTopK, "top_k", kExpertRange);
  const FieldNames width{"moe_intermediate_size"};
  if (fields.has(width.front())) {
    moe.ffn = fields.of_all_layers(width, kWidthRange).value_or(0);
  } else if (family.expert_ffn_is_intermediate) {
    moe.ffn = fields.integer({"intermediate_size"}, "FFN width of an expert", kWidthRange);
  } else {
    moe.ffn = fields.integer(width, "FFN width of an expert", kWidthRange);
  }
  moe.shared_ffn = read_shared_ffn(fields, family, moe.ffn);
  moe.latent =
      fields.optional_integer({"moe_latent_size", "routed_expert_hidden_size"}, kWidthRange)
          .value_or(0);
  moe.latent_norm = fields.reader().optional_boolean("latent_moe_use_norm").value_or(false);
  moe.router_bias = family.router_bias;
  moe.mlp_bias = family.expert_mlp_bias;
  moe.shared_gate = family.shared_gate && moe.shared_ffn > 0;
  read_router(fields, family, moe);
  check(fields, moe);
  return moe;
}

std::vector<bool> read_hf_moe_layers(HfFields& fields, std::int64_t layers) {
  const JsonValue* frequency = fields.reader().find("moe_layer_freq");
  if (frequency != nullptr && frequency->is_array()) {
    return read_frequency_list(fields, layers);
  }
  if (fields.has("mlp_layer_types")) return read_type_list(fields, layers);

  const IntRange any{0, kLayerRange.max};
  if (fields.has("moe_layer_start_index") || fields.has("moe_layer_interval")) {
    return read_range(fields, layers);
  }
  const auto first_dense =
      fields.optional_integer({"first_k_dense_replace", "num_dense_layers"}, any).value_or(0);
  const auto every = fields.optional_integer({"moe_layer_freq"}, kLayerRange).value_or(1);
  const auto step =
      fields.optional_integer({"decoder_sparse_step", "interleave_moe_layer_step"}, kLayerRange)
          .value_or(1);
  const auto period = fields.optional_integer({"expert_layer_period"}, kLayerRange);
  const auto offset = fields.optional_integer({"expert_layer_offset"}, any).value_or(0);
  std::vector<bool> moe;
  for (std::int64_t i = 0; i < layers; ++i) {
    const bool in_period = !period || i % *period == offset;
    moe.push_back(i >= first_dense && i % every == 0 && (i + 1) % step == 0 && in_period);
  }
  if (const JsonValue::Array* dense = fields.reader().optional_array("mlp_only_layers")) {
    for (const JsonValue& item : *dense) {
      const std::int64_t* layer = item.as_integer();
      if (layer == nullptr || *layer < 0 || *layer >= layers) {
        fields.reader().problem("mlp_only_layers",
                                fmt::format("{} is not a layer of this model", item.brief()),
                                fmt::format("layers are 0 to {}", layers - 1));
      } else {
        moe[static_cast<std::size_t>(*layer)] = false;
      }
    }
  }
  return moe;
}

}  // namespace pleat
