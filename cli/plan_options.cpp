// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <set>
#include <utility>
#include <vector>

#include "cli/option_checks.hpp"
#include "cli/option_choices.hpp"
#include "cli/plan_values.hpp"
#include "core/diagnostics.hpp"

namespace pleat::cli {
namespace {

constexpr int kMaxDegree = 16'777'216;
constexpr int kMaxFactor = 1'000'000;
constexpr std::int64_t kMaxTokens = std::int64_t{1} << 40;

const char* const kWorkload = "Workload";
const char* const kShape = "Plan";

// The integer fields of a shape with the names they are typed under.
std::vector<std::pair<std::string, std::optional<int>*>> degrees(ShapeOptions& s) {
  return {{"tp", &s.tp},
          {"cp", &s.cp},
          {"pp", &s.pp},
          {"vpp", &s.vpp},
          {"ep", &s.ep},
          {"etp", &s.etp},
          {"micro-batch", &s.micro_batch},
          {"microbatch-group", &s.microbatch_group},
          {"dispatcher-sms", &s.dispatcher_sms},
          {"offload-layers", &s.offload_layers},
          {"recompute-unit", &s.recompute_unit},
          {"fsdp-group", &s.fsdp_group},
          {"cp-a2a", &s.cp_a2a},
          {"optimizer-instances", &s.optimizer_instances}};
}

std::vector<std::pair<std::string, std::optional<double>*>> shares(ShapeOptions& s) {
  return {{"state-offload", &s.state_offload},
          {"cpu-optimizer", &s.cpu_optimizer},
          {"paged-stash", &s.paged_stash},
          {"stash-capacity", &s.stash_capacity}};
}

std::vector<std::pair<std::string, std::optional<std::string>*>> words(ShapeOptions& s) {
  return {{"layout", &s.layout},
          {"precision", &s.precision},
          {"recompute", &s.recompute},
          {"recompute-stages", &s.recompute_stages},
          {"offload-stages", &s.offload_stages},
          {"sharding", &s.sharding},
          {"dispatcher", &s.dispatcher},
          {"cp-comm", &s.cp_comm},
          {"offload", &s.offload},
          {"cuda-graph", &s.cuda_graph},
          {"main-grads-dtype", &s.main_grads},
          {"main-params-dtype", &s.main_params},
          {"exp-avg-dtype", &s.exp_avg},
          {"exp-avg-sq-dtype", &s.exp_avg_sq},
          {"grad-reduce-dtype", &s.grad_reduce},
          {"schedule", &s.schedule},
          {"optimizer", &s.optimizer}};
}

std::vector<std::pair<std::string, bool*>> switches(ShapeOptions& s) {
  return {{"ep-overlap", &s.ep_overlap},
          {"delay-wgrad", &s.delay_wgrad},
          {"tp-overlap", &s.tp_overlap},
          {"shared-expert-overlap", &s.shared_expert_overlap},
          {"tile-overlap", &s.tile_overlap},
          {"fp8-dispatch", &s.fp8_dispatch},
          {"fp8-combine", &s.fp8_combine},
          {"no-grad-overlap", &s.no_grad_overlap},
          {"no-param-overlap", &s.no_param_overlap},
          {"no-sequence-parallel", &s.no_sequence_parallel},
          {"no-fp8-params", &s.no_fp8_params},
          {"overlap-cpu-optimizer", &s.overlap_cpu_optimizer},
          {"no-flash-attention", &s.no_flash_attention},
          {"fp8-attention", &s.fp8_attention},
          {"fp8-head", &s.fp8_head}};
}

bool is_switch(const std::string& key) {
  ShapeOptions any;
  const auto all = switches(any);
  return std::any_of(all.begin(), all.end(), [&](const auto& s) { return s.first == key; });
}

// Empty when fine, else what is wrong.
std::string assign(ShapeOptions& shape, const std::string& key, const std::string& value) {
  std::vector<std::string> names;
  for (const auto& [name, field] : degrees(shape)) {
    names.push_back(name);
    if (name != key) continue;
    int number = 0;
    const char* const end = value.data() + value.size();
    const auto parsed = std::from_chars(value.data(), end, number);
    if (parsed.ec != std::errc() || parsed.ptr != end || number < 1 || number > kMaxDegree) {
      return key + ": '" + value + "' is not a whole number from 1 to " + std::to_string(kMaxDegree);
    }
    *field = number;
    return {};
  }
  for (const auto& [name, field] : shares(shape)) {
    names.push_back(name);
    if (name != key) continue;
    double number = 0;
    const char* const end = value.data() + value.size();
    const auto parsed = std::from_chars(value.data(), end, number);
    if (parsed.ec != std::errc() || parsed.ptr != end || !(number >= 0 && number <= kMaxFactor)) {
      return key + ": '" + value + "' is not a number from 0 to " + std::to_string(kMaxFactor);
    }
    *field = number;
    return {};
  }
  for (const auto& [name, field] : words(shape)) {
    names.push_back(name);
    if (name != key) continue;
    *field = value;
    return {};
  }
  for (const auto& [name, field] : switches(shape)) {
    names.push_back(name);
    if (name != key) continue;
    if (!value.empty()) return key + " takes no value";
    *field = true;
    return {};
  }
  const std::string near = nearest_name(key, names);
  return "unknown plan field '" + key + "'" + (near.empty() ? "" : "; did you mean " + near + "?");
}

}  // namespace

void add_target_options(CLI::App& app, TargetOptions& o) {
  const auto describe = [&](const char* name, auto& value, const char* text) {
    return app.add_option(name, value, text)->group(kWorkload);
  };
  describe("-m,--model", o.model, "Name of a shipped model (`pleat models`) or a Hugging Face config.json")
      ->check(offers_configs(ConfigKind::model));
  describe("-c,--cluster", o.cluster, "Name of a shipped cluster (`pleat clusters`) or a cluster file")
      ->check(offers_configs(ConfigKind::cluster));
  describe("-n,--gpus", o.gpus, "GPUs in the job")->check(in_range(1, kMaxDegree));
  describe("-s,--seq-len", o.seq_len, "Tokens of a sequence")->check(in_range(std::int64_t{1}, kMaxTokens));
  describe("-b,--global-batch", o.global_batch, "Sequences of a step, over all GPUs")
      ->check(in_range(std::int64_t{1}, kMaxTokens));
  describe("--runtime", o.runtime,
           "Dialect to compile for: megatron or pleat (default: the profile's, else pleat on "
           "localhost and megatron elsewhere)")
      ->check(offers(plan_names().runtime));
  describe("--profile", o.profile,
           "Profile name or file (default: NAME-RUNTIME.json beside the cluster's file, the newest of the "
           "cluster and runtime, else datasheet efficiencies)")
      ->check(offers_configs(ConfigKind::profile));
  describe("--capacity-factor", o.capacity_factor,
           "Tokens an expert takes, over the balanced mean; the rest are dropped (default: none)")
      ->check(in_range(0.0, 1e6));
  describe("--straggler-slowdown", o.straggler_slowdown,
           "Expected slow-down of the slowest rank over the mean, 0.02 for 2% (default: none)")
      ->check(in_range(0.0, 1e3));
  describe("--documents", o.documents,
           "Lengths of the documents that sequences are packed from, with commas, equally frequent "
           "(default: one document a sequence)")
      ->delimiter(',')
      ->check(in_range(std::int64_t{1}, kMaxTokens));
  app.add_flag("--pad-to-capacity", o.pad_to_capacity, "Pad every expert's tokens to its capacity")
      ->group(kWorkload);
  app.add_flag("--accept-mismatch", o.accept_mismatch,
               "Go on when a profile or a plan file was made for something else")
      ->group(kWorkload);
}

void add_shape_options(CLI::App& app, ShapeOptions& o) {
  const auto degree = [&](const char* name, std::optional<int>& value, const char* text) {
    app.add_option(name, value, text)->check(in_range(1, kMaxDegree))->group(kShape);
  };
  const auto word = [&](const char* name, std::optional<std::string>& value, const char* text) {
    return app.add_option(name, value, text)->group(kShape);
  };
  const PlanNames names = plan_names();
  const std::vector<std::string> moments{"fp32", "bf16", "fp16", "fp8"};
  degree("--tp", o.tp, "Tensor parallel size of attention and dense layers");
  degree("--cp", o.cp, "Context parallel size");
  degree("--pp", o.pp, "Pipeline stages (data parallel size follows from --gpus)");
  degree("--vpp", o.vpp, "Virtual pipeline stages on each pipeline rank");
  word("--schedule", o.schedule,
       "Order of the pipeline: 1f1b (interleaved with --vpp), zb-h1, zb-v, dualpipe or dualpipe-v")
      ->check(offers(names.schedule));
  degree("--ep", o.ep, "Expert parallel size (expert data parallel size follows from --gpus)");
  degree("--etp", o.etp, "Tensor parallel size inside an expert");
  degree("--micro-batch", o.micro_batch, "Sequences of a microbatch");
  word("--layout", o.layout, "Layers of each virtual stage, \"Et*3|(tt|)*29m|L\" (default: even)");
  word("--precision", o.precision,
       "fp32, fp16, bf16, fp8, fp8_delayed, fp8_block, mxfp8 or nvfp4")
      ->check(offers(names.precision));
  word("--recompute", o.recompute,
       "none, full, full:N (the first N layers of each chunk), or modules with commas: layernorm, "
       "mla_up_proj, core_attn, mlp, moe_act, shared_experts, moe")
      ->check(offers(names.recompute));
  degree("--recompute-unit", o.recompute_unit,
         "With full recompute: layers that keep one input together (default: 1)");
  word("--offload", o.offload,
       "Activations kept in host memory, with commas: attn_norm, qkv_linear, core_attn, attn_proj, "
       "mlp_norm, expert_fc1, moe_act")
      ->check(offers(names.offload));
  word("--recompute-stages", o.recompute_stages,
       "What single pipeline stages recompute instead: 0=full/1-2=moe_act+layernorm/3=none");
  word("--offload-stages", o.offload_stages,
       "What single pipeline stages offload instead: 0-1=core_attn+attn_proj/2=none");
  degree("--offload-layers", o.offload_layers, "Layers whose activations are kept in host memory");
  word("--sharding", o.sharding, "none, zero1, zero2 or zero3")
      ->check(offers(names.sharding));
  degree("--fsdp-group", o.fsdp_group,
         "Ranks of one shard group of zero2 or zero3 (default: all)");
  degree("--optimizer-instances", o.optimizer_instances,
         "Copies of the optimizer state that zero1 shards; gradients are summed across them");
  word("--dispatcher", o.dispatcher, "allgather, alltoall, deepep, hybridep or hierarchical")
      ->check(offers(names.dispatcher));
  degree("--dispatcher-sms", o.dispatcher_sms, "SMs that a deepep or hybridep exchange takes");
  degree("--microbatch-group", o.microbatch_group,
         "Microbatches of a group of the interleaved order (default: PP)");
  word("--cp-comm", o.cp_comm,
       "Keys and values of context parallelism: p2p, all_gather, a2a or a2a+p2p")
      ->check(offers(names.cp_comm));
  degree("--cp-a2a", o.cp_a2a, "With a2a+p2p: ranks of a group that exchanges heads");
  word("--cuda-graph", o.cuda_graph,
       "none, attention, router, partial (attention and router) or full_iteration")
      ->check(offers(names.cuda_graph));
  word("--main-grads-dtype", o.main_grads, "Of the gradients: fp32 or bf16")
      ->check(offers({"fp32", "bf16"}));
  word("--main-params-dtype", o.main_params,
       "Of the optimizer's copy of the weights: fp32, bf16, fp16, fp8, or remainder16 (what the bf16 "
       "weights lack of fp32)")
      ->check(offers(names.state_type));
  word("--exp-avg-dtype", o.exp_avg, "Of the first moment: fp32, bf16, fp16 or fp8")
      ->check(offers(moments));
  word("--exp-avg-sq-dtype", o.exp_avg_sq, "Of the second moment: fp32, bf16, fp16 or fp8")
      ->check(offers(moments));
  word("--grad-reduce-dtype", o.grad_reduce,
       "Of gradients while they are reduced: fp32 or bf16 (default: as they are kept)")
      ->check(offers({"fp32", "bf16"}));
  word("--optimizer", o.optimizer, "adamw, lamb, sgd (with momentum) or muon")
      ->check(offers(names.optimizer));
  const auto share = [&](const char* name, std::optional<double>& value, double most,
                         const char* text) {
    app.add_option(name, value, text)->check(in_range(0.0, most))->group(kShape);
  };
  share("--state-offload", o.state_offload, 1.0,
        "Share of the optimizer's state that is in host memory between steps");
  share("--cpu-optimizer", o.cpu_optimizer, 1.0,
        "Share of the optimizer's state that stays in host memory, the CPU making its step");
  share("--paged-stash", o.paged_stash, kMaxFactor,
        "Paged stash of what experts save: its size over the balanced mean, for example 1.1");
  share("--stash-capacity", o.stash_capacity, kMaxFactor,
        "With --paged-stash: rows a rank's experts compute with, over the balanced mean");
  const auto flag = [&](const char* name, bool& value, const char* text) {
    app.add_flag(name, value, text)->group(kShape);
  };
  flag("--ep-overlap", o.ep_overlap,
       "Hide expert communication of one microbatch behind the compute of another");
  flag("--delay-wgrad", o.delay_wgrad, "With --ep-overlap: weight gradients apart and later");
  flag("--tp-overlap", o.tp_overlap, "Tensor-parallel communication in pieces beside its GEMMs");
  flag("--shared-expert-overlap", o.shared_expert_overlap,
       "The shared expert beside the token exchange");
  flag("--tile-overlap", o.tile_overlap,
       "Expert exchanges inside the grouped GEMMs, tile by tile");
  flag("--fp8-dispatch", o.fp8_dispatch, "Rows travel to the experts in fp8");
  flag("--fp8-combine", o.fp8_combine, "Rows travel back from the experts in fp8");
  flag("--no-grad-overlap", o.no_grad_overlap, "Reduce gradients after the backward pass");
  flag("--no-param-overlap", o.no_param_overlap, "Gather weights before the forward pass");
  flag("--no-sequence-parallel", o.no_sequence_parallel, "Tensor parallelism without sequence's");
  flag("--no-fp8-params", o.no_fp8_params, "fp8 plans keep and gather their weights in bf16");
  flag("--no-flash-attention", o.no_flash_attention, "Attention that stores its score matrix");
  flag("--overlap-cpu-optimizer", o.overlap_cpu_optimizer,
       "With --cpu-optimizer: transfers beside the CPU's step");
  flag("--fp8-attention", o.fp8_attention, "Scores and values in the narrow precision too");
  flag("--fp8-head", o.fp8_head, "The output projection in the narrow precision too");
}

void add_plan_options(CLI::App& app, PlanOptions& o) {
  app.add_option("-p,--plan", o.plan_file, "A plan file; replaces all of the options below");
  add_target_options(app, o.target);
  add_shape_options(app, o.shape);
}

ShapeOptions parse_shape(const std::string& text, const std::string& flag) {
  ShapeOptions shape;
  Diagnostics problems;
  std::set<std::string> given;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const std::size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
    std::string problem = value.empty() && !is_switch(key) ? "'" + part + "' is not name=value"
                                                           : assign(shape, key, value);
    if (problem.empty() && !given.insert(key).second) problem = "'" + key + "' is there twice";
    if (!problem.empty()) {
      problems.error(ExitCode::bad_request, flag, "", problem, "for example tp=1,pp=2,vpp=8,ep=32");
    }
    begin = end + 1;
  }
  problems.throw_if_errors();
  return shape;
}

std::string first_shape_flag(const ShapeOptions& given) {
  ShapeOptions shape = given;
  for (const auto& [name, field] : degrees(shape)) {
    if (*field) return "--" + name;
  }
  for (const auto& [name, field] : words(shape)) {
    if (*field) return "--" + name;
  }
  for (const auto& [name, field] : shares(shape)) {
    if (*field) return "--" + name;
  }
  for (const auto& [name, field] : switches(shape)) {
    if (*field) return "--" + name;
  }
  return "";
}

}  // namespace pleat::cli
