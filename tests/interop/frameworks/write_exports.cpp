// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Writes what the frameworks are to read: one line of JSON an export, of every shipped model, of
// plans that searches find and of random ones, for every target. Beside the settings stands what
// the plan itself says of degrees, microbatches, layers and parameters.
//
//   interop_write_exports FILE [random plans a model [only models with this in their names]]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "core/diagnostics.hpp"
#include "core/plan/layout.hpp"
#include "core/program/program.hpp"
#include "core/spec/catalog.hpp"
#include "interop/exported.hpp"
#include "planner/search/search.hpp"
#include "tests/interop/random_plans.hpp"

namespace pleat::interop_test {
namespace {

using namespace interop;

constexpr Target kTargets[] = {Target::megatron, Target::megatron_bridge, Target::torchtitan,
                               Target::deepspeed};
constexpr const char* kNames[] = {"megatron", "megatron-bridge", "torchtitan", "deepspeed"};

struct Document {
  PlanDocument plan;
  const char* kind;  // how it was found
};

// Enough GPUs for the model's state.
int gpus_for(const ModelSpec& model) {
  const auto parameters = static_cast<double>(count_parameters(model).total);
  return parameters < 2e10 ? 16 : parameters < 1e11 ? 64 : parameters < 4e11 ? 256 : 512;
}

struct Search {
  const char* kind;
  const char* cluster;
  Precision precision;
  void (*pin)(SearchConfig&);
};

const Search kSearches[] = {
    {"found", "h100-sxm", Precision::bf16, [](SearchConfig&) {}},
    {"found", "gb200-nvl72", Precision::mxfp8, [](SearchConfig&) {}},
    {"found for FSDP2", "h100-sxm", Precision::bf16,
     [](SearchConfig& s) {
       s.pin<"sharding">() = {Sharding::zero3};
       s.pin<"dispatcher">() = {Dispatcher::alltoall};
       s.pin<"cp-comm">() = {CpComm::all_gather};
       s.pin<"cuda-graph">() = {CudaGraph::none};
       s.pin<"etp">() = s.pin<"pp">() = {1};
       s.offload = false;
     }},
    {"found for ZeRO", "h100-sxm", Precision::bf16,
     [](SearchConfig& s) {
       s.pin<"sharding">() = {Sharding::zero1, Sharding::zero2};
       s.pin<"dispatcher">() = {Dispatcher::alltoall};
       s.pin<"cuda-graph">() = {CudaGraph::none};
       s.pin<"etp">() = s.pin<"pp">() = s.pin<"cp">() = {1};
       s.hybrid_sharding = false;
       s.offload = false;
     }},
};

std::vector<Document> found_documents(const std::string& name) {
  std::vector<Document> all;
  const ModelSpec model = load_model(name).model;
  for (const Search& search : kSearches) {
    PlanDocument d;
    d.model_name = name;
    d.model = model;
    d.cluster = search.cluster;
    d.gpus = gpus_for(model);
    d.workload.seq_len = model.learned_positions > 0 ? model.learned_positions : 4096;
    d.workload.global_batch = 4 * d.gpus;
    SearchConfig config;
    config.gpus = d.gpus;
    config.top = 1;
    config.threads = 1;
    config.neighbours = 0;
    config.max_evaluations = 60;
    config.max_rounds = 2;
    config.numerics.front().precision = search.precision;
    search.pin(config);
    const Profile profile = load_profile(std::string(search.cluster) + "-megatron");
    const SearchResult result =
        pleat::search({d.model, load_cluster(search.cluster), d.workload, profile}, config);
    for (const Candidate& best : result.best) {
      d.plan = best.plan;
      all.push_back({d, search.kind});
    }
  }
  return all;
}

// Decoder layers of each chunk of each rank of the pipeline.
JsonValue layers_json(const PlanDocument& d) {
  const std::vector<VirtualStage> stages = stage_layout(d.plan, d.model);
  const auto pp = static_cast<std::size_t>(d.plan.attention.pp);
  JsonValue ranks = JsonValue::array();
  for (std::size_t rank = 0; rank < pp; ++rank) {
    JsonValue chunks = JsonValue::array();
    for (std::size_t i = rank; i < stages.size(); i += pp) chunks.push_back(stages[i].layers);
    ranks.push_back(std::move(chunks));
  }
  return ranks;
}

// What a rank of each stage holds, before anything is sharded over data-parallel ranks.
JsonValue parameters_json(const PlanDocument& d) {
  JsonValue ranks = JsonValue::array();
  for (int rank = 0; rank < d.plan.attention.pp; ++rank) {
    const StageProgram stage =
        compile_stage(d.model, d.workload, d.plan, Runtime::megatron, Stage(rank));
    std::int64_t elements = 0;
    for (const BucketState& bucket : stage.buckets) elements += bucket.elements;
    ranks.push_back(elements);
  }
  return ranks;
}

JsonValue plan_json(const PlanDocument& d) {
  const Plan& p = d.plan;
  JsonValue out = JsonValue::object();
  out.set("tp", p.attention.tp).set("cp", p.attention.cp).set("dp", p.attention.dp);
  out.set("pp", p.attention.pp).set("vpp", p.vpp);
  out.set("etp", p.expert.etp).set("ep", p.expert.ep).set("edp", p.expert.edp);
  out.set("moe", d.model.moe.has_value()).set("mtp", d.model.mtp_layers);
  out.set("microbatches", p.microbatches(d.workload.global_batch));
  out.set("global_batch", d.workload.global_batch).set("micro_batch", p.micro_batch);
  out.set("schedule", name_of(p.schedule)).set("layout", p.layout);
  out.set("layers", layers_json(d)).set("parameters", parameters_json(d));
  return out;
}

JsonValue exported_json(const Exported& e) {
  JsonValue settings = JsonValue::array(), environment = JsonValue::object();
  for (const Setting& s : e.settings) {
    JsonValue words = JsonValue::array();
    words.push_back(s.name);
    for (const std::string& value : s.values) words.push_back(value);
    settings.push_back(std::move(words));
  }
  for (const auto& [name, value] : e.environment) environment.set(name, value);
  JsonValue missing = JsonValue::array();
  for (const Remark& r : e.missing) missing.push_back(r.field);
  JsonValue out = JsonValue::object();
  out.set("settings", settings).set("environment", environment).set("missing", missing);
  return out;
}

void write_lines(const Document& document, std::ostream& out) {
  const PlanDocument& d = document.plan;
  const JsonValue plan = plan_json(d);
  for (std::size_t i = 0; i < std::size(kTargets); ++i) {
    JsonValue line = JsonValue::object();
    line.set("model", d.model_name).set("kind", document.kind).set("target", kNames[i]);
    line.set("gpus", d.gpus).set("summary", summary(d.plan)).set("plan", plan);
    try {
      const Exported e = export_plan(kTargets[i], {d, d.cluster == "h100-sxm"}, "plan");
      line.set("exported", exported_json(e));
      line.set("text", export_text(kTargets[i], e, "a plan"));
    } catch (const ConfigError& e) {
      line.set("refused", e.diagnostics().front().message);
    }
    out << line.dump(0) << "\n";
  }
}

int run(const char* file, int each, const std::string& only) {
  std::ofstream out(file);
  for (const std::string& name : config_names(ConfigKind::model)) {
    if (name.find(only) == std::string::npos) continue;
    for (const Document& d : found_documents(name)) write_lines(d, out);
    out.flush();
  }
  for (const PlanDocument& d : random_documents(each, 41)) {
    if (d.model_name.find(only) != std::string::npos) write_lines({d, "random"}, out);
  }
  return out ? 0 : 5;
}

}  // namespace
}  // namespace pleat::interop_test

int main(int count, char** words) {
  if (count < 2) {
    std::cerr << "interop_write_exports FILE [random plans a model [part of a model's name]]\n";
    return 2;
  }
  return pleat::interop_test::run(words[1], count > 2 ? std::atoi(words[2]) : 10,
                                  count > 3 ? words[3] : "");
}
