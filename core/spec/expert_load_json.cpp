// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/expert_load_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace pleat {
namespace {

std::optional<int> layer_number(const std::string& key) {
  int layer = 0;
  const char* const end = key.data() + key.size();
  const auto parsed = std::from_chars(key.data(), end, layer);
  const bool plain = key == "0" || (!key.empty() && key.front() != '0' && key.front() != '-');
  if (parsed.ec != std::errc() || parsed.ptr != end || !plain) return std::nullopt;
  return layer;
}

bool has_experts(const ModelSpec& model, int layer) {
  if (layer < model.layers) return model.is_moe(layer);
  return layer > model.layers && layer <= model.layers + model.mtp_layers &&
         model.is_moe(model.layers - 1);
}

std::optional<double> load_of(const JsonValue& value) {
  const double* number = value.as_double();
  const std::int64_t* integer = value.as_integer();
  if (number == nullptr && integer == nullptr) return std::nullopt;
  const double load = number != nullptr ? *number : static_cast<double>(*integer);
  if (!std::isfinite(load) || load < 0 || load > 1e15) return std::nullopt;
  return load;
}

// Nothing after a problem.
std::vector<double> read_loads(ObjectReader& r, const std::string& key, std::int64_t experts) {
  const JsonValue::Array* items = r.optional_array(key);
  if (items == nullptr) return {};
  if (static_cast<std::int64_t>(items->size()) != experts) {
    r.problem(key, fmt::format("has {} loads, the model has {} experts", items->size(), experts),
              "one number for each expert");
    return {};
  }
  std::vector<double> loads;
  double sum = 0;
  for (std::size_t e = 0; e < items->size(); ++e) {
    const std::optional<double> load = load_of((*items)[e]);
    if (!load) {
      r.problem(key, fmt::format("the load of expert {} is {}", e, (*items)[e].brief()),
                "a number from 0 to 1e15");
      return {};
    }
    loads.push_back(*load);
    sum += *load;
  }
  if (sum <= 0) {
    r.problem(key, "all loads are 0", "tokens of each expert, or shares of them");
    return {};
  }
  return loads;
}

}  // namespace

JsonValue write_expert_loads(const std::vector<ExpertLoads>& all) {
  JsonValue json = JsonValue::object();
  for (const ExpertLoads& layer : all) {
    JsonValue loads = JsonValue::array();
    for (const double load : layer.of) {
      if (load == std::floor(load)) {
        loads.push_back(static_cast<std::int64_t>(load));
      } else {
        loads.push_back(load);
      }
    }
    json.set(std::to_string(layer.layer), std::move(loads));
  }
  return json;
}

std::vector<ExpertLoads> read_expert_loads(ObjectReader r, const ModelSpec& model) {
  std::vector<ExpertLoads> all;
  if (!r.is_object()) {
    r.problem("", "must be an object with loads by layer", "{\"3\": [812, 790, …], …}");
    return all;
  }
  if (!model.moe) {
    if (!r.members().empty()) r.problem("", "the model has no experts");
    return all;
  }
  std::vector<std::string> keys;
  for (const JsonMember& m : r.members()) keys.push_back(m.key);
  for (const std::string& key : keys) {
    const std::optional<int> layer = layer_number(key);
    if (!layer || !has_experts(model, *layer)) {
      r.problem(key, "is no layer with experts of this model",
                fmt::format("decoder layers count from 0 to {}, prediction depths from {}",
                            model.layers - 1, model.layers + 1));
      r.find(key);
      continue;
    }
    ExpertLoads loads{*layer, read_loads(r, key, model.moe->experts)};
    if (!loads.of.empty()) all.push_back(std::move(loads));
  }
  std::ranges::sort(all, {}, &ExpertLoads::layer);
  for (int layer = 0; !keys.empty() && layer < model.layers; ++layer) {
    if (!model.is_moe(layer) || r.has(std::to_string(layer))) continue;
    r.problem("", fmt::format("layer {} has experts and no loads", layer),
              "loads of every decoder layer with experts");
    break;
  }
  return all;
}

}  // namespace pleat
