// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Required on reading: the model, sequence length, global batch, cluster and plan. Every other
// field has the default of its struct when it is absent; writing leaves none out but loads of
// experts where nothing is known of them.
#include "core/plan/plan_document.hpp"

#include <fmt/format.h>

#include "core/json/object_reader.hpp"
#include "core/json/parse.hpp"
#include "core/plan/plan_fields.hpp"
#include "core/plan/resolved_model.hpp"
#include "core/spec/expert_load_json.hpp"

namespace pleat {
namespace {

const std::vector<std::string> kRuntimes{"pleat", "megatron"};
const std::vector<std::string> kRoutings{"forced", "natural"};

template <class Enum>
void read_choice(ObjectReader& r, const char* key, const std::vector<std::string>& names,
                 Enum& value) {
  if (const auto index = r.optional_choice(key, names)) value = static_cast<Enum>(*index);
}

constexpr IntRange kTokens{1, 1 << 28};

std::vector<std::int64_t> read_documents(ObjectReader& r) {
  std::vector<std::int64_t> lengths;
  const JsonValue::Array* items = r.optional_array("documents");
  for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
    const std::int64_t* length = (*items)[i].as_integer();
    if (length && *length >= kTokens.min && *length <= kTokens.max) lengths.push_back(*length);
    else r.problem(fmt::format("documents[{}]", i), "must be a length in tokens, at least 1");
  }
  return lengths;
}

WorkloadSpec read_workload(ObjectReader r, const ModelSpec& model) {
  WorkloadSpec w;
  w.seq_len = r.integer("seq_len", kTokens);
  w.global_batch = r.integer("global_batch", {1, 1 << 28});
  read_choice(r, "routing", kRoutings, w.routing);
  w.capacity_factor = r.optional_number("capacity_factor", {0.0, 1e6}).value_or(w.capacity_factor);
  w.pad_to_capacity = r.optional_boolean("pad_to_capacity").value_or(w.pad_to_capacity);
  w.straggler_slowdown =
      r.optional_number("straggler_slowdown", {0.0, 1e3}).value_or(w.straggler_slowdown);
  w.unbound_ranks = r.optional_boolean("unbound_ranks").value_or(w.unbound_ranks);
  w.documents = read_documents(r);
  w.imbalance = r.optional_number("imbalance", {1.0, 1e6}).value_or(w.imbalance);
  w.expert_spread = r.optional_number("expert_spread", {0.0, 1e3}).value_or(w.expert_spread);
  if (auto loads = r.optional_object("expert_loads")) {
    w.expert_loads = read_expert_loads(*loads, model);
  }
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

JsonValue plan_document_json(const PlanDocument& d) {
  JsonValue model = JsonValue::object();
  model.set("name", d.model_name);
  if (d.model_sha256) model.set("sha256", *d.model_sha256);
  model.set("resolved", write_model(d.model));
  JsonValue workload = JsonValue::object();
  workload.set("seq_len", d.workload.seq_len)
      .set("global_batch", d.workload.global_batch)
      .set("routing", kRoutings[static_cast<std::size_t>(d.workload.routing)])
      .set("capacity_factor", d.workload.capacity_factor)
      .set("pad_to_capacity", d.workload.pad_to_capacity)
      .set("imbalance", d.workload.imbalance)
      .set("straggler_slowdown", d.workload.straggler_slowdown);
  JsonValue documents = JsonValue::array();
  for (const std::int64_t length : d.workload.documents) documents.push_back(length);
  workload.set("documents", std::move(documents));
  if (d.workload.unbound_ranks) workload.set("unbound_ranks", true);
  if (d.workload.expert_spread > 0) workload.set("expert_spread", d.workload.expert_spread);
  if (!d.workload.expert_loads.empty()) {
    workload.set("expert_loads", write_expert_loads(d.workload.expert_loads));
  }
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
  return root;
}

std::string write_plan_document(const PlanDocument& d) {
  return plan_document_json(d).dump() + "\n";
}

PlanDocument read_plan_document(const std::string& text, const std::string& file_name) {
  const JsonValue root = parse_json(text, file_name);
  Diagnostics problems;
  ObjectReader r(root, "", {file_name, problems});
  PlanDocument d;
  r.schema_version(kPlanSchemaVersion);
  read_model_section(r.object("model"), d);
  d.workload = read_workload(r.object("workload"), d.model);
  ObjectReader cluster = r.object("cluster");
  d.cluster = cluster.text("name");
  d.gpus = static_cast<int>(cluster.integer("gpus", {1, 1 << 20}));
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
