// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The plan half; the model's half is in megatron_import_model.cpp. Where an argument is absent, the
// value is Megatron-LM's default.
#include "interop/megatron_import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/diagnostics.hpp"
#include "core/plan/dispatcher_traits.hpp"
#include "core/plan/layout_text.hpp"
#include "interop/flag_table.hpp"
#include "interop/megatron_layout.hpp"
#include "interop/other_names.hpp"

namespace pleat::interop {
namespace {

// A value by its word; a problem if there is none.
template <class Value>
Value choice(const ArgumentReader& r, const char* member, Value otherwise,
             std::initializer_list<std::pair<const char*, Value>> words) {
  const std::optional<std::string> word = r.text(member);
  if (!word) return otherwise;
  for (const auto& [name, value] : words)
    if (*word == name) return value;
  r.problem(member, "'" + *word + "' has no counterpart in a plan");
  return otherwise;
}

int degree(const ArgumentReader& r, const char* member, int otherwise) {
  const std::int64_t value = r.integer(member).value_or(otherwise);
  return static_cast<int>(std::clamp<std::int64_t>(value, 1, 1 << 20));
}

Precision read_precision(const ArgumentReader& r) {
  const std::string fp8 = r.text("fp8").value_or(r.text("fp8_format").value_or(""));
  const std::string fp4 = r.text("fp4").value_or(r.text("fp4_format").value_or(""));
  if (!fp4.empty()) return Precision::nvfp4;
  if (!fp8.empty()) {
    return choice(r, "fp8_recipe", Precision::fp8_delayed,
                  {{"tensorwise", Precision::fp8},
                   {"delayed", Precision::fp8_delayed},
                   {"blockwise", Precision::fp8_block},
                   {"mxfp8", Precision::mxfp8}});
  }
  if (r.is_on("fp16")) return Precision::fp16;
  return r.is_on("bf16") ? Precision::bf16 : Precision::fp32;
}

Sharding read_sharding(const ArgumentReader& r, ImportedRun& out) {
  if (r.is_on("use_torch_fsdp2")) {
    out.assumed.push_back("FSDP of PyTorch, priced as Megatron-FSDP");
    return r.is_on("torch_fsdp2_no_reshard_after_forward") ? Sharding::zero2 : Sharding::zero3;
  }
  if (!r.is_on("use_megatron_fsdp"))
    return r.is_on("use_distributed_optimizer") ? Sharding::zero1 : Sharding::none;
  return choice(r, "data_parallel_sharding_strategy", Sharding::zero3,
                {{"no_shard", Sharding::none},
                 {"optim", Sharding::zero1},
                 {"optim_grads", Sharding::zero2},
                 {"optim_grads_params", Sharding::zero3}});
}

Dispatcher read_dispatcher(const ArgumentReader& r) {
  const std::string type = r.text("moe_token_dispatcher_type").value_or("allgather");
  if (type == "allgather") return Dispatcher::allgather;
  if (type == "flex" && r.is_on("moe_enable_deepep")) return Dispatcher::deepep;
  if (type != "flex") return Dispatcher::alltoall;
  return choice(r, "moe_flex_dispatcher_backend", Dispatcher::deepep,
                {{"deepep", Dispatcher::deepep}, {"hybridep", Dispatcher::hybridep}});
}

CudaGraph read_graph(const ArgumentReader& r, ImportedRun& out) {
  std::string impl = r.text("cuda_graph_impl").value_or("none");
  if (r.is_on("enable_cuda_graph")) impl = "local";
  if (r.is_on("external_cuda_graph")) impl = "transformer_engine";
  if (impl == "none") return CudaGraph::none;
  std::vector<std::string> modules = r.list("cuda_graph_modules");
  for (const char* older : {"cuda_graph_scope", "cuda_graph_scope_deprecated"})
    if (modules.empty()) modules = r.list(older);
  const auto has = [&](const char* name) {
    return std::find(modules.begin(), modules.end(), name) != modules.end();
  };
  if (impl == "full_iteration" || has("full_iteration")) return CudaGraph::full_iteration;
  if (modules == std::vector<std::string>{"attn"}) return CudaGraph::attention;
  if (modules.empty() || has("attn") || has("full")) return CudaGraph::partial;
  if (has("moe_router") || has("moe_preprocess")) return CudaGraph::router;
  for (const std::string& module : modules) out.ignored.push_back("cuda_graph_modules " + module);
  return CudaGraph::none;
}

template <class Enum>
void read_modules(const ArgumentReader& r, const char* member, std::size_t count,
                  std::set<Enum>& values, ImportedRun& out) {
  for (const std::string& word : r.list(member)) {
    bool known = false;
    for (std::size_t i = 0; i < count && !known; ++i) {
      known = name_of(static_cast<Enum>(i)) == word;
      if (known) values.insert(static_cast<Enum>(i));
    }
    if (!known) out.ignored.push_back(fmt::format("{} {}", member, word));
  }
}

void read_recompute(const ArgumentReader& r, ImportedRun& out) {
  Plan& p = out.document.plan;
  const bool older = r.is_on("recompute_activations");  // its name for selective recompute
  const std::string granularity =
      r.text("recompute_granularity").value_or(older ? "selective" : "");
  if (granularity == "full") {
    p.recompute_full = true;
    const auto layers = [&](std::int64_t otherwise) {
      const std::int64_t n = r.integer("recompute_num_layers").value_or(otherwise);
      return static_cast<int>(std::min<std::int64_t>(n, 1 << 16));
    };
    if (r.text("recompute_method") == "block")
      p.recompute_layers = layers(0);
    else
      p.recompute_unit = std::max(1, layers(1));
  } else if (granularity == "selective") {
    read_modules(r, "recompute_modules", 7, p.recompute, out);
    if (r.list("recompute_modules").empty()) p.recompute = {Module::core_attn};
    if (r.is_on("moe_layer_recompute")) p.recompute.insert(Module::moe);
  }
}

DType state_type(const ArgumentReader& r, const char* member) {
  const std::string word = r.text(member).value_or("fp32");
  if (word == "fp32" || word == "torch.float32") return DType::fp32;
  if (word == "bf16" || word == "torch.bfloat16") return DType::bf16;
  if (word == "fp16" || word == "torch.float16") return DType::fp16;
  if (word == "fp8" || word == "torch.uint8") return DType::fp8;
  r.problem(member, "'" + word + "' has no counterpart in a plan", "fp32, bf16, fp16 or fp8");
  return DType::fp32;
}

void read_optimizer(const ArgumentReader& r, ImportedRun& out) {
  const std::string kind = r.text("optimizer").value_or("adam");
  auto& o = out.document.plan.optimizer;
  if (kind == "sgd")
    o.kind = OptimizerKind::sgd;
  else if (kind == "muon" || kind == "dist_muon")
    o.kind = OptimizerKind::muon;
  else if (kind != "adam")
    out.ignored.push_back("optimizer " + kind);
  if (kind == "dist_muon") out.document.plan.sharding = Sharding::zero1;
  if (r.is_on("offload_optimizer_states")) out.ignored.push_back("offload_optimizer_states");
  if (r.is_on("optimizer_cpu_offload")) {
    o.cpu_offload = r.number("optimizer_offload_fraction").value_or(1);
    o.cpu_offload_overlapped = r.is_on("overlap_cpu_optimizer_d2h_h2d");
  }
  if (!r.is_on("use_precision_aware_optimizer")) return;
  o.main_grads = state_type(r, "main_grads_dtype");
  o.main_params = state_type(r, "main_params_dtype");
  if (o.main_params == DType::fp32)
    out.assumed.push_back("main parameters whole in fp32, not remainders beside bf16 weights");
  o.exp_avg = state_type(r, "exp_avg_dtype");
  o.exp_avg_sq = state_type(r, "exp_avg_sq_dtype");
}

// Gradients are summed and sent in fp32 or in the type of the weights; only Megatron-FSDP has a
// type for each.
void read_gradients(const ArgumentReader& r, ImportedRun& out) {
  Plan& p = out.document.plan;
  const bool fp16 = p.precision == Precision::fp16;
  const bool as_weights =
      r.is_on("grad_reduce_in_bf16") || (fp16 && !r.is_on("accumulate_allreduce_grads_in_fp32"));
  if (!as_weights) return;
  p.optimizer.main_grads = p.precision == Precision::fp32 ? DType::fp32
                           : fp16                         ? DType::fp16
                                                          : DType::bf16;
  if (!r.is_on("use_megatron_fsdp")) return;
  const auto type = [&](const char* member, DType otherwise) {
    return choice(r, member, otherwise,
                  {{"auto", otherwise},
                   {"fp32", DType::fp32},
                   {"torch.float32", DType::fp32},
                   {"bf16", DType::bf16},
                   {"torch.bfloat16", DType::bf16}});
  };
  p.optimizer.main_grads = type("megatron_fsdp_main_grads_dtype", p.optimizer.main_grads);
  const DType sent = type("megatron_fsdp_grad_comm_dtype", p.optimizer.main_grads);
  if (sent == p.optimizer.main_grads) return;
  if (sent == DType::bf16)
    p.optimizer.grad_reduce = sent;
  else
    out.ignored.push_back("megatron_fsdp_grad_comm_dtype fp32");
}

// What is only meaningful with something else keeps the plan's default without it.
void read_overlap(const ArgumentReader& r, Plan& p) {
  p.overlap = {.expert_parallel = r.is_on("overlap_moe_expert_parallel_comm"),
               .delay_wgrad = r.is_on("delay_wgrad_compute"),
               .grad_reduce = r.is_on("overlap_grad_reduce"),
               .param_gather = p.sharding == Sharding::none || r.is_on("overlap_param_gather"),
               .gather_beside_step = r.is_on("overlap_param_gather_with_optimizer_step"),
               .tensor_parallel = p.attention.tp > 1 && r.is_on("tp_comm_overlap"),
               .shared_expert = r.is_on("moe_shared_expert_overlap")};
}

// Absent, the permutation and the router are chains of kernels. No argument tells of scales.
void read_fusions(const ArgumentReader& r, ImportedRun& out) {
  Plan& p = out.document.plan;
  if (out.document.model.moe) {
    p.fusions.permute = r.is_on("moe_permute_fusion");
    p.fusions.router = r.is_on("moe_router_fusion");
  }
  p.ddp_bucket_size = static_cast<int>(r.integer("ddp_bucket_size", 2'000'000'000).value_or(0));
  if (const auto buckets = r.integer("ddp_num_buckets"))
    out.ignored.push_back(fmt::format("ddp_num_buckets {}", *buckets));
}

// Virtual stages of a layout, which may repeat parts of itself.
std::int64_t layout_stages(const ArgumentReader& r, const std::string& layout) {
  const LayoutSyntax syntax = check_layout_syntax(layout);
  if (syntax.problem == nullptr) return read_layout_facts(layout).stages;
  r.problem("pipeline_model_parallel_layout", syntax.problem);
  return 1;
}

void read_pipeline(const ArgumentReader& r, ImportedRun& out) {
  Plan& p = out.document.plan;
  p.attention.pp = degree(r, "pipeline_model_parallel_size", 1);
  p.layout = r.text("pipeline_model_parallel_layout").value_or("");
  std::erase(p.layout, '\\');  // "Et\\|(tt\\|)*6", quoted for a shell of Megatron-LM's tests
  p.microbatch_group =
      static_cast<int>(r.integer("microbatch_group_size_per_virtual_pipeline_stage")
                           .value_or(r.integer("microbatch_group_size_per_vp_stage").value_or(0)));
  if (const auto v = r.integer("num_virtual_stages_per_pipeline_rank")) {
    p.vpp = static_cast<int>(*v);
  } else if (const auto n = r.integer("num_layers_per_virtual_pipeline_stage"); n && *n > 0) {
    p.vpp = static_cast<int>(counted_layers(r, out.document.model) / p.attention.pp / *n);
  } else if (!p.layout.empty()) {
    p.vpp = static_cast<int>(layout_stages(r, p.layout) / p.attention.pp);
  } else if (const auto size = r.integer("virtual_pipeline_model_parallel_size")) {
    p.vpp = static_cast<int>(*size);
  }
  p.vpp = std::max(p.vpp, 1);
  read_split(r, out.document.model, p);
  if (p.attention.pp == 1) p.microbatch_group = 0;
}

// The rest of the world after three degrees, at least 1; degrees are at most 2^20.
int rest_of(int gpus, std::int64_t a, std::int64_t b, std::int64_t c) {
  return static_cast<int>(std::max<std::int64_t>(1, gpus / (a * b * c)));
}

// Ranks that exchange heads, then groups around the ring.
void read_cp_groups(const ArgumentReader& r, Plan& p) {
  const char* const member = "hierarchical_context_parallel_sizes";
  const std::vector<std::string> sizes = r.list(member);
  p.cp_a2a = degree(r, member, 1);
  if (sizes.size() != 2 || std::to_string(p.attention.cp / p.cp_a2a) != sizes[1] ||
      p.attention.cp % p.cp_a2a != 0)
    r.problem(member, "must be two sizes whose product is the context-parallel size");
}

void read_grids(const ArgumentReader& r, int gpus, ImportedRun& out) {
  PlanDocument& d = out.document;
  Plan& p = d.plan;
  p.attention.tp = degree(r, "tensor_model_parallel_size", 1);
  p.attention.cp = degree(r, "context_parallel_size", 1);
  if (gpus == 0 && !r.text("world_size"))
    r.problem("world_size", "the number of GPUs is not said", "--gpus N");
  const std::int64_t world = gpus > 0 ? gpus : r.integer("world_size").value_or(1);
  d.gpus = static_cast<int>(std::min<std::int64_t>(world, 1 << 20));
  p.attention.dp = rest_of(d.gpus, p.attention.tp, p.attention.cp, p.attention.pp);
  const bool moe = d.model.moe.has_value();
  p.expert.ep = moe ? degree(r, "expert_model_parallel_size", 1) : 1;
  p.expert.etp = moe ? degree(r, "expert_tensor_parallel_size", p.attention.tp) : 1;
  p.expert.edp = rest_of(d.gpus, p.expert.ep, p.expert.etp, p.attention.pp);
  p.cp_comm = p.attention.cp == 1 ? CpComm::p2p
                                  : choice(r, "cp_comm_type", CpComm::p2p,
                                           {{"p2p", CpComm::p2p},
                                            {"allgather", CpComm::all_gather},
                                            {"all_gather", CpComm::all_gather},
                                            {"a2a", CpComm::all_to_all},
                                            {"a2a+p2p", CpComm::a2a_p2p}});
  if (p.cp_comm == CpComm::a2a_p2p) read_cp_groups(r, p);
}

// Copies of the sharded state; of FSDP each copy is a shard group.
void read_instances(const ArgumentReader& r, ImportedRun& out) {
  Plan& p = out.document.plan;
  const int instances = degree(r, "num_distributed_optimizer_instances", 1);
  const int ranks = p.attention.dp * p.attention.cp;
  if (instances == 1 || p.sharding == Sharding::none) return;
  if (p.sharding == Sharding::zero1)
    p.optimizer_instances = instances;
  else
    p.fsdp_group = std::max(1, ranks / instances);
  if (ranks % instances != 0)
    r.problem("num_distributed_optimizer_instances",
              fmt::format("does not divide the {} data-parallel ranks", ranks));
  const std::string outer = r.text("outer_dp_sharding_strategy").value_or("no_shard");
  if (p.sharding != Sharding::zero1 && outer != "no_shard")
    out.ignored.push_back("outer_dp_sharding_strategy " + outer);
}

// A negative factor is over the largest rows that were seen, which a plan does not say.
void read_stash(const ArgumentReader& r, Plan& p) {
  if (!r.is_on("moe_paged_stash")) return;
  p.paged_stash.buffer =
      std::abs(r.number("moe_paged_stash_buffer_size_factor_cuda").value_or(1.1));
  p.paged_stash.capacity = r.number("moe_expert_rank_capacity_factor").value_or(1);
}

void read_rest(const ArgumentReader& r, ImportedRun& out) {
  Plan& p = out.document.plan;
  const bool moe = out.document.model.moe.has_value();
  p.micro_batch = static_cast<int>(r.required("micro_batch_size"));
  p.sequence_parallel = p.attention.tp > 1 && r.is_on("sequence_parallel");
  p.precision = read_precision(r);
  p.sharding = read_sharding(r, out);
  p.dispatcher = moe ? read_dispatcher(r) : Dispatcher::alltoall;
  const bool flex = is_fused(p.dispatcher);
  const auto sms = [&](const char* member) { return r.integer(member).value_or(0); };
  if (flex) {
    const std::int64_t own =
        sms(p.dispatcher == Dispatcher::deepep ? "moe_deepep_num_sms" : "moe_hybridep_num_sms");
    const std::int64_t any = sms("moe_flex_dispatcher_num_sms");
    p.dispatcher_sms = static_cast<int>(std::min<std::int64_t>(any > 0 ? any : own, 1024));
  }
  p.cuda_graph = read_graph(r, out);
  read_recompute(r, out);
  if (r.is_on("fine_grained_activation_offloading"))
    read_modules(r, "offload_modules", 7, p.offload, out);
  p.offload_layers = static_cast<int>(sms("cpu_offloading_num_layers"));
  p.flash_attention =
      r.text("attention_backend").value_or("auto").find("unfused") == std::string::npos;
  p.fp8_head = r.is_on("fp8_output_proj");
  const bool narrow = p.precision == Precision::fp8 || p.precision == Precision::fp8_delayed ||
                      p.precision == Precision::mxfp8;
  // Without a sharded optimizer the flag is not allowed, and without fp8 it says nothing.
  p.fp8_params = !narrow || p.sharding == Sharding::none || r.is_on("fp8_param_gather");
  read_instances(r, out);
  read_overlap(r, p);
  read_fusions(r, out);
  read_optimizer(r, out);
  read_gradients(r, out);
  read_stash(r, p);
}

// Another model than the arguments describe; sizes in which they differ are said.
void replace_model(const ModelSpec& model, const ArgumentReader& r, ImportedRun& out) {
  const auto differs = [&](const char* member, std::int64_t has) {
    const auto said = r.integer(member);
    if (said && *said != has)
      out.assumed.push_back(fmt::format("{} {}, of {}; the arguments say {}", member, has,
                                        model.name, *said));
  };
  differs("num_layers", model.layers);
  differs("hidden_size", model.hidden);
  differs("num_attention_heads", model.attention.heads);
  differs("num_experts", model.moe ? model.moe->experts : 0);
  std::erase_if(out.assumed, [](const std::string& a) { return a.starts_with("vocab_size"); });
  out.document.model = model;
}

// Without a global batch Megatron-LM makes a microbatch of each rank.
void read_batch(const ArgumentReader& r, ImportedRun& out) {
  PlanDocument& d = out.document;
  if (const auto schedule = r.text("step_batch_size_schedule")) {
    // "0:384 200B:768": from these samples or tokens on, so many.
    const std::string size = schedule->substr(schedule->rfind(':') + 1);
    const Arguments last{{"step_batch_size_schedule", {size}}};
    d.workload.global_batch =
        ArgumentReader(last, r.where(), r.problems()).required("step_batch_size_schedule");
    out.assumed.push_back("the global batch of the end of its schedule");
  } else if (r.text("global_batch_size")) {
    d.workload.global_batch = r.required("global_batch_size");
  } else {
    d.workload.global_batch = std::int64_t{d.plan.micro_batch} * d.plan.attention.dp;
    out.assumed.push_back(fmt::format("global_batch_size {}, a microbatch of each rank",
                                      d.workload.global_batch));
  }
  if (!r.list("rampup_batch_size").empty())
    out.assumed.push_back("the global batch of the end of its ramp");
}

}  // namespace

ImportedRun import_arguments(const Arguments& given, const ImportChoices& choices,
                             const std::string& where) {
  ImportedRun out;
  const Arguments values = in_todays_names(given, out);
  Diagnostics problems, of_model;
  const ArgumentReader r(values, where, problems);
  // What is wrong with a model that another one replaces does not matter.
  const ArgumentReader model_reader(values, where, choices.model ? of_model : problems);
  PlanDocument& d = out.document;
  d.runtime = Runtime::megatron;
  d.model = read_megatron_model(model_reader, choices, out);
  if (choices.model) replace_model(*choices.model, r, out);
  d.model_name = d.model.name;
  const auto older = r.integer("encoder_seq_length");
  d.workload.seq_len = older ? *older : r.required("seq_length");
  if (d.model.moe) {
    d.workload.capacity_factor = r.number("moe_expert_capacity_factor").value_or(0);
    d.workload.pad_to_capacity = r.is_on("moe_pad_expert_input_to_capacity");
    out.assumed.push_back(r.is_on("moe_router_force_load_balancing")
                              ? "routing forced, as the run's"
                              : "routing forced; the run's own was not");
  }
  read_pipeline(r, out);
  read_grids(r, choices.gpus, out);
  read_rest(r, out);
  read_batch(r, out);
  problems.throw_if_errors();
  // The limits of a plan file hold here too: top-k over experts, a million heads.
  static_cast<void>(read_plan_document(write_plan_document(d), where));
  out.asked.insert(r.asked().begin(), r.asked().end());
  out.asked.insert(model_reader.asked().begin(), model_reader.asked().end());
  return out;
}

ImportedRun import_arguments(const Arguments& values, int gpus, const std::string& where) {
  return import_arguments(values, ImportChoices{.gpus = gpus, .vocab = 0, .model = {}}, where);
}

}  // namespace pleat::interop
