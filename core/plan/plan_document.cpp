// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Required on reading: the model, sequence length, global batch, cluster and both mappings. Every
// other field has the default of its struct when it is absent; writing leaves none out.
#include "core/plan/plan_document.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/json/object_reader.hpp"
#include "core/json/parse.hpp"
#include "core/plan/resolved_model.hpp"

namespace pleat {
namespace {

constexpr IntRange kDegree{1, 1 << 20};
constexpr std::size_t kRecomputable = 7;  // the first modules of the enum

// Names of the first `count` values of an enum, in order.
template <class Enum>
std::vector<std::string> names_of(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.emplace_back(name_of(static_cast<Enum>(i)));
  return names;
}

const std::vector<std::string> kRuntimes{"pleat", "megatron"};
const std::vector<std::string> kRoutings{"forced", "natural"};

template <class Enum>
void read_choice(ObjectReader& r, const char* key, const std::vector<std::string>& names,
                 Enum& value) {
  if (const auto index = r.optional_choice(key, names)) value = static_cast<Enum>(*index);
}

void read_flag(ObjectReader& r, const char* key, bool& value) {
  value = r.optional_boolean(key).value_or(value);
}

int read_degree(ObjectReader& r, const char* key) {
  return static_cast<int>(r.integer(key, kDegree));
}

void read_degree(ObjectReader& r, const char* key, IntRange range, int& value) {
  if (const auto found = r.optional_integer(key, range)) value = static_cast<int>(*found);
}

JsonValue write_plan(const Plan& p) {
  JsonValue attention = JsonValue::object();
  attention.set("tp", p.attention.tp).set("cp", p.attention.cp).set("dp", p.attention.dp).set(
      "pp", p.attention.pp);
  JsonValue expert = JsonValue::object();
  expert.set("etp", p.expert.etp).set("ep", p.expert.ep).set("edp", p.expert.edp);
  JsonValue recompute = JsonValue::array();
  for (const Module m : p.recompute) recompute.push_back(name_of(m));
  JsonValue overlap = JsonValue::object();
  overlap.set("expert_parallel", p.overlap.expert_parallel)
      .set("delay_wgrad", p.overlap.delay_wgrad)
      .set("grad_reduce", p.overlap.grad_reduce)
      .set("param_gather", p.overlap.param_gather);
  JsonValue optimizer = JsonValue::object();
  optimizer.set("main_grads", name_of(p.optimizer.main_grads))
      .set("main_params", name_of(p.optimizer.main_params))
      .set("exp_avg", name_of(p.optimizer.exp_avg))
      .set("exp_avg_sq", name_of(p.optimizer.exp_avg_sq));
  JsonValue out = JsonValue::object();
  out.set("attention", std::move(attention))
      .set("expert", std::move(expert))
      .set("vpp", p.vpp)
      .set("microbatch_group", p.microbatch_group)
      .set("layout", p.layout)
      .set("micro_batch", p.micro_batch)
      .set("sequence_parallel", p.sequence_parallel)
      .set("precision", name_of(p.precision))
      .set("sharding", name_of(p.sharding))
      .set("dispatcher", name_of(p.dispatcher))
      .set("cuda_graph", name_of(p.cuda_graph))
      .set("recompute", std::move(recompute))
      .set("recompute_full", p.recompute_full)
      .set("overlap", std::move(overlap))
      .set("optimizer", std::move(optimizer));
  return out;
}

void read_recompute(ObjectReader& r, std::set<Module>& modules) {
  const JsonValue::Array* items = r.optional_array("recompute");
  if (items == nullptr) return;
  const std::vector<std::string> names = names_of<Module>(kRecomputable);
  for (std::size_t i = 0; i < items->size(); ++i) {
    const JsonValue& item = (*items)[i];
    const std::string* name = item.as_string();
    const auto found = name ? std::find(names.begin(), names.end(), *name) : names.end();
    if (found != names.end()) {
      if (modules.insert(static_cast<Module>(found - names.begin())).second) continue;
    }
    const std::string near = name ? nearest_name(*name, names) : "";
    const ReaderContext context = r.context();
    context.problems.error(
        ExitCode::bad_file, where_of(context.file_name, item.position()),
        fmt::format("{}[{}]", r.path_of("recompute"), i),
        found != names.end() ? fmt::format("{} is listed twice", *name)
                             : fmt::format("{} is no module to recompute{}", item.brief(),
                                           near.empty() ? "" : "; did you mean " + near + "?"),
        fmt::format("allowed: {}", fmt::join(names, ", ")));
  }
}

void read_overlap(ObjectReader r, OverlapFlags& flags) {
  read_flag(r, "expert_parallel", flags.expert_parallel);
  read_flag(r, "delay_wgrad", flags.delay_wgrad);
  read_flag(r, "grad_reduce", flags.grad_reduce);
  read_flag(r, "param_gather", flags.param_gather);
  r.finish();
}

void read_optimizer(ObjectReader r, OptimizerDTypes& types) {
  const auto names = names_of<DType>(3);  // fp32, bf16, fp8
  read_choice(r, "main_grads", names, types.main_grads);
  read_choice(r, "main_params", names, types.main_params);
  read_choice(r, "exp_avg", names, types.exp_avg);
  read_choice(r, "exp_avg_sq", names, types.exp_avg_sq);
  r.finish();
}

Plan read_plan(ObjectReader r) {
  Plan p;
  ObjectReader attention = r.object("attention");
  p.attention = {.tp = read_degree(attention, "tp"),
                 .cp = read_degree(attention, "cp"),
                 .dp = read_degree(attention, "dp"),
                 .pp = read_degree(attention, "pp")};
  attention.finish();
  ObjectReader expert = r.object("expert");
  p.expert = {.etp = read_degree(expert, "etp"),
              .ep = read_degree(expert, "ep"),
              .edp = read_degree(expert, "edp")};
  expert.finish();
  read_degree(r, "vpp", kDegree, p.vpp);
  read_degree(r, "microbatch_group", {0, kDegree.max}, p.microbatch_group);
  p.layout = r.optional_text("layout").value_or("");
  read_degree(r, "micro_batch", kDegree, p.micro_batch);
  read_flag(r, "sequence_parallel", p.sequence_parallel);
  read_choice(r, "precision", names_of<Precision>(8), p.precision);
  read_choice(r, "sharding", names_of<Sharding>(4), p.sharding);
  read_choice(r, "dispatcher", names_of<Dispatcher>(4), p.dispatcher);
  read_choice(r, "cuda_graph", names_of<CudaGraph>(3), p.cuda_graph);
  read_recompute(r, p.recompute);
  read_flag(r, "recompute_full", p.recompute_full);
  if (auto overlap = r.optional_object("overlap")) read_overlap(*overlap, p.overlap);
  if (auto optimizer = r.optional_object("optimizer")) read_optimizer(*optimizer, p.optimizer);
  r.finish();
  return p;
}

WorkloadSpec read_workload(ObjectReader r) {
  WorkloadSpec w;
  w.seq_len = r.integer("seq_len", {1, 1 << 28});
  w.global_batch = r.integer("global_batch", {1, 1 << 28});
  read_choice(r, "routing", kRoutings, w.routing);
  w.imbalance = r.optional_number("imbalance", {1.0, 1e6}).value_or(w.imbalance);
  r.finish();
  return w;
}

void read_model_section(ObjectReader r, PlanDocument& d) {
  d.model_name = r.text("name");
  d.model_sha256 = r.optional_text("sha256");
  if (d.model_sha256 &&
      (d.model_sha256->size() != 64 ||
       d.model_sha256->find_first_not_of("0123456789abcdef") != std::string::npos)) {
    r.problem("sha256", "must be 64 lower-case hexadecimal digits");
  }
  d.model = read_model(r.object("resolved"));
  r.finish();
}

}  // namespace

std::string write_plan_document(const PlanDocument& d) {
  JsonValue model = JsonValue::object();
  model.set("name", d.model_name);
  if (d.model_sha256) model.set("sha256", *d.model_sha256);
  model.set("resolved", write_model(d.model));
  JsonValue workload = JsonValue::object();
  workload.set("seq_len", d.workload.seq_len)
      .set("global_batch", d.workload.global_batch)
      .set("routing", kRoutings[static_cast<std::size_t>(d.workload.routing)])
      .set("imbalance", d.workload.imbalance);
  JsonValue cluster = JsonValue::object();
  cluster.set("name", d.cluster).set("gpus", d.gpus);
  JsonValue root = JsonValue::object();
  root.set("schema_version", d.schema_version)
      .set("model", std::move(model))
      .set("workload", std::move(workload))
      .set("cluster", std::move(cluster))
      .set("runtime", kRuntimes[static_cast<std::size_t>(d.runtime)])
      .set("plan", write_plan(d.plan));
  if (d.predicted) {
    JsonValue predicted = JsonValue::object();
    predicted.set("step_seconds", d.predicted->step_seconds)
        .set("peak_bytes", d.predicted->peak_bytes);
    root.set("predicted", std::move(predicted));
  }
  root.set("provenance", d.provenance);
  return root.dump() + "\n";
}

PlanDocument read_plan_document(const std::string& text, const std::string& file_name) {
  const JsonValue root = parse_json(text, file_name);
  Diagnostics problems;
  ObjectReader r(root, "", {file_name, problems});
  PlanDocument d;
  r.schema_version(kPlanSchemaVersion);
  read_model_section(r.object("model"), d);
  d.workload = read_workload(r.object("workload"));
  ObjectReader cluster = r.object("cluster");
  d.cluster = cluster.text("name");
  d.gpus = read_degree(cluster, "gpus");
  cluster.finish();
  read_choice(r, "runtime", kRuntimes, d.runtime);
  d.plan = read_plan(r.object("plan"));
  if (auto predicted = r.optional_object("predicted")) {
    d.predicted = PlanPrediction{.step_seconds = predicted->number("step_seconds", {0.0, 1e9}),
                                 .peak_bytes = predicted->integer("peak_bytes", {0, 1LL << 50})};
    predicted->finish();
  }
  d.provenance = r.optional_text("provenance").value_or("");
  r.finish();
  problems.throw_if_errors();
  return d;
}

}  // namespace pleat
