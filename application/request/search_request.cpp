// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/request/search_request.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "application/request/gpu_formats.hpp"
#include "application/request/pin_values.hpp"
#include "application/request/plan_values.hpp"
#include "core/diagnostics.hpp"
#include "core/plan/executed_formats.hpp"
#include "planner/space/memory_choice.hpp"
#include "planner/space/run_settings.hpp"
#include "planner/space/runtime_rules.hpp"

namespace pleat {
namespace {

template <class T, class Parse>
void take(const std::optional<std::string>& word, const char* flag, Parse parse, T& value) {
  if (word) value = parse(*word, flag);
}

// Of DeepEP: the profile's number, and the next fewer and the next more that it has rates of within
// a domain.
std::vector<int> measured_sms(const Profile& profile) {
  const auto usual = static_cast<int>(profile.deepep_sms);
  int fewer = 0, more = 0;
  for (const DispatchRate& r : profile.dispatch) {
    if (r.kernel != DispatchKernel::deepep || r.tier != 0) continue;
    if (r.sms < usual) fewer = std::max(fewer, r.sms);
    if (r.sms > usual && (more == 0 || r.sms < more)) more = r.sms;
  }
  std::vector<int> list{0};
  if (fewer > 0) list.push_back(fewer);
  if (more > 0) list.push_back(more);
  return list;
}

PagedStash stash_of(const SearchOptions& o) {
  const PagedStash stash{o.paged_stash, o.stash_capacity};
  if ((stash.buffer > 0) == (stash.capacity >= 1)) return stash;
  throw_config_error(ExitCode::bad_request, "", "--paged-stash, --stash-capacity",
                     "a stash has a buffer above 0 and a capacity of at least 1",
                     "both, for example --paged-stash 1.1 --stash-capacity 1.5");
}

// What Pleat's executor does not compute in is no plan of its runtime (`pleat predict` prices it).
void check_formats(const SearchConfig& c, const ModelSpec& model) {
  if (c.runtime != Runtime::pleat) return;
  for (const Numerics& n : c.numerics) {
    Plan plan;
    n.put_into(plan);
    const std::vector<FormatRefusal> refused = refused_formats(model, plan);
    if (refused.empty()) continue;
    const FormatRefusal& first = refused.front();
    throw_config_error(ExitCode::bad_request, "", first.path, first.message, first.hint);
  }
}

// A pinned step on the CPU needs formats and a sharding that the runtime steps there.
void check_cpu_step(const SearchConfig& c, const ModelSpec& model) {
  if (!c.cpu_optimizer.value_or(false)) return;
  Plan plan;
  put_state(StatePlace::host_stepped, 1, plan);
  const Pinned<Sharding>& sharding = c.pin<"sharding">();
  plan.sharding = sharding ? std::ranges::min(sharding.values) : Sharding::zero1;
  for (const Numerics& n : c.numerics) {
    Plan one = plan;
    one.precision = n.precision;
    one.fp8_params = n.fp8_params;
    const char* const rule = refused_by(c.runtime, model, {}, one, {});
    if (rule == nullptr) continue;
    const bool weights = !cpu_may_step(c.runtime, one);
    throw_config_error(
        ExitCode::bad_request, "", "--cpu-optimizer",
        fmt::format("Megatron's step on the CPU excludes {} ({})",
                    weights ? "weights that are kept in fp8" : "sharded weights and gradients",
                    rule),
        weights ? "--fp8-params off" : "--sharding zero1");
  }
}

// The flag that a rule of the runtime is about.
const char* flag_of(std::string_view rule) {
  if (rule == "graph-of-unknown-sizes") return "--cuda-graph";
  if (rule == "dropped-tokens-in-graph") return "--cuda-graph";
  if (rule == "stash-dispatcher") return "--paged-stash";
  if (rule == "loss-in-parts") return "--loss-chunks";
  if (rule.starts_with("ep-overlap")) return "--ep-overlap";
  return "--delay-wgrad";
}

// Pins that leave nothing the runtime runs, on whatever mesh. The plainest setting says why.
void check_settings(const SearchConfig& c, const Target& target) {
  const char* first = nullptr;
  for (const Numerics& numerics : c.numerics) {
    for (const Setting& setting : settings(target.model, target.cluster, c)) {
      Plan plan;
      if (target.model.moe) plan.expert.ep = 2;  // some mesh has ranks to send to
      numerics.put_into(plan);
      setting.put_into(plan);
      const char* const rule = 
          refused_by(c.runtime, target.model, target.workload, plan, target.cluster.gpu);
      if (rule == nullptr) return;
      if (first == nullptr) first = rule;
    }
  }
  throw_config_error(ExitCode::bad_request, "", flag_of(first),
                     fmt::format("{} ({})", why_refused(first), first),
                     "leave the flag out, or allow what it needs");
}

// More would leave no plan, and say nothing of why.
void check_layers(const Pinned<int>& pin, const char* flag, const ModelSpec& model) {
  for (const int layers : pin) {
    if (layers <= model.layers) continue;
    throw_config_error(
        ExitCode::bad_request, "", flag,
        fmt::format("{} are more than the {} layers of {}", layers, model.layers, model.name),
        "layers of a chunk, at most those of the model");
  }
}

}  // namespace

SearchConfig search_config(const SearchOptions& o, const NumericsQuestion& formats,
                           const Target& target) {
  SearchConfig c;
  c.gpus = target.gpus;
  c.runtime = target.runtime;
  c.numerics = formats.numerics;
  c.free_numerics = formats.free;
  c.told_numerics = formats.told;
  require_layouts(o.pins.of<"layout">());
  read_pins(o.pins, c.pins);
  if (target.model.moe) {
    for (const Dispatcher d : c.pin<"dispatcher">()) require_dispatcher(target, d, "--dispatcher");
  }
  if (auto& sms = c.pin<"dispatcher-sms">(); !sms && c.runtime == Runtime::megatron) {
    sms = measured_sms(target.profile);
  }
  const Pinned<CudaGraph>& graph = c.pin<"cuda-graph">();
  if (c.runtime == Runtime::pleat && graph && !graph.only(CudaGraph::none)) {
    throw_config_error(
        ExitCode::bad_request, "", "--cuda-graph",
        "a search for the Pleat runtime tries none, whose launches have no price yet",
        "leave it out here; `pleat train --device cuda` takes it");
  }
  take(o.hybrid_sharding, "--hybrid-sharding", parse_switch, c.hybrid_sharding);
  c.paged_stash = stash_of(o);
  c.robust = o.robust;
  if (o.optimizer_offload) {
    c.optimizer_offload = parse_switches({*o.optimizer_offload}, "--optimizer-offload");
  }
  take(o.cpu_optimizer, "--cpu-optimizer", parse_switch, c.cpu_optimizer);
  if (c.optimizer_offload.only(true) && c.cpu_optimizer.value_or(false)) {
    throw_config_error(ExitCode::bad_request, "", "--cpu-optimizer",
                       "the state cannot both come back for the step and stay",
                       "--optimizer-offload or --cpu-optimizer on, not both");
  }
  take(o.by_stage, "--by-stage", parse_switch, c.by_stage);
  c.recompute_sets = parse_recompute_sets(o.recompute, o.pins.of<"recompute-layers">(),
                                          o.pins.of<"recompute-unit">());
  c.offload_sets = parse_offload_sets(o.offload);
  check_formats(c, target.model);
  check_cpu_step(c, target.model);
  check_layers(c.pin<"recompute-layers">(), "--recompute-layers", target.model);
  check_layers(c.pin<"recompute-unit">(), "--recompute-unit", target.model);
  check_layers(c.pin<"offload-layers">(), "--offload-layers", target.model);
  c.recompute = !o.no_recompute;
  c.offload = !o.no_offload;
  if (o.certain > o.top) {
    throw_config_error(ExitCode::bad_request, "", "--certain",
                       fmt::format("{} plans are to be certain, {} are listed", o.certain, o.top),
                       fmt::format("at most {}, or --top {}", o.top, o.certain));
  }
  c.top = o.top;
  c.certain = o.certain;
  c.threads = o.threads;
  c.time_limit = o.time_limit;
  c.max_evaluations = o.max_evaluations;
  c.neighbours = o.neighbours;
  c.memory_margin = o.memory_margin;
  check_settings(c, target);
  return c;
}

}  // namespace pleat
