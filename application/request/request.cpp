// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/request/request.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "application/request/gpu_formats.hpp"
#include "application/request/ineffective_options.hpp"
#include "application/request/plan_values.hpp"
#include "application/request/stage_values.hpp"
#include "application/request/typed_fields.hpp"
#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"
#include "core/plan/constraints.hpp"
#include "core/plan/plan_document.hpp"
#include "core/spec/catalog.hpp"
#include "core/spec/typical_model.hpp"

namespace pleat {
namespace {

constexpr std::int64_t kMaxWorld = 16'777'216;

void require_all(const TargetOptions& o) {
  Diagnostics problems;
  const auto require = [&](bool given, const char* flag, const char* hint) {
    if (!given) problems.error(ExitCode::bad_request, flag, "", "is required", hint);
  };
  require(!o.model.empty(), "--model", "`pleat models` lists what ships");
  require(!o.cluster.empty(), "--cluster", "`pleat clusters` lists what ships");
  require(o.gpus.has_value(), "--gpus", "GPUs in the job, for example --gpus 256");
  require(o.seq_len.has_value(), "--seq-len", "tokens of a sequence, for example --seq-len 4096");
  require(o.global_batch.has_value(), "--global-batch",
          "sequences of a step over all GPUs, for example --global-batch 4096");
  // Names that do not exist are said at once, not after the rest has been filled in.
  const auto find = [&](ConfigKind kind, const std::string& name) {
    try {
      if (problems.has_errors() && !name.empty()) static_cast<void>(config_path(kind, name));
    } catch (const ConfigError& e) {
      for (const Diagnostic& d : e.diagnostics()) problems.add(d);
    }
  };
  if (!typical_model(o.model)) find(ConfigKind::model, o.model);
  find(ConfigKind::cluster, o.cluster);
  find(ConfigKind::profile, o.profile);
  problems.throw_if_errors();
}

void require_cluster_holds(const ClusterSpec& cluster, int gpus) {
  if (cluster.max_gpus == 0 || gpus <= cluster.max_gpus) return;
  throw_config_error(
      ExitCode::bad_request, "--gpus", "",
      fmt::format("{} GPUs asked for, {} has {}", gpus, cluster.name, cluster.max_gpus));
}

// The usual profile, or one of datasheets, with a word on what that is worth
// (docs/validation-notes.md).
void take_usual_profile(const std::string& name_or_path, Target& target) {
  auto found = find_usual_profile(name_or_path, target.runtime);
  target.profile =
      found ? std::move(found->profile) : datasheet_profile(target.cluster, target.runtime);
  target.assumed.push_back("--profile " + target.profile.name);
  if (found || target.runtime != Runtime::megatron) return;
  target.assumed.push_back(
      fmt::format("rates of a datasheet, as nothing was measured on {} (published runs of other "
                  "GPUs that are predicted so took 9% longer in the median)",
                  target.cluster.gpu.name));
}

// Profile and runtime together: a named profile decides the runtime unless it is given too.
void choose_profile(const TargetOptions& o, Target& target) {
  const Runtime usual = target.cluster.shared_cores > 0 ? Runtime::pleat : Runtime::megatron;
  if (o.profile.empty()) {
    target.runtime = o.runtime.empty() ? usual : parse_runtime(o.runtime, "--runtime");
    if (o.runtime.empty()) {
      target.assumed.push_back("--runtime " + name_of_runtime(target.runtime));
    }
    take_usual_profile(o.cluster, target);
    return;
  }
  target.profile = load_profile(o.profile);
  target.runtime = target.profile.runtime;
  if (auto fitting = profile_on(target.profile, target.cluster)) {
    target.profile = std::move(*fitting);
  } else if (!o.accept_mismatch) {
    throw_config_error(ExitCode::verification, "--profile", "",
                       fmt::format("{} describes {}, not {}", target.profile.name,
                                   target.profile.cluster, target.cluster.name),
                       "--accept-mismatch uses it all the same");
  }
  if (!o.runtime.empty() && parse_runtime(o.runtime, "--runtime") != target.runtime) {
    throw_config_error(
        ExitCode::verification, "--profile", "",
        fmt::format("{} describes the runtime {}, --runtime says {}", target.profile.name,
                    name_of_runtime(target.runtime), o.runtime));
  }
}

// What ranks cost the host that are not bound to the cores next to their GPU.
void unbind_ranks(Target& target) {
  if (!target.workload.unbound_ranks) return;
  if (target.profile.unbound_host <= 1) {
    target.assumed.push_back(
        fmt::format("--unbound-ranks costs nothing: the profile {} does not say what it takes "
                    "(unbound_host)", target.profile.name));
  }
  slow_host(target.profile, target.profile.unbound_host);
}

// The rest of the world after the named degrees; at least 1, the rules say what does not divide.
int remaining(int gpus, std::initializer_list<int> degrees) {
  std::int64_t used = 1;
  for (const int degree : degrees) used = std::min(used * degree, kMaxWorld);
  return static_cast<int>(std::max<std::int64_t>(1, gpus / used));
}

void require_valid_plan(const Target& target, const Plan& plan, const std::string& where) {
  require_valid({target.model, target.workload, plan, target.gpus}, where);
}

// Fields that are told where they are not given, in this order.
constexpr std::array<std::string_view, 13> kTold{
    "tp",        "cp",       "pp",         "vpp",       "ep",     "etp",       "micro-batch",
    "precision", "sharding", "dispatcher", "recompute", "layout", "cuda-graph"};

std::string told(int value) { return std::to_string(value); }
std::string told(const std::string& layout) { return layout.empty() ? "even" : layout; }
std::string told(const std::set<Module>& modules) { return modules.empty() ? "none" : "some"; }
template <class Enum>
requires std::is_enum_v<Enum> std::string told(Enum value) { return std::string(name_of(value)); }

// One field as it was given; false where it was not.
template <std::size_t I>
bool put_given(const ShapeOptions& o, Plan& plan) {
  constexpr const auto& field = kPlanField<I>;
  using Value = typename std::remove_cvref_t<decltype(field)>::Value;
  const auto& given = std::get<I>(o.given);
  if (!given) return false;
  const std::string flag = "--" + std::string(field.typed.flag);
  if constexpr (std::is_same_v<Value, bool>) {
    field.in(plan) = !field.in(plan);
  } else if constexpr (std::is_same_v<Value, std::set<Module>>) {
    Recompute recompute = parse_recompute(*given, flag);
    plan.recompute = std::move(recompute.modules);
    plan.recompute_full = recompute.full;
    plan.recompute_layers = recompute.layers;
  } else if constexpr (std::is_arithmetic_v<Value>) {
    field.in(plan) = *given;
  } else if constexpr (!std::is_same_v<Value, std::vector<StageOverride>>) {
    parse_value(*given, flag, field.in(plan));
  }
  return true;
}

// Those that are told first.
void put_all_given(const ShapeOptions& o, const Target& target, const std::string& where,
                   Plan& plan, std::vector<std::string>& assumed) {
  for (const std::string_view name : kTold) {
    for_each_plan_field([&](auto i) {
      constexpr const auto& field = kPlanField<i>;
      if (field.typed.flag != name) return;
      if (!put_given<i>(o, plan)) {
        if constexpr (requires { told(field.in(plan)); }) {
          assumed.push_back(fmt::format("--{} {}", name, told(field.in(plan))));
        }
      }
      if (name == "precision") {
        require_format(target, plan.precision, where.empty() ? "--precision" : where);
      }
    });
  }
  for_each_plan_field([&](auto i) {
    if (std::ranges::find(kTold, kPlanField<i>.typed.flag) == kTold.end()) put_given<i>(o, plan);
  });
  if (o.recompute_stages) put_stage_recompute(*o.recompute_stages, "--recompute-stages", plan);
  if (o.offload_stages) put_stage_offload(*o.offload_stages, "--offload-stages", plan);
}

void reject_shape_beside_plan(const PlanOptions& o) {
  const std::string flag = first_shape_flag(o.shape);
  if (flag.empty()) return;
  throw_config_error(ExitCode::bad_request, flag, "", "cannot be given beside --plan",
                     "change the plan file, or give all of the plan as flags");
}

struct Mismatch {
  std::string flag, said, plan;
};

void require_match(const TargetOptions& t, const PlanDocument& document) {
  if (t.accept_mismatch) return;
  std::vector<Mismatch> found;
  if (!t.model.empty() && t.model != document.model_name &&
      load_model(t.model).model != document.model) {
    found.push_back({"--model", t.model, document.model_name});
  }
  if (!t.cluster.empty() && load_cluster(t.cluster).name != document.cluster) {
    found.push_back({"--cluster", t.cluster, document.cluster});
  }
  if (t.gpus && *t.gpus != document.gpus) {
    found.push_back({"--gpus", std::to_string(*t.gpus), std::to_string(document.gpus)});
  }
  Diagnostics problems;
  for (const Mismatch& m : found) {
    problems.error(ExitCode::verification, m.flag, "",
                   fmt::format("the plan was made for {}, not for {}", m.plan, m.said),
                   "--accept-mismatch goes on with the flag's value");
  }
  problems.throw_if_errors();
}

}  // namespace

Precision default_precision(Runtime runtime, const ClusterSpec& cluster) {
  const bool on_cpu = cluster.shared_cores > 0;
  return runtime == Runtime::pleat && on_cpu ? Precision::fp32 : Precision::bf16;
}

Target resolve_target(const TargetOptions& o) {
  require_all(o);
  Target target;
  target.model = load_model(o.model).model;
  if (const auto typical = typical_model(o.model))
    target.assumed.push_back("a typical model: " + typical->summary);
  target.cluster = load_cluster(o.cluster);
  target.gpus = *o.gpus;
  target.workload = {.seq_len = *o.seq_len,
                     .global_batch = o.global_batch.of(*o.seq_len),
                     .capacity_factor = o.capacity_factor.value_or(0),
                     .pad_to_capacity = o.pad_to_capacity,
                     .documents = o.documents};
  target.workload.straggler_slowdown = o.straggler_slowdown.value_or(0);
  target.workload.unbound_ranks = o.unbound_ranks;
  put_routing(o.routing, target.model, target.workload, target.assumed);
  target.accept_mismatch = o.accept_mismatch;
  require_cluster_holds(target.cluster, target.gpus);
  choose_profile(o, target);
  unbind_ranks(target);
  return target;
}

Plan resolve_shape(const ShapeOptions& o, const Target& target, const std::string& where,
                   std::vector<std::string>& assumed) {
  Plan plan;
  plan.precision = default_precision(target.runtime, target.cluster);
  put_all_given(o, target, where, plan, assumed);
  plan.sequence_parallel = plan.sequence_parallel && plan.attention.tp > 1;
  const auto& [tp, cp, dp, pp] = plan.attention;
  plan.attention.dp = remaining(target.gpus, {tp, cp, pp});
  plan.expert.edp = remaining(target.gpus, {plan.expert.etp, plan.expert.ep, pp});
  refuse_ineffective_plan_options(o, plan, where);
  require_valid_plan(target, plan, where);
  if (target.model.moe) {
    require_dispatcher(target, plan.dispatcher, where.empty() ? "--dispatcher" : where);
  }
  return plan;
}

Target target_of_plan(const TargetOptions& o, const PlanDocument& document) {
  require_match(o, document);
  Target target;
  target.model = o.model.empty() ? document.model : load_model(o.model).model;
  TargetOptions options = o;
  if (options.cluster.empty()) options.cluster = document.cluster;
  target.cluster = load_cluster(options.cluster);
  target.workload = document.workload;
  if (o.seq_len) target.workload.seq_len = *o.seq_len;
  if (o.global_batch.has_value())
    target.workload.global_batch = o.global_batch.of(target.workload.seq_len);
  if (o.capacity_factor) target.workload.capacity_factor = *o.capacity_factor;
  if (!o.documents.empty()) target.workload.documents = o.documents;
  if (o.pad_to_capacity) target.workload.pad_to_capacity = true;
  if (o.unbound_ranks) target.workload.unbound_ranks = true;
  if (o.straggler_slowdown) target.workload.straggler_slowdown = *o.straggler_slowdown;
  put_routing(o.routing, target.model, target.workload, target.assumed);
  target.gpus = o.gpus.value_or(document.gpus);
  if (options.runtime.empty()) options.runtime = name_of_runtime(document.runtime);
  choose_profile(options, target);
  unbind_ranks(target);
  return target;
}

void move_to_gpus(PlanDocument& d, int gpus, const std::string& file) {
  AttentionMapping& a = d.plan.attention;
  ExpertMapping& e = d.plan.expert;
  const int dense = a.tp * a.cp * a.pp, expert = e.etp * e.ep * a.pp;
  if (gpus % dense != 0 || gpus % expert != 0) {
    throw_config_error(ExitCode::bad_request, "--gpus", "",
                       fmt::format("{} does not fit {}: TP x CP x PP is {}, ETP x EP x PP {}", gpus,
                                   file, dense, expert),
                       "a multiple of both");
  }
  a.dp = gpus / dense;
  e.edp = gpus / expert;
  d.gpus = gpus;
}

Request resolve_request(const PlanOptions& o) {
  Request request;
  Target& target = request.target;
  if (o.plan_file.empty() && !o.plan_text) {
    target = resolve_target(o.target);
    request.plan = resolve_shape(o.shape, target, "", target.assumed);
    return request;
  }
  reject_shape_beside_plan(o);
  const PlanDocument document =
      read_plan_document(o.plan_text ? *o.plan_text : read_text_file(o.plan_file), o.plan_file);
  target = target_of_plan(o.target, document);
  request.plan = document.plan;
  require_valid_plan(target, request.plan, o.plan_file);
  require_software(target, request.plan, o.plan_file);
  return request;
}

}  // namespace pleat
