// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/improve/keyed_job.hpp"

#include <algorithm>
#include <map>
#include <string_view>

#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/catalog.hpp"
#include "interop/yaml_text.hpp"

namespace pleat {
namespace {

using interop::KeyedFormat;

// The key of a flag of torchtitan's command line, in a file of TOML.
std::optional<KeyChange> titan_key(const FlagChange& c) {
  std::string path = c.flag.substr(c.flag.starts_with("--") ? 2 : 0);
  std::replace(path.begin(), path.end(), '-', '_');
  if (path.starts_with("activation_checkpoint:")) {
    if (!c.is_given) return std::nullopt;  // the mode that replaces it is another change
    return KeyChange{"activation_checkpoint.mode", path.substr(22)};
  }
  if (path == "parallelism.no_enable_sequence_parallel" || path == "training.disable_cuda_graphs")
    return std::nullopt;  // TOML files are of versions before these
  if (path == "compile.enable_async_tensor_parallel")
    path = "parallelism.enable_async_tensor_parallel";
  if (path == "compile.components") return std::nullopt;
  if (!c.is_given) return KeyChange{path, std::nullopt};
  return KeyChange{path, c.after.empty() ? "true" : c.after.front()};
}

// The key of a member of Megatron-LM: where the file has it, else where such keys stand.
std::string nemo_key(const JsonValue& tree, const std::string& member) {
  static const std::map<std::string_view, std::pair<const char*, const char*>> names{
      {"num_virtual_stages_per_pipeline_rank",
       {"virtual_pipeline_model_parallel_size", "virtual_pipeline_model_parallel_size"}},
      {"recompute_granularity", {"recompute_granularity", "activations_checkpoint_granularity"}},
      {"recompute_method", {"recompute_method", "activations_checkpoint_method"}},
      {"recompute_num_layers", {"recompute_num_layers", "activations_checkpoint_num_layers"}},
      {"tp_comm_overlap", {"tp_comm_overlap", "ub_tp_comm_overlap"}},
      {"overlap_grad_reduce", {"overlap_grad_reduce", "optim.overlap_grad_sync"}},
      {"overlap_param_gather", {"overlap_param_gather", "optim.overlap_param_sync"}}};
  const auto found = names.find(member);
  const bool newer =
      tree.find("trainer") != nullptr && tree.find("trainer")->find("strategy") != nullptr;
  if (!newer) return "model." + (found == names.end() ? member : found->second.second);
  const std::string name = found == names.end() ? member : found->second.first;
  Diagnostics none;
  const interop::KeyReader r(tree, "", none);
  const char* const sections[] = {"trainer.strategy.", "trainer.strategy.ddp.", "data.",
                                  "optim.config.", "model.config."};
  for (const char* section : sections)
    if (r.find(section + name) != nullptr) return section + name;
  const bool mapping = name.find("parallel") != std::string::npos;
  if (name.starts_with("overlap_") && !name.starts_with("overlap_moe"))
    return "trainer.strategy.ddp." + name;
  return (name.ends_with("batch_size") ? "data."
          : mapping                    ? "trainer.strategy."
                                       : "model.config.") +
         name;
}

void erase_at(JsonValue& tree, const std::string& path) {
  Diagnostics none;
  if (interop::KeyReader(tree, "", none).find(path) != nullptr)
    interop::set_at(tree, path, JsonValue());
}

}  // namespace

std::optional<KeyedFormat> keyed_format(const std::string& file, const std::string& text) {
  if (file.ends_with(".toml")) return KeyedFormat::torchtitan;
  if (file.ends_with(".json")) {
    const JsonValue root = parse_json(text, file);
    const bool plan = root.find("plan") != nullptr && root.find("schema_version") != nullptr;
    return plan ? std::nullopt : std::optional(KeyedFormat::deepspeed);
  }
  if (!file.ends_with(".yaml") && !file.ends_with(".yml")) return std::nullopt;
  const JsonValue root = interop::read_yaml(text, file);
  const bool nemo = root.find("trainer") != nullptr && root.find("model") != nullptr;
  return nemo ? std::optional(KeyedFormat::nemo) : std::nullopt;
}

KeyedJob::KeyedJob(KeyedFormat format, const JobFiles& files, std::int64_t seq_len,
                   std::string text)
    : format_(format), name_(files.files.front()), text_(std::move(text)) {
  if (files.files.size() > 1)
    throw_config_error(ExitCode::bad_request, "FILE", "",
                       std::string("a configuration of ") + framework() + " stands alone",
                       "one file");
  choices_.gpus = files.gpus;
  choices_.vocab = files.vocab;
  choices_.seq_len = seq_len;
  if (!files.model.empty()) choices_.model = load_model(files.model).model;
  tree_ = interop::read_keys(format_, text_, name_);
  read_ = interop::import_keys(format_, text_, choices_, name_);
  choices_.gpus = read_.run.document.gpus;
}

const char* KeyedJob::framework() const {
  switch (format_) {
    case KeyedFormat::torchtitan:
      return "torchtitan";
    case KeyedFormat::deepspeed:
      return "DeepSpeed";
    case KeyedFormat::nemo:
      return "NeMo";
  }
  return "";
}

interop::Target KeyedJob::target() const {
  switch (format_) {
    case KeyedFormat::torchtitan:
      return interop::Target::torchtitan;
    case KeyedFormat::deepspeed:
      return interop::Target::deepspeed;
    case KeyedFormat::nemo:
      break;
  }
  return interop::Target::megatron;
}

// What the file has now runs, whatever an export would say of it.
std::string KeyedJob::refusal(const PlanDocument& d) const {
  const PlanDocument& now = read_.run.document;
  if (format_ == KeyedFormat::nemo) {  // beside Megatron-LM's own rules
    const bool graph = d.plan.cuda_graph != now.plan.cuda_graph;
    return graph ? "plan.cuda_graph: its graphs are chosen in Python" : "";
  }
  for (const interop::Refusal& r : interop::refusals(target()))
    if (r.applies({d}) && !r.applies({now})) return std::string(r.path) + ": " + r.message;
  return "";
}

std::vector<FlagChange> KeyedJob::in_keys(const std::vector<FlagChange>& flags) const {
  std::vector<FlagChange> out;
  for (FlagChange c : flags) {
    if (format_ == KeyedFormat::nemo) {
      std::string member = c.flag.substr(2);
      std::replace(member.begin(), member.end(), '-', '_');
      c.flag = nemo_key(tree_, member);
    } else if (format_ == KeyedFormat::torchtitan) {
      const auto key = titan_key(c);
      if (!key) continue;
      if (c.flag.starts_with("activation")) c.after = {key->value.value_or("none")};
      c.flag = key->path;
    }
    out.push_back(std::move(c));
  }
  return out;
}

std::vector<KeyChange> KeyedJob::changes_to(const PlanDocument& d) const {
  std::vector<KeyChange> out;
  PlanDocument now = read_.run.document;
  for (const FlagChange& c : flag_changes(now, d, target())) {
    switch (format_) {
      case KeyedFormat::torchtitan:
        if (const auto key = titan_key(c)) out.push_back(*key);
        break;
      case KeyedFormat::deepspeed:
        out.push_back({c.flag, c.is_given ? std::optional(c.after.front()) : std::nullopt});
        break;
      case KeyedFormat::nemo: {
        std::string member = c.flag.substr(2);
        std::replace(member.begin(), member.end(), '-', '_');
        if (member == "te_rng_tracker" || member.starts_with("no_check_for_nan")) break;
        std::string value = c.after.empty() ? "true" : c.after.front();
        if (c.after.size() > 1) {
          value = "[";
          for (const std::string& v : c.after) value += (value.size() > 1 ? ", " : "") + v;
          value += "]";
        }
        const bool off = !c.is_given && c.before.empty();  // a switch
        out.push_back({nemo_key(tree_, member), c.is_given ? std::optional(value)
                                                : off      ? std::optional<std::string>("false")
                                                           : std::nullopt});
      }
    }
  }
  return out;
}

bool KeyedJob::can_say(const PlanDocument& d) const {
  if (!refusal(d).empty()) return false;
  JsonValue tree = tree_;
  for (const KeyChange& c : changes_to(d)) {
    if (!c.value) {
      erase_at(tree, c.path);
      continue;
    }
    std::string value = *c.value;
    if (value.starts_with('[')) {
      JsonValue list = JsonValue::array();
      value = value.substr(1, value.size() - 2);
      while (!value.empty()) {
        const std::size_t comma = std::min(value.find(", "), value.size());
        list.push_back(value.substr(0, comma));
        value.erase(0, comma + 2);
      }
      interop::set_at(tree, c.path, std::move(list));
      continue;
    }
    std::erase(value, '"');
    interop::set_at(tree, c.path, value);
  }
  try {
    Diagnostics problems;
    const interop::KeyReader r(tree, name_, problems);
    const interop::ImportedRun run =
        format_ == KeyedFormat::torchtitan  ? interop::import_titan(r, choices_)
        : format_ == KeyedFormat::deepspeed ? interop::import_deepspeed(r, choices_)
                                            : interop::import_nemo(r, choices_);
    return !problems.has_errors() && run.document.plan == d.plan &&
           run.document.workload == d.workload;
  } catch (const ConfigError&) {
    return false;
  }
}

std::string KeyedJob::file_for(const PlanDocument& d) const {
  const KeySyntax syntax = format_ == KeyedFormat::torchtitan  ? KeySyntax::toml
                           : format_ == KeyedFormat::deepspeed ? KeySyntax::json
                                                               : KeySyntax::yaml;
  return change_keys(text_, syntax, changes_to(d));
}

interop::KeyedRun KeyedJob::read_again(const std::string& text) const {
  return interop::import_keys(format_, text, choices_, name_);
}

}  // namespace pleat
