// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "validation/measured_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/plan/plan_switches.hpp"
#include "core/environment.hpp"
#include "core/json/object_reader.hpp"
#include "core/json/parse.hpp"
#include "core/quantity.hpp"

namespace pleat {
namespace {

constexpr IntRange kStatedDegree{1, 1 << 24};
constexpr IntRange kBatch{1, 1 << 28};
constexpr IntRange kLayers{0, 1 << 16};
constexpr DoubleRange kPositive{0.0, 1e30, true};

std::optional<int> degree(ObjectReader& r, const char* key) {
  if (const auto found = r.optional_integer(key, kStatedDegree)) return static_cast<int>(*found);
  return std::nullopt;
}

// Strings of an array, or one string alone; other items are problems.
std::vector<std::string> words_of(ObjectReader& r, const char* key) {
  std::vector<std::string> words;
  const JsonValue* value = r.find(key);
  if (value == nullptr || value->is_null()) return words;
  if (const std::string* word = value->as_string()) return {*word};
  if (!value->is_array()) r.problem(key, "must be a string or an array of strings");
  for (std::size_t i = 0; i < value->items().size(); ++i) {
    if (const std::string* word = value->items()[i].as_string()) words.push_back(*word);
    else r.problem(fmt::format("{}[{}]", key, i), "must be a string");
  }
  return words;
}

OptimizerWords read_optimizer(ObjectReader r) {
  return {.main_grads = r.optional_text("main_grads"),
          .main_params = r.optional_text("main_params"),
          .exp_avg = r.optional_text("exp_avg"),
          .exp_avg_sq = r.optional_text("exp_avg_sq"),
          .grad_reduce = r.optional_text("grad_reduce"),
          .precision_aware = r.optional_boolean("precision_aware"),
          .grad_reduce_fp32 = r.optional_boolean("grad_reduce_fp32"),
          .fp8_param_gather = r.optional_boolean("fp8_param_gather")};
}

PlanWords read_plan_words(ObjectReader r) {
  PlanWords p;
  p.micro_batch = degree(r, "micro_batch");
  p.tp = degree(r, "tp");
  p.pp = degree(r, "pp");
  p.cp = degree(r, "cp");
  p.vpp = degree(r, "vpp");
  p.ep = degree(r, "ep");
  p.etp = degree(r, "etp");
  p.fsdp_group = degree(r, "fsdp_group");
  p.cp_a2a = degree(r, "cp_a2a");
  p.optimizer_instances = degree(r, "optimizer_instances");
  p.dispatcher_sms = degree(r, "dispatcher_sms");
  if (const auto elements = r.optional_integer("ddp_bucket_size", kBucketElements)) {
    p.ddp_bucket_size = static_cast<int>(*elements);
  }
  p.sharding = r.optional_text("sharding");
  p.precision = r.optional_text("precision");
  p.dispatcher = r.optional_text("dispatcher");
  p.cuda_graph = r.optional_text("cuda_graph");
  p.layout = r.optional_text("layout");
  p.cp_comm = r.optional_text("cp_comm");
  p.schedule = r.optional_text("schedule");
  if (auto recompute = r.optional_object("recompute")) {
    p.recompute = RecomputeWords{.granularity = recompute->optional_text("granularity").value_or(
                                     "none"),
                                 .modules = words_of(*recompute, "modules"),
                                 .num_layers = recompute->optional_integer("num_layers", kLayers)};
  }
  p.offload = words_of(r, "offload");
  for_each_switch([&](auto i) {
    std::string key(kPlanField<i>.typed.flag);
    std::ranges::replace(key, '-', '_');
    p.switches[i] = r.optional_boolean(key);
  });
  constexpr std::size_t gather = kPlanRow<&Plan::overlap, &OverlapFlags::param_gather>;
  if (const auto stated = r.optional_boolean("param_gather_overlap")) p.switches[gather] = stated;
  if (auto types = r.optional_object("optimizer_dtypes")) p.optimizer = read_optimizer(*types);
  return p;
}

Measurement read_measurement(ObjectReader r) {
  Measurement m;
  m.step_time_s = r.optional_number("step_time_s", kPositive);
  m.tflops_per_gpu = r.optional_number("tflops_per_gpu", kPositive);
  m.mfu = r.optional_number("mfu", kPositive);
  const auto gib = r.optional_number("peak_allocated_gib", kPositive);
  const auto gb = r.optional_number("peak_allocated_gb", kPositive);
  const auto reserved = r.optional_number("peak_reserved_gb", kPositive);
  const auto device = r.optional_number("peak_device_gb", kPositive);
  if (gib) m.peak_bytes = *gib * kGiB;
  else if (gb) m.peak_bytes = *gb * 1e9;
  else if (reserved) m.peak_bytes = *reserved * 1e9;
  else if (device) m.peak_bytes = *device * 1e9;
  if (!gib && !gb) m.peak_kind = reserved ? PeakKind::reserved : PeakKind::device;
  return m;
}

std::vector<std::pair<std::string, double>> read_peers(ObjectReader& r, const char* key,
                                                       double unit) {
  std::vector<std::pair<std::string, double>> peers;
  auto object = r.optional_object(key);
  if (!object) return peers;
  for (const JsonMember& member : object->members()) {
    if (const auto value = object->optional_number(member.key, kPositive)) {
      peers.emplace_back(member.key, *value * unit);
    }
  }
  return peers;
}

// Its "name", else family and size: "gpt2 24 x 1024".
std::string name_of_config(const JsonValue& config) {
  const auto text = [&](const char* key) {
    const JsonValue* value = config.find(key);
    if (value == nullptr) return std::string();
    const std::string* const word = value->as_string();
    return word != nullptr ? *word : value->dump(0);
  };
  const std::string name = text("name");
  if (!name.empty()) return name;
  return fmt::format("{} {} x {}", text("model_type"), text("num_hidden_layers"),
                     text("hidden_size"));
}

void read_model(ObjectReader& r, MeasuredRun& run) {
  const JsonValue* model = r.find("model");
  if (model == nullptr || model->is_null()) return r.problem("model", "missing");
  if (const std::string* name = model->as_string()) {
    run.model_name = *name;
  } else if (model->is_object()) {
    run.model = *model;
    run.model_name = name_of_config(*model);
  } else {
    r.problem("model", "must be the name of a shipped model or a Hugging Face object");
  }
  if (auto overrides = r.optional_object("overrides")) {
    run.num_layers = overrides->optional_integer("num_layers", {1, kLayers.max});
    run.mtp_layers = overrides->optional_integer("mtp_layers", {0, 64});
    run.dense_layers = overrides->optional_integer("dense_layers", kLayers);
  }
}

// What makes two runs runs of the same thing.
std::string settings_text(const JsonValue& row) {
  std::string text;
  for (const char* key : {"runtime", "model", "overrides", "cluster", "gpus", "workload", "plan"}) {
    if (const JsonValue* value = row.find(key)) text += value->dump(0) + "\n";
  }
  return text;
}

MeasuredRun read_run(const JsonValue& root, const std::string& file_name, int line,
                     Diagnostics& problems) {
  ObjectReader r(root, "", {file_name, problems});
  MeasuredRun run;
  run.where = fmt::format("{}:{}", file_name, line);
  run.id = r.text("id");
  const auto text = [&r](const char* key) { return r.optional_text(key).value_or(""); };
  run.tier = text("tier");
  run.source = text("source");
  run.era = text("era");
  run.runtime = r.optional_text("runtime").value_or("megatron");
  run.group = text("group");
  run.flops_convention = text("flops_convention");
  run.notes = text("notes");
  run.headline = text("headline");
  read_model(r, run);
  run.cluster = r.text("cluster");
  run.gpus = static_cast<int>(r.integer("gpus", kStatedDegree));
  ObjectReader workload = r.object("workload");
  run.seq_len = workload.integer("seq_len", kBatch);
  run.global_batch = workload.integer("global_batch", kBatch);
  run.routing = workload.optional_text("routing");
  run.optimizer = workload.optional_text("optimizer");
  run.unbound_ranks = workload.optional_boolean("unbound_ranks").value_or(false);
  if (auto plan = r.optional_object("plan")) run.plan = read_plan_words(*plan);
  if (auto measured = r.optional_object("measured")) run.measured = read_measurement(*measured);
  run.flop_per_token = r.optional_number("flop_per_token", kPositive);
  run.peers_s = read_peers(r, "peers_predicted_s", 1.0);
  run.peers_peak_bytes = read_peers(r, "peers_predicted_peak_gib", kGiB);
  run.settings = settings_text(root);
  return run;
}

void require_unique(const std::vector<MeasuredRun>& runs, Diagnostics& problems) {
  std::set<std::string> seen;
  for (const MeasuredRun& run : runs) {
    if (run.id.empty() || seen.insert(run.id).second) continue;
    problems.error(ExitCode::bad_file, run.where, "id", run.id + " is the id of an earlier row");
  }
}

}  // namespace

std::vector<MeasuredRun> read_runs(const std::string& text, const std::string& file_name) {
  std::vector<MeasuredRun> runs;
  Diagnostics problems;
  int line = 0;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string row = text.substr(begin, end - begin);
    begin = end + 1;
    if (row.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {  // blank lines before it, so that positions are the file's
      const JsonValue root =
          parse_json(std::string(static_cast<std::size_t>(line), '\n') + row, file_name);
      runs.push_back(read_run(root, file_name, line + 1, problems));
    } catch (const ConfigError& e) {
      for (const Diagnostic& d : e.diagnostics()) problems.add(d);
    }
  }
  if (runs.empty() && !problems.has_errors()) {
    problems.error(ExitCode::bad_file, file_name, "", "has no rows", "one JSON object a line");
  }
  require_unique(runs, problems);
  problems.throw_if_errors();
  return runs;
}

std::vector<std::string> shipped_run_files() {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  std::error_code none;
  const fs::path folder = fs::path(config_directory()) / "validation";
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace pleat
