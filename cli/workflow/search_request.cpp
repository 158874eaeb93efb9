// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/workflow/search_request.hpp"

#include <fmt/format.h>

#include "cli/plan_values.hpp"
#include "core/diagnostics.hpp"

namespace pleat::cli {
namespace {

template <class T, class Parse>
void take(const std::optional<std::string>& word, const char* flag, Parse parse, T& value) {
  if (word) value = parse(*word, flag);
}

bool parse_switch(const std::string& word, const std::string& flag) {
  if (word == "on") return true;
  if (word == "off") return false;
  throw_config_error(ExitCode::bad_request, "", flag, "'" + word + "' is neither on nor off",
                     "without the flag both are tried");
}

}  // namespace

SearchConfig search_config(const SearchOptions& o, Target& target) {
  SearchConfig c;
  c.gpus = target.gpus;
  c.runtime = target.runtime;
  c.precision = default_precision(target.runtime);
  if (o.precision.empty()) target.assumed.push_back("--precision " + name_of(c.precision));
  else c.precision = parse_precision(o.precision, "--precision");
  take(o.main_grads, "--main-grads-dtype", parse_state_type, c.optimizer.main_grads);
  take(o.main_params, "--main-params-dtype", parse_state_type, c.optimizer.main_params);
  take(o.exp_avg, "--exp-avg-dtype", parse_state_type, c.optimizer.exp_avg);
  take(o.exp_avg_sq, "--exp-avg-sq-dtype", parse_state_type, c.optimizer.exp_avg_sq);
  take(o.grad_reduce, "--grad-reduce-dtype", parse_state_type, c.optimizer.grad_reduce);
  take(o.optimizer, "--optimizer", parse_optimizer, c.optimizer.kind);
  c.fp8_attention = o.fp8_attention;
  c.fp8_head = o.fp8_head;
  c.tp = o.tp;
  c.cp = o.cp;
  c.pp = o.pp;
  c.vpp = o.vpp;
  c.ep = o.ep;
  c.etp = o.etp;
  c.micro_batch = o.micro_batch;
  take(o.sharding, "--sharding", parse_sharding, c.sharding);
  take(o.dispatcher, "--dispatcher", parse_dispatcher, c.dispatcher);
  take(o.cuda_graph, "--cuda-graph", parse_cuda_graph, c.cuda_graph);
  take(o.cp_comm, "--cp-comm", parse_cp_comm, c.cp_comm);
  take(o.ep_overlap, "--ep-overlap", parse_switch, c.ep_overlap);
  take(o.delay_wgrad, "--delay-wgrad", parse_switch, c.delay_wgrad);
  take(o.tp_overlap, "--tp-overlap", parse_switch, c.tp_overlap);
  take(o.shared_overlap, "--shared-expert-overlap", parse_switch, c.shared_overlap);
  c.recompute = !o.no_recompute;
  c.offload = !o.no_offload;
  c.top = o.top;
  c.threads = o.threads;
  c.time_limit = o.time_limit;
  c.max_evaluations = o.max_evaluations;
  c.memory_margin = o.memory_margin;
  return c;
}

std::string other_numerics(const Plan& plan, const SearchConfig& config) {
  std::vector<std::string> parts;
  const auto compare = [&](const char* name, const auto& own, const auto& searched,
                           const auto& words) {
    if (own == searched) return;
    parts.push_back(fmt::format("{} {} (searched: {})", name, words(own), words(searched)));
  };
  const auto on = [](bool b) { return std::string(b ? "on" : "off"); };
  const auto type = [](DType t) { return std::string(name_of(t)); };
  compare("precision", plan.precision, config.precision, [](Precision p) { return name_of(p); });
  compare("fp8-attention", plan.fp8_attention, config.fp8_attention, on);
  compare("fp8-head", plan.fp8_head, config.fp8_head, on);
  compare("fp8-params", plan.fp8_params, true, on);
  const OptimizerPlan &a = plan.optimizer, &b = config.optimizer;
  compare("optimizer", a.kind, b.kind, [](OptimizerKind k) { return name_of(k); });
  compare("main-grads", a.main_grads, b.main_grads, type);
  compare("main-params", a.main_params, b.main_params, type);
  compare("exp-avg", a.exp_avg, b.exp_avg, type);
  compare("exp-avg-sq", a.exp_avg_sq, b.exp_avg_sq, type);
  compare("grad-reduce", a.grad_reduce.value_or(a.main_grads),
          b.grad_reduce.value_or(b.main_grads), type);
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace pleat::cli
