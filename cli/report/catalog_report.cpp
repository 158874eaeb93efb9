// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/report/catalog_report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "console/tables.hpp"
#include "core/json/json_value.hpp"
#include "core/spec/catalog.hpp"
#include "core/units_text.hpp"

namespace pleat::cli {
namespace {

std::int64_t whole_bytes(Bytes b) { return std::llround(b.base()); }

std::string tier_words(const ClusterSpec& cluster) {
  std::string words;
  for (const NetworkTier& tier : cluster.tiers) {
    words += fmt::format("{}{}{} {}", words.empty() ? "" : ", ", tier.name,
                         tier.size > 0 ? fmt::format(" x{}", tier.size) : "",
                         pleat::to_text(tier.bandwidth));
  }
  return words;
}

JsonValue tier_json(const NetworkTier& tier) {
  JsonValue json = JsonValue::object();
  json.set("name", tier.name)
      .set("size", tier.size)
      .set("bytes_per_second", tier.bandwidth.base())
      .set("latency_s", tier.latency.base());
  return json;
}

JsonValue cluster_json(const std::string& name, const ClusterSpec& cluster) {
  JsonValue tiers = JsonValue::array();
  for (const NetworkTier& tier : cluster.tiers) tiers.push_back(tier_json(tier));
  JsonValue json = JsonValue::object();
  json.set("name", name)
      .set("gpu", cluster.gpu.name)
      .set("memory_bytes", whole_bytes(cluster.gpu.memory))
      .set("peak_bf16_flops", cluster.gpu.peak_bf16.base())
      .set("gpus_per_node", cluster.gpus_per_node)
      .set("max_gpus", cluster.max_gpus)
      .set("tiers", tiers);
  return json;
}

std::string listed(const char* what, JsonValue list) {
  return JsonValue::object().set("schema_version", 1).set(what, std::move(list)).dump() + "\n";
}

}  // namespace

std::string models_text() {
  Table table{{{"model", Align::left},
               {"total"},
               {"active"},
               {"layers"},
               {"hidden"},
               {"experts"},
               {"top k"}},
              {}};
  for (const std::string& name : config_names(ConfigKind::model)) {
    const ModelSpec model = load_model(name).model;
    const ParameterCount count = count_parameters(model);
    table.rows.push_back({name, format_billions(count.total), format_billions(count.active),
                          std::to_string(model.layers), std::to_string(model.hidden),
                          model.moe ? std::to_string(model.moe->experts) : "dense",
                          model.moe ? std::to_string(model.moe->top_k) : ""});
  }
  return to_text(table);
}

std::string models_json() {
  JsonValue list = JsonValue::array();
  for (const std::string& name : config_names(ConfigKind::model)) {
    const ModelSpec model = load_model(name).model;
    const ParameterCount count = count_parameters(model);
    JsonValue json = JsonValue::object();
    json.set("name", name)
        .set("total", count.total)
        .set("active", count.active)
        .set("layers", model.layers)
        .set("hidden", model.hidden)
        .set("experts", model.moe ? model.moe->experts : 0)
        .set("top_k", model.moe ? model.moe->top_k : 0);
    list.push_back(json);
  }
  return listed("models", std::move(list));
}

std::string clusters_text() {
  Table table{{{"cluster", Align::left}, {"GPU", Align::left}, {"memory"}, {"bf16 peak"},
               {"a node"}, {"links, per GPU and direction", Align::left}},
              {}};
  for (const std::string& name : config_names(ConfigKind::cluster)) {
    const ClusterSpec cluster = load_cluster(name);
    const FlopsPerSecond peak = cluster.gpu.peak_bf16;
    table.rows.push_back({name, cluster.gpu.name, format_bytes(whole_bytes(cluster.gpu.memory)),
                          peak > FlopsPerSecond(0) ? pleat::to_text(peak) : "none",
                          std::to_string(cluster.gpus_per_node), tier_words(cluster)});
  }
  return to_text(table);
}

std::string clusters_json() {
  JsonValue list = JsonValue::array();
  for (const std::string& name : config_names(ConfigKind::cluster)) {
    list.push_back(cluster_json(name, load_cluster(name)));
  }
  return listed("clusters", std::move(list));
}

}  // namespace pleat::cli
