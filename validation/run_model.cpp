// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "validation/run_model.hpp"

#include <algorithm>
#include <cctype>

#include "core/spec/catalog.hpp"

namespace pleat {
namespace {

// "llama-3.1-405b" and "llama3.1-405b" are one name.
std::string letters_of(const std::string& name) {
  std::string letters;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.') {
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return letters;
}

std::string shipped_name(const std::string& name) {
  const std::vector<std::string> names = config_names(ConfigKind::model);
  if (std::find(names.begin(), names.end(), name) != names.end()) return name;
  for (const std::string& shipped : names) {
    if (letters_of(shipped) == letters_of(name)) return shipped;
  }
  return name;
}

ModelSpec read_inline(const MeasuredRun& run) {
  JsonValue config = run.model;
  // A learned position table is as long as the sequence where its length is left out.
  const JsonValue* type = config.find("model_type");
  if (type != nullptr && *type == JsonValue("gpt2") && config.find("n_positions") == nullptr) {
    const JsonValue* longest = config.find("max_position_embeddings");
    config.set("n_positions", longest != nullptr ? *longest : JsonValue(run.seq_len));
  }
  return read_hf_config(config.dump(), run.where + ": model", run.model_name).model;
}

}  // namespace

void cut_depth(ModelSpec& m, std::int64_t layers) {
  if (layers == m.layers) return;
  const auto depth = static_cast<std::size_t>(layers);
  const auto resize = [depth](auto& list) {
    if (!list.empty()) list.resize(depth, list.back());
  };
  m.layers = layers;
  resize(m.moe_layer);
  resize(m.layer_traits);
}

ModelSpec model_of_run(const MeasuredRun& run) {
  ModelSpec m = run.model.is_null() ? load_model(shipped_name(run.model_name)).model
                                    : read_inline(run);
  if (run.num_layers) cut_depth(m, *run.num_layers);
  if (run.mtp_layers) m.mtp_layers = *run.mtp_layers;
  if (run.dense_layers && m.moe) {
    for (std::int64_t l = 0; l < m.layers; ++l) {
      m.moe_layer[static_cast<std::size_t>(l)] = l >= *run.dense_layers;
    }
  }
  return m;
}

}  // namespace pleat
