// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A plan's fields to JSON and back, in the order of the struct.
#include "core/plan/plan_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/json/parse.hpp"
#include "core/plan/stage_override.hpp"

namespace pleat {
namespace {

constexpr IntRange kDegree{1, 1 << 20};
constexpr IntRange kDegreeOrNone{0, 1 << 20};
constexpr IntRange kStage{0, (1 << 20) - 1};
constexpr IntRange kLayersOrAll{0, 1 << 16};
constexpr std::size_t kOffloadable = 7;
constexpr std::size_t kReducible = 2;     // fp32, bf16

// Names of the first `count` values of an enum, in order.
template <class Enum>
std::vector<std::string> names_of(std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.emplace_back(name_of(static_cast<Enum>(i)));
  return names;
}

template <class Enum>
void read_choice(ObjectReader& r, const char* key, std::size_t count, Enum& value) {
  if (const auto index = r.optional_choice(key, names_of<Enum>(count))) {
    value = static_cast<Enum>(*index);
  }
}

void read_flag(ObjectReader& r, const char* key, bool& value) {
  value = r.optional_boolean(key).value_or(value);
}

int read_degree(ObjectReader& r, const char* key) {
  return static_cast<int>(r.integer(key, kDegree));
}

void read_count(ObjectReader& r, const char* key, IntRange range, int& value) {
  if (const auto found = r.optional_integer(key, range)) value = static_cast<int>(*found);
}

template <class Enum>
JsonValue write_set(const std::set<Enum>& values) {
  JsonValue list = JsonValue::array();
  for (const Enum value : values) list.push_back(name_of(value));
  return list;
}

// `verb`: what the listed modules are for, "recompute".
template <class Enum>
void read_set(ObjectReader& r, const char* verb, std::size_t count, std::set<Enum>& values) {
  const JsonValue::Array* items = r.optional_array(verb);
  if (items == nullptr) return;
  const std::vector<std::string> names = names_of<Enum>(count);
  for (std::size_t i = 0; i < items->size(); ++i) {
    const JsonValue& item = (*items)[i];
    const std::string* name = item.as_string();
    const auto found = name ? std::find(names.begin(), names.end(), *name) : names.end();
    if (found != names.end()) {
      if (values.insert(static_cast<Enum>(found - names.begin())).second) continue;
    }
    const std::string near = name ? nearest_name(*name, names) : "";
    const ReaderContext context = r.context();
    context.problems.error(
        ExitCode::bad_file, where_of(context.file_name, item.position()),
        fmt::format("{}[{}]", r.path_of(verb), i),
        found != names.end() ? fmt::format("{} is listed twice", *name)
                             : fmt::format("{} is no module to {}{}", item.brief(), verb,
                                           near.empty() ? "" : "; did you mean " + near + "?"),
        fmt::format("allowed: {}", fmt::join(names, ", ")));
  }
}

JsonValue write_overlap(const OverlapFlags& f) {
  JsonValue out = JsonValue::object();
  out.set("expert_parallel", f.expert_parallel)
      .set("delay_wgrad", f.delay_wgrad)
      .set("grad_reduce", f.grad_reduce)
      .set("param_gather", f.param_gather)
      .set("tensor_parallel", f.tensor_parallel)
      .set("shared_expert", f.shared_expert)
      .set("tile_level", f.tile_level);
  return out;
}

void read_overlap(ObjectReader r, OverlapFlags& f) {
  read_flag(r, "expert_parallel", f.expert_parallel);
  read_flag(r, "delay_wgrad", f.delay_wgrad);
  read_flag(r, "grad_reduce", f.grad_reduce);
  read_flag(r, "param_gather", f.param_gather);
  read_flag(r, "tensor_parallel", f.tensor_parallel);
  read_flag(r, "shared_expert", f.shared_expert);
  read_flag(r, "tile_level", f.tile_level);
  r.finish();
}

JsonValue write_optimizer(const OptimizerPlan& o) {
  JsonValue out = JsonValue::object();
  out.set("kind", name_of(o.kind))
      .set("main_grads", name_of(o.main_grads))
      .set("main_params", name_of(o.main_params))
      .set("exp_avg", name_of(o.exp_avg))
      .set("exp_avg_sq", name_of(o.exp_avg_sq))
      .set("state_offload", o.state_offload)
      .set("cpu_offload", o.cpu_offload)
      .set("cpu_offload_overlapped", o.cpu_offload_overlapped);
  if (o.grad_reduce) out.set("grad_reduce", name_of(*o.grad_reduce));
  return out;
}

void read_type(ObjectReader& r, const char* key, const std::vector<DType>& allowed, DType& value) {
  std::vector<std::string> names;
  for (const DType type : allowed) names.emplace_back(name_of(type));
  if (const auto index = r.optional_choice(key, names)) value = allowed[*index];
}

void read_share(ObjectReader& r, const char* key, DoubleRange range, double& value) {
  value = r.optional_number(key, range).value_or(value);
}

void read_optimizer(ObjectReader r, OptimizerPlan& o) {
  read_choice(r, "kind", 4, o.kind);
  read_type(r, "main_grads", {DType::fp32, DType::bf16, DType::fp8}, o.main_grads);
  read_type(r, "main_params",
            {DType::fp32, DType::bf16, DType::fp16, DType::fp8, DType::remainder16}, o.main_params);
  const std::vector<DType> moments{DType::fp32, DType::bf16, DType::fp16, DType::fp8};
  read_type(r, "exp_avg", moments, o.exp_avg);
  read_type(r, "exp_avg_sq", moments, o.exp_avg_sq);
  read_share(r, "state_offload", {0.0, 1.0}, o.state_offload);
  read_share(r, "cpu_offload", {0.0, 1.0}, o.cpu_offload);
  read_flag(r, "cpu_offload_overlapped", o.cpu_offload_overlapped);
  if (const auto index = r.optional_choice("grad_reduce", names_of<DType>(kReducible))) {
    o.grad_reduce = static_cast<DType>(*index);
  }
  r.finish();
}

JsonValue write_stash(const PagedStash& s) {
  JsonValue out = JsonValue::object();
  out.set("buffer", s.buffer).set("capacity", s.capacity);
  return out;
}

void read_stash(ObjectReader r, PagedStash& s) {
  read_share(r, "buffer", {0.0, 1e6}, s.buffer);
  read_share(r, "capacity", {0.0, 1e6}, s.capacity);
  r.finish();
}

JsonValue write_stages(const std::vector<StageOverride>& stages) {
  JsonValue list = JsonValue::array();
  for (const StageOverride& s : stages) {
    JsonValue one = JsonValue::object();
    one.set("stage", s.stage)
        .set("recompute", write_set(s.recompute))
        .set("recompute_full", s.recompute_full)
        .set("recompute_layers", s.recompute_layers)
        .set("recompute_unit", s.recompute_unit)
        .set("offload", write_set(s.offload));
    list.push_back(std::move(one));
  }
  return list;
}

// What a stage does not say is as the plan's; the rest of the plan has been read.
void read_stages(ObjectReader& r, Plan& p) {
  const JsonValue::Array* items = r.optional_array("stages");
  if (items == nullptr) return;
  for (std::size_t i = 0; i < items->size(); ++i) {
    ObjectReader one((*items)[i], fmt::format("{}[{}]", r.path_of("stages"), i), r.context());
    StageOverride s = override_of(p, Stage{static_cast<int>(one.integer("stage", kStage))});
    if (one.has("recompute")) s.recompute.clear();
    if (one.has("offload")) s.offload.clear();
    read_set(one, "recompute", kRecomputable.size(), s.recompute);
    read_flag(one, "recompute_full", s.recompute_full);
    read_count(one, "recompute_layers", kLayersOrAll, s.recompute_layers);
    read_count(one, "recompute_unit", {1, 1 << 16}, s.recompute_unit);
    read_set(one, "offload", kOffloadable, s.offload);
    one.finish();
    p.stages.push_back(std::move(s));
  }
}

void read_mappings(ObjectReader& r, Plan& p) {
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
}

}  // namespace

JsonValue write_plan(const Plan& p) {
  JsonValue attention = JsonValue::object();
  attention.set("tp", p.attention.tp).set("cp", p.attention.cp).set("dp", p.attention.dp).set(
      "pp", p.attention.pp);
  JsonValue expert = JsonValue::object();
  expert.set("etp", p.expert.etp).set("ep", p.expert.ep).set("edp", p.expert.edp);
  JsonValue out = JsonValue::object();
  out.set("attention", std::move(attention))
      .set("expert", std::move(expert))
      .set("vpp", p.vpp)
      .set("schedule", name_of(p.schedule))
      .set("microbatch_group", p.microbatch_group)
      .set("layout", p.layout)
      .set("micro_batch", p.micro_batch)
      .set("sequence_parallel", p.sequence_parallel)
      .set("precision", name_of(p.precision))
      .set("sharding", name_of(p.sharding))
      .set("dispatcher", name_of(p.dispatcher))
      .set("cuda_graph", name_of(p.cuda_graph))
      .set("dispatcher_sms", p.dispatcher_sms)
      .set("fp8_dispatch", p.fp8_dispatch)
      .set("fp8_combine", p.fp8_combine)
      .set("cp_comm", name_of(p.cp_comm))
      .set("cp_a2a", p.cp_a2a)
      .set("recompute", write_set(p.recompute))
      .set("recompute_full", p.recompute_full)
      .set("recompute_layers", p.recompute_layers)
      .set("recompute_unit", p.recompute_unit)
      .set("offload", write_set(p.offload))
      .set("offload_layers", p.offload_layers)
      .set("stages", write_stages(p.stages))
      .set("flash_attention", p.flash_attention)
      .set("fp8_attention", p.fp8_attention)
      .set("fp8_head", p.fp8_head)
      .set("fp8_params", p.fp8_params)
      .set("fsdp_group", p.fsdp_group)
      .set("optimizer_instances", p.optimizer_instances)
      .set("overlap", write_overlap(p.overlap))
      .set("paged_stash", write_stash(p.paged_stash))
      .set("optimizer", write_optimizer(p.optimizer));
  return out;
}

Plan read_plan(ObjectReader r) {
  Plan p;
  read_mappings(r, p);
  read_count(r, "vpp", kDegree, p.vpp);
  read_choice(r, "schedule", 5, p.schedule);
  read_count(r, "microbatch_group", kDegreeOrNone, p.microbatch_group);
  p.layout = r.optional_text("layout").value_or("");
  read_count(r, "micro_batch", kDegree, p.micro_batch);
  read_flag(r, "sequence_parallel", p.sequence_parallel);
  read_choice(r, "precision", 8, p.precision);
  read_choice(r, "sharding", 4, p.sharding);
  read_choice(r, "dispatcher", 5, p.dispatcher);
  read_choice(r, "cuda_graph", 5, p.cuda_graph);
  read_count(r, "dispatcher_sms", {0, 1024}, p.dispatcher_sms);
  read_flag(r, "fp8_dispatch", p.fp8_dispatch);
  read_flag(r, "fp8_combine", p.fp8_combine);
  read_choice(r, "cp_comm", 4, p.cp_comm);
  read_count(r, "cp_a2a", kDegreeOrNone, p.cp_a2a);
  read_set(r, "recompute", kRecomputable.size(), p.recompute);
  read_flag(r, "recompute_full", p.recompute_full);
  read_count(r, "recompute_layers", kLayersOrAll, p.recompute_layers);
  read_count(r, "recompute_unit", {1, 1 << 16}, p.recompute_unit);
  read_set(r, "offload", kOffloadable, p.offload);
  read_count(r, "offload_layers", kLayersOrAll, p.offload_layers);
  read_stages(r, p);
  read_flag(r, "flash_attention", p.flash_attention);
  read_flag(r, "fp8_attention", p.fp8_attention);
  read_flag(r, "fp8_head", p.fp8_head);
  read_flag(r, "fp8_params", p.fp8_params);
  read_count(r, "fsdp_group", kDegreeOrNone, p.fsdp_group);
  read_count(r, "optimizer_instances", kDegree, p.optimizer_instances);
  if (auto overlap = r.optional_object("overlap")) read_overlap(*overlap, p.overlap);
  if (auto stash = r.optional_object("paged_stash")) read_stash(*stash, p.paged_stash);
  if (auto optimizer = r.optional_object("optimizer")) read_optimizer(*optimizer, p.optimizer);
  r.finish();
  return p;
}

}  // namespace pleat
