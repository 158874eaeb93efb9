// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Megatron-LM of 2021 (--checkpoint-activations), of 2024 and its dev branch (--use-custom-fsdp,
// --combined-1f1b), MindSpeed-LLM (its words for DeepSeek's attention and experts) and
// Pai-Megatron-Patch (--qk-nope-head-dim, --num-mtp-predictor).
#include "interop/other_names.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <string_view>

namespace pleat::interop {
namespace {

struct OtherName {
  const char* other;
  const char* todays;  // null: it says nothing more
};

constexpr auto kOthers = std::to_array<OtherName>({
    {"use_custom_fsdp", "use_megatron_fsdp"},
    {"combined_1f1b", "overlap_moe_expert_parallel_comm"},
    {"combined_1f1b_recipe", nullptr},
    {"multi_head_latent_attention", "multi_latent_attention"},
    {"qk_nope_head_dim", "qk_head_dim"},
    {"qk_rope_head_dim", "qk_pos_emb_head_dim"},
    {"moe_intermediate_size", "moe_ffn_hidden_size"},
    {"routed_scaling_factor", "moe_router_topk_scaling_factor"},
    {"n_group", "moe_router_num_groups"},
    {"topk_group", "moe_router_group_topk"},
    {"seq_aux", nullptr},
    {"rope_scaling_factor", "rotary_scaling_factor"},
    {"num_mtp_predictor", "mtp_num_layers"},
    {"use_multi_token_prediction", nullptr},
});

std::optional<std::int64_t> number_of(const Arguments& a, const char* member) {
  const auto found = a.find(member);
  if (found == a.end() || found->second.size() != 1) return std::nullopt;
  const std::string& text = found->second.front();
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return whole && value >= 0 && value <= 1 << 28 ? std::optional(value) : std::nullopt;
}

bool is_given(const Arguments& a, const char* member) {
  const auto found = a.find(member);
  return found != a.end() && !found->second.empty() && found->second.front() != "None";
}

bool is_true(const Arguments& a, const char* member) {
  const auto found = a.find(member);
  return found != a.end() && found->second == std::vector<std::string>{"True"};
}

void put(Arguments& a, const char* member, std::string value) {
  if (!is_given(a, member)) a[member] = {std::move(value)};
}

// Each layer is kept by its input and run again, or as the flags beside it say.
void read_checkpointing(Arguments& a, ImportedRun& out) {
  const bool on = is_true(a, "checkpoint_activations");
  if (!on && !is_given(a, "activations_checkpoint_method")) return;
  if (is_given(a, "recompute_granularity")) return;
  a["recompute_granularity"] = {"full"};
  const bool named = is_given(a, "activations_checkpoint_method");
  put(a, "recompute_method", named ? a["activations_checkpoint_method"].front() : "uniform");
  for (const char* member : {"activations_checkpoint_num_layers", "checkpoint_num_layers"})
    if (const auto layers = number_of(a, member))
      put(a, "recompute_num_layers", std::to_string(*layers));
  put(a, "recompute_num_layers", "1");
  out.assumed.push_back(
      fmt::format("{}, as versions of 2021 read it: full recompute",
                  on ? "checkpoint_activations" : "activations_checkpoint_method"));
}

// "--first-k-dense-replace 1 --n-shared-experts 2": a number of layers, and of experts.
void read_counts(Arguments& a) {
  const auto dense = number_of(a, "first_k_dense_replace"), layers = number_of(a, "num_layers");
  const auto frequency = number_of(a, "moe_layer_freq");
  const bool all = !is_given(a, "moe_layer_freq") || frequency == 1;
  if (dense && layers && *dense <= *layers && all)
    a["moe_layer_freq"] = {fmt::format("([0]*{}+[1]*{})", *dense, *layers - *dense)};
  const auto shared = number_of(a, "n_shared_experts"), ffn = number_of(a, "moe_ffn_hidden_size");
  if (shared && ffn && *shared > 0 && *shared <= 1 << 10)
    put(a, "moe_shared_expert_intermediate_size", std::to_string(*shared * *ffn));
}

}  // namespace

Arguments in_todays_names(Arguments a, ImportedRun& out) {
  for (const OtherName& name : kOthers) {
    out.asked.insert(name.other);
    const auto found = a.find(name.other);
    if (name.todays == nullptr || found == a.end() || !is_given(a, name.other)) continue;
    if (!is_given(a, name.todays)) a[name.todays] = found->second;
  }
  for (const char* member : {"checkpoint_activations", "activations_checkpoint_method",
                             "activations_checkpoint_num_layers", "checkpoint_num_layers",
                             "first_k_dense_replace", "n_shared_experts"})
    out.asked.insert(member);
  read_checkpointing(a, out);
  read_counts(a);
  return a;
}

}  // namespace pleat::interop
