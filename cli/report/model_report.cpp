// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/model_report.hpp"

#include <fmt/format.h>

#include "console/tables.hpp"
#include "core/json/json_value.hpp"

namespace pleat::cli {
namespace {

std::string attention_words(const AttentionSpec& a) {
  if (a.kind == AttentionKind::mla) {
    return fmt::format("MLA, {} heads, kv rank {}, q rank {}", a.heads, a.kv_lora_rank,
                       a.q_lora_rank);
  }
  return fmt::format("GQA, {} heads, {} kv groups, head size {}", a.heads, a.kv_groups, a.head_dim);
}

std::string moe_words(const ModelSpec& m) {
  if (!m.moe) return "none (dense)";
  return fmt::format("{} of {} layers, top {} of {} experts, expert width {}{}", m.moe_layers(),
                     m.layers, m.moe->top_k, m.moe->experts, m.moe->ffn,
                     m.moe->shared_ffn > 0 ? fmt::format(", shared width {}", m.moe->shared_ffn)
                                           : "");
}

std::string list_words(const std::string& title, const std::vector<std::string>& words) {
  if (words.empty()) return {};
  std::string text = "\n" + title + "\n";
  for (const std::string& word : words) text += "  " + word + "\n";
  return text;
}

JsonValue json_list(const std::vector<std::string>& words) {
  JsonValue list = JsonValue::array();
  for (const std::string& word : words) list.push_back(word);
  return list;
}

}  // namespace

std::string model_text(const HfImport& import, std::int64_t seq_len) {
  const ModelSpec& m = import.model;
  const ParameterCount p = count_parameters(m);
  std::string text = fmt::format(
      "{} ({})\n\n"
      "  layers      {}, hidden {}, vocabulary {}\n"
      "  attention   {}\n"
      "  experts     {}\n\n",
      m.name, m.model_type, m.layers, m.hidden, m.vocab, attention_words(m.attention),
      moe_words(m));
  Table table{{{"parameters", Align::left}, {""}, {"exact"}}, {}};
  const auto row = [&](const std::string& name, std::int64_t n) {
    table.rows.push_back({name, format_billions(n), format_count(n)});
  };
  row("total", p.total);
  row("active per token", p.active);
  row("embedding table", p.embedding);
  row("attention, each layer", p.attention_per_layer);
  row("dense MLP, each layer", p.dense_mlp_per_layer);
  if (m.moe) row("MoE, each layer", p.moe_per_layer);
  if (p.mtp > 0) row("multi-token prediction (not in the total)", p.mtp);
  text += to_text(table);
  const double flops = model_flops_per_token(m, seq_len, FlopsConvention::bridge).base();
  text += fmt::format("\nmodel FLOPs of a token at {} tokens a sequence: {:.2f} GFLOP\n",
                      seq_len, flops / 1e9);
  text += list_words("left out, neither counted nor priced as it is:", m.left_out);
  text += list_words("assumed, not in the file:", import.assumptions);
  text += list_words("in the file, not used:", import.unused_fields);
  return text;
}

std::string model_json(const HfImport& import, std::int64_t seq_len) {
  const ModelSpec& m = import.model;
  const ParameterCount p = count_parameters(m);
  JsonValue parameters = JsonValue::object();
  parameters.set("total", p.total)
      .set("active", p.active)
      .set("embedding", p.embedding)
      .set("attention_per_layer", p.attention_per_layer)
      .set("dense_mlp_per_layer", p.dense_mlp_per_layer)
      .set("moe_per_layer", p.moe_per_layer)
      .set("mtp", p.mtp);
  JsonValue json = JsonValue::object();
  json.set("name", m.name)
      .set("model_type", m.model_type)
      .set("layers", m.layers)
      .set("moe_layers", m.moe_layers())
      .set("hidden", m.hidden)
      .set("vocab", m.vocab)
      .set("experts", m.moe ? m.moe->experts : 0)
      .set("top_k", m.moe ? m.moe->top_k : 0)
      .set("parameters", parameters)
      .set("seq_len", seq_len)
      .set("model_flops_per_token",
           model_flops_per_token(m, seq_len, FlopsConvention::bridge).base())
      .set("left_out", json_list(m.left_out))
      .set("assumptions", json_list(import.assumptions))
      .set("unused_fields", json_list(import.unused_fields));
  return json.dump() + "\n";
}

}  // namespace pleat::cli
