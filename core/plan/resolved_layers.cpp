// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The layers of a model that differ, in a plan file.
#include <fmt/format.h>

#include <map>

#include "core/json/parse.hpp"
#include "core/plan/resolved_model.hpp"

namespace pleat {
namespace {

// In the order of the enum.
const std::vector<std::string> kMixerNames{"attention", "gated_delta_net", "kimi_delta", "mamba2",
                                           "mamba1",    "short_conv",      "none"};
constexpr IntRange kSize{1, 1 << 20};
constexpr IntRange kReach{0, 1 << 30};

JsonValue write_traits(const LayerTraits& t) {
  JsonValue out = JsonValue::object();
  out.set("mixer", kMixerNames[static_cast<std::size_t>(t.mixer)])
      .set("mlp", t.mlp)
      .set("window", t.window)
      .set("chunked", t.chunked)
      .set("sparse", t.sparse)
      .set("own_indexer", t.own_indexer)
      .set("compression", t.compression);
  return out;
}

LayerTraits read_traits(ObjectReader& r, const ModelSpec& m) {
  LayerTraits t;
  t.mixer = static_cast<Mixer>(r.choice("mixer", kMixerNames));
  t.mlp = r.boolean("mlp");
  t.window = r.integer("window", kReach);
  t.chunked = r.boolean("chunked");
  t.sparse = r.boolean("sparse");
  t.own_indexer = r.boolean("own_indexer");
  t.compression = r.integer("compression", kReach);
  const bool recurrent = t.mixer != Mixer::attention && t.mixer != Mixer::none;
  if (recurrent && !m.recurrence) r.problem("mixer", "the model has no recurrence");
  if (t.sparse && m.attention.index_top_k == 0)
    r.problem("sparse", "the attention has no indexer (index_top_k)");
  return t;
}

RecurrenceSpec read_recurrence(ObjectReader r) {
  RecurrenceSpec s;
  s.key_heads = r.integer("key_heads", kSize);
  s.value_heads = r.integer("value_heads", kSize);
  s.key_dim = r.integer("key_dim", kSize);
  s.value_dim = r.integer("value_dim", kSize);
  s.conv = r.integer("conv", kSize);
  s.gate_rank = r.optional_integer("gate_rank", kSize).value_or(0);
  s.step_rank = r.optional_integer("step_rank", kSize).value_or(0);
  s.inner_norms = r.optional_boolean("inner_norms").value_or(false);
  r.finish();
  return s;
}

}  // namespace

void write_layer_kinds(JsonValue& out, const ModelSpec& m) {
  if (m.recurrence) {
    JsonValue r = JsonValue::object();
    r.set("key_heads", m.recurrence->key_heads)
        .set("value_heads", m.recurrence->value_heads)
        .set("key_dim", m.recurrence->key_dim)
        .set("value_dim", m.recurrence->value_dim)
        .set("conv", m.recurrence->conv);
    if (m.recurrence->gate_rank > 0) r.set("gate_rank", m.recurrence->gate_rank);
    if (m.recurrence->step_rank > 0) r.set("step_rank", m.recurrence->step_rank);
    if (m.recurrence->inner_norms) r.set("inner_norms", true);
    out.set("recurrence", std::move(r));
  }
  if (!m.layer_traits.empty()) {
    std::map<LayerTraits, JsonValue> layers;
    for (std::size_t l = 0; l < m.layer_traits.size(); ++l) {
      layers.try_emplace(m.layer_traits[l], JsonValue::array()).first->second.push_back(l);
    }
    JsonValue kinds = JsonValue::array();
    for (auto& [traits, list] : layers) {
      JsonValue kind = write_traits(traits);
      kind.set("layers", std::move(list));
      kinds.push_back(std::move(kind));
    }
    out.set("layer_kinds", std::move(kinds));
  }
  if (m.mtp_traits != LayerTraits{}) out.set("mtp_kind", write_traits(m.mtp_traits));
}

void read_layer_kinds(ObjectReader& r, ModelSpec& m) {
  if (auto recurrence = r.optional_object("recurrence"))
    m.recurrence = read_recurrence(*recurrence);
  if (r.optional_array("layer_kinds") != nullptr) {
    m.layer_traits.assign(static_cast<std::size_t>(m.layers), {});
    std::vector<bool> named(m.layer_traits.size(), false);
    r.each_object("layer_kinds", [&](ObjectReader kind) {
      const LayerTraits traits = read_traits(kind, m);
      for (const JsonValue& item : kind.array("layers")) {
        const std::int64_t* layer = item.as_integer();
        if (layer == nullptr || *layer < 0 || *layer >= m.layers) {
          kind.problem("layers",
                       fmt::format("{} is not a layer, from 0 to {}", item.brief(), m.layers - 1));
          continue;
        }
        const auto at = static_cast<std::size_t>(*layer);
        if (named[at]) kind.problem("layers", fmt::format("layer {} is listed twice", *layer));
        named[at] = true;
        m.layer_traits[at] = traits;
      }
      kind.finish();
    });
  }
  if (auto kind = r.optional_object("mtp_kind")) {
    m.mtp_traits = read_traits(*kind, m);
    kind->finish();
  }
}

}  // namespace pleat
