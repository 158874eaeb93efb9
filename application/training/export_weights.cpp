// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/training/export_weights.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "backend/checkpoint/hf_weight_map.hpp"
#include "backend/checkpoint/hf_weights.hpp"
#include "backend/checkpoint/restore.hpp"
#include "backend/init.hpp"
#include "console/output.hpp"
#include "console/write_file.hpp"
#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/catalog.hpp"

namespace pleat {
namespace {

using ReadWeight = std::function<void(const std::string&, std::span<float>)>;

ElementType type_of(const std::string& dtype) {
  if (dtype == "bf16") return ElementType::bf16;
  return dtype == "fp16" ? ElementType::f16 : ElementType::f32;
}

void require_empty(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) return;
  const bool empty = std::filesystem::is_empty(folder, error);
  if (error) throw_config_error(ExitCode::device_or_io, folder, "", error.message());
  if (!empty) throw_config_error(ExitCode::refused, folder, "", "is not empty", "a new folder");
}

// The weights that `pleat train` starts from.
ReadWeight weights_of_seed(const ModelSpec& model, std::uint64_t seed) {
  Plan plan;
  plan.precision = Precision::fp32;
  const Program program = compile(model, {.seq_len = 1, .global_batch = 1}, plan, Runtime::pleat);
  return [values = initial_values(program), seed](const std::string& name, std::span<float> out) {
    fill_initial(values.at(name), name, seed, 0, out);
  };
}

}  // namespace

void export_weights(const ExportWeightsOptions& o) {
  if (o.model.empty() && o.from.empty()) {
    throw_config_error(ExitCode::bad_request, "--model", "", "is required without --from",
                       "`pleat models` lists what ships");
  }
  const std::string config =
      o.model.empty() ? o.from + "/config.json" : config_path(ConfigKind::model, o.model);
  const ModelSpec model = load_model(config).model;
  require_known_weights(model);
  std::optional<HfWeights> weights;
  std::optional<SavedWeights> saved;
  ReadWeight read;
  if (!o.checkpoint.empty()) {
    saved.emplace(o.checkpoint);
    read = [&saved](const std::string& name, std::span<float> out) { saved->read(name, out); };
  } else if (o.from.empty()) {
    read = weights_of_seed(model, o.seed);
  } else {
    weights.emplace(o.from, model);
    read = [&weights](const std::string& name, std::span<float> out) { weights->read(name, out); };
  }
  require_empty(o.folder);
  const std::string what = fmt::format("{}: {} in {}", o.folder, model.name, o.dtype);
  if (only_said(what)) return;
  make_folder(o.folder);
  export_hf_weights(
      o.folder, model,
      {.type = type_of(o.dtype), .shard_bytes = static_cast<std::uint64_t>(o.shard_gb * 1e9)},
      read);
  write_text_file(o.folder + "/config.json", read_text_file(config));
  note("wrote " + what);
}

}  // namespace pleat
