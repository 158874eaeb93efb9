// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One row a field of the plan document, in the words of torchtitan's TOML. Settings are
// "section.key" with the value as TOML. FSDP2 shards, pipelines schedule by name, and what is
// recomputed is chosen by torchtitan.
#include "cli/interop/titan_export.hpp"

#include <fmt/format.h>

#include "cli/interop/megatron_export.hpp"
#include "cli/interop/quoting.hpp"

namespace pleat::interop {
namespace {

using C = const ExportContext&;

void text(Exported& e, const char* name, const std::string& value) {
  add(e, name, {json_string(value)});
}

// zero2 and zero3 shard over DP x CP in groups; CP counts as its own degree.
void write_dp(C c, Exported& e) {
  const Plan& p = c.plan();
  int shard = is_fsdp(c) ? p.attention.dp : 1;
  if (is_fsdp(c) && p.fsdp_group > 0) shard = std::max(1, p.fsdp_group / p.attention.cp);
  add(e, "parallelism.data_parallel_shard_degree", std::int64_t{shard});
  add(e, "parallelism.data_parallel_replicate_degree", std::int64_t{p.attention.dp / shard});
}

void write_pp(C c, Exported& e) {
  const Plan& p = c.plan();
  add(e, "parallelism.pipeline_parallel_degree", std::int64_t{p.attention.pp});
  if (p.attention.pp == 1) return;
  text(e, "parallelism.pipeline_parallel_schedule", p.vpp > 1 ? "Interleaved1F1B" : "1F1B");
  add(e, "parallelism.pipeline_parallel_microbatch_size", std::int64_t{p.micro_batch});
}

// Embedding and loss each take the place of so many layers of their stage.
std::int64_t less_layers(C c) { return splits_evenly(c) ? 0 : 1; }

void write_vpp(C c, Exported& e) {
  if (c.plan().vpp == 1) return;
  const std::int64_t stages = std::int64_t{c.plan().attention.pp} * c.plan().vpp;
  const std::int64_t counted = c.model().layers + 2 * less_layers(c);
  add(e, "parallelism.pipeline_parallel_layers_per_stage", (counted + stages - 1) / stages);
}

void write_layout(C c, Exported& e) {
  if (c.plan().attention.pp == 1) return;
  if (c.plan().layout.empty()) {
    add(e, "parallelism.pipeline_parallel_first_stage_less_layers", less_layers(c));
    add(e, "parallelism.pipeline_parallel_last_stage_less_layers", less_layers(c));
    return;
  }
  miss(e, "plan.layout", c.plan().layout,
       "torchtitan splits the layers itself, or by parallelism.module_fqns_per_model_part");
}

// One conversion of the linear layers, and of the experts where there are any.
void convert(C c, Exported& e, const std::string& kind, const char* recipe) {
  text(e, "training.mixed_precision_param", "bfloat16");
  std::string converters = json_string("quantize.linear." + kind);
  add(e, "quantize.linear." + kind + ".recipe_name", {json_string(recipe)});
  if (is_moe(c)) {
    converters += ", " + json_string("quantize.grouped_mm." + kind);
    add(e, "quantize.grouped_mm." + kind + ".fqns", {"[\"experts\"]"});
  }
  add(e, "model.converters", {"[" + converters + "]"});
}

void write_precision(C c, Exported& e) {
  switch (c.plan().precision) {
    case Precision::fp32:
      return text(e, "training.mixed_precision_param", "float32");
    case Precision::bf16:
      return text(e, "training.mixed_precision_param", "bfloat16");
    case Precision::fp8:
      return convert(c, e, "float8", "tensorwise");
    case Precision::mxfp8:
      return convert(c, e, "mx", "mxfp8_cublas");
    case Precision::fp16:
    case Precision::fp8_delayed:
    case Precision::fp8_block:
    case Precision::nvfp4:
      return;  // refused
  }
}

void write_reshard(C c, Exported& e) {
  if (is_fsdp(c)) {
    text(e, "parallelism.fsdp_reshard_after_forward",
         c.plan().sharding == Sharding::zero3 ? "always" : "never");
  }
}

void write_cp_comm(C c, Exported& e) {
  if (c.plan().attention.cp == 1) return;
  text(e, "parallelism.context_parallel_rotate_method",
       c.plan().cp_comm == CpComm::all_gather ? "allgather" : "alltoall");
}

void write_recompute(C c, Exported& e) {
  const Plan& p = c.plan();
  text(e, "activation_checkpoint.mode",
       p.recompute_full      ? "full"
       : p.recompute.empty() ? "none"
                             : "selective");
  if (p.recompute.empty()) return;
  text(e, "activation_checkpoint.selective_ac_option", "op");
  std::string modules;
  for (const Module m : p.recompute) modules += (modules.empty() ? "" : ",") + name_of(m);
  miss(e, "plan.recompute", modules, "torchtitan's selective mode chooses by operation");
}

// Remarks for what torchtitan does not let a file say.
void miss_if(Exported& e, bool differs, const char* field, const std::string& value,
             const char* text) {
  if (differs) miss(e, field, value, text);
}

const char* const kOwnWay = "torchtitan decides itself";

std::vector<FieldRule> make_fields() {
  return {
      {"plan.attention.tp",
       [](C c, Exported& e) {
         add(e, "parallelism.tensor_parallel_degree", std::int64_t{c.plan().attention.tp});
       },
       nullptr},
      {"plan.attention.cp",
       [](C c, Exported& e) {
         add(e, "parallelism.context_parallel_degree", std::int64_t{c.plan().attention.cp});
       },
       nullptr},
      {"plan.attention.dp", write_dp, nullptr},
      {"plan.attention.pp", write_pp, nullptr},
      {"plan.expert.etp",
       [](C c, Exported& e) {
         if (is_moe(c))
           add(e, "parallelism.expert_tensor_parallel_degree", std::int64_t{c.plan().expert.etp});
       },
       nullptr},
      {"plan.expert.ep",
       [](C c, Exported& e) {
         if (is_moe(c))
           add(e, "parallelism.expert_parallel_degree", std::int64_t{c.plan().expert.ep});
       },
       nullptr},
      {"plan.expert.edp", nullptr, "dp_shard CP TP = EDP ETP EP"},
      {"plan.vpp", write_vpp, nullptr},
      {"plan.microbatch_group",
       [](C c, Exported& e) {
         miss_if(e, c.plan().microbatch_group > 0, "plan.microbatch_group",
                 std::to_string(c.plan().microbatch_group), kOwnWay);
       },
       nullptr},
      {"plan.layout", write_layout, nullptr},
      {"plan.micro_batch",
       [](C c, Exported& e) {
         // Of a data-parallel rank: with a pipeline all its microbatches, else one.
         const std::int64_t local = c.plan().attention.pp > 1
                                        ? c.workload().global_batch / c.plan().attention.dp
                                        : c.plan().micro_batch;
         add(e, "training.local_batch_size", local);
       },
       nullptr},
      {"plan.sequence_parallel", nullptr, "always with tensor parallelism; false is refused"},
      {"plan.precision", write_precision, nullptr},
      {"plan.sharding", write_reshard, nullptr},
      {"plan.dispatcher", nullptr, "all-to-all; anything else is refused"},
      {"plan.cuda_graph",
       [](C c, Exported& e) {
         miss_if(e, c.plan().cuda_graph != CudaGraph::none, "plan.cuda_graph",
                 name_of(c.plan().cuda_graph), "no setting");
       },
       nullptr},
      {"plan.dispatcher_sms", nullptr, "of dispatchers that are refused"},
      {"plan.cp_comm", write_cp_comm, nullptr},
      {"plan.recompute", write_recompute, nullptr},
      {"plan.recompute_full", nullptr, "activation_checkpoint.mode"},
      {"plan.recompute_layers",
       [](C c, Exported& e) {
         miss_if(e, c.plan().recompute_layers > 0, "plan.recompute_layers",
                 std::to_string(c.plan().recompute_layers), "all layers or none");
       },
       nullptr},
      {"plan.offload", nullptr, "refused"},
      {"plan.offload_layers", nullptr, "refused"},
      {"plan.flash_attention", nullptr, "false is refused"},
      {"plan.fp8_attention",
       [](C c, Exported& e) {
         miss_if(e, c.plan().fp8_attention, "plan.fp8_attention", "true", "no setting");
       },
       nullptr},
      {"plan.fp8_head",
       [](C c, Exported& e) {
         miss_if(e, c.plan().fp8_head, "plan.fp8_head", "true",
                 "float8 filters out the output projection unless its filter_fqns says otherwise");
       },
       nullptr},
      {"plan.fp8_params",
       [](C c, Exported& e) {
         if (c.plan().precision == Precision::fp8)
           add(e, "quantize.linear.float8.enable_fsdp_float8_all_gather",
               {c.plan().fp8_params ? "true" : "false"});
       },
       nullptr},
      {"plan.fsdp_group", nullptr, "data_parallel_shard_degree"},
      {"plan.overlap.expert_parallel",
       [](C c, Exported& e) {
         miss_if(e, c.plan().overlap.expert_parallel, "plan.overlap.expert_parallel", "true",
                 "the DualPipeV schedule is the nearest");
       },
       nullptr},
      {"plan.overlap.delay_wgrad",
       [](C c, Exported& e) {
         miss_if(e, c.plan().overlap.delay_wgrad, "plan.overlap.delay_wgrad", "true", "no setting");
       },
       nullptr},
      {"plan.overlap.grad_reduce", nullptr, "FSDP2 always overlaps"},
      {"plan.overlap.param_gather", nullptr, "FSDP2 always overlaps"},
      {"plan.overlap.tensor_parallel",
       [](C c, Exported& e) {
         if (c.plan().overlap.tensor_parallel) {
           add(e, "parallelism.enable_async_tensor_parallel", {"true"});
           add(e, "compile.enable", {"true"});
         }
       },
       nullptr},
      {"plan.overlap.shared_expert",
       [](C c, Exported& e) {
         miss_if(e, c.plan().overlap.shared_expert, "plan.overlap.shared_expert", "true", kOwnWay);
       },
       nullptr},
      {"plan.optimizer.main_grads", nullptr, "fp32, anything else is refused"},
      {"plan.optimizer.main_params", nullptr, "fp32, anything else is refused"},
      {"plan.optimizer.exp_avg", nullptr, "fp32, anything else is refused"},
      {"plan.optimizer.exp_avg_sq", nullptr, "fp32, anything else is refused"},
      {"workload.seq_len",
       [](C c, Exported& e) { add(e, "training.seq_len", c.workload().seq_len); }, nullptr},
      {"workload.global_batch",
       [](C c, Exported& e) { add(e, "training.global_batch_size", c.workload().global_batch); },
       nullptr},
      {"workload.routing",
       [](C c, Exported& e) {
         if (is_moe(c) && c.workload().routing == Routing::forced)
           add(e, "debug.moe_force_load_balance", {"true"});
       },
       nullptr},
      {"workload.capacity_factor", nullptr, "no capacity; one is refused"},
      {"workload.pad_to_capacity", nullptr, "no capacity; one is refused"},
      {"workload.imbalance",
       [](C c, Exported& e) {
         miss_if(e, c.workload().imbalance != 1.0, "workload.imbalance",
                 fmt::format("{}", c.workload().imbalance),
                 "an assumption about routing, not a setting");
       },
       nullptr},
      {"cluster.name", nullptr, "the launcher's"},
      {"cluster.gpus",
       [](C c, Exported& e) { e.notes.push_back(fmt::format("world size {}", c.document.gpus)); },
       nullptr},
  };
}

std::vector<Refusal> make_refusals() {
  const char* const kConfig = "torchtitan/config/job_config.py";
  return {
      {"plan.precision", "has fp32, bf16, fp8 and mxfp8 only", "one of them", kConfig,
       [](C c) {
         const Precision p = c.plan().precision;
         return p == Precision::fp16 || p == Precision::fp8_delayed || p == Precision::fp8_block ||
                p == Precision::nvfp4;
       }},
      {"plan.sharding", "shards by FSDP2: optimizer states alone cannot be", "none, zero2 or zero3",
       kConfig,
       [](C c) { return c.plan().sharding == Sharding::zero1 && c.plan().attention.dp > 1; }},
      {"plan.fsdp_group", "shard groups must be whole multiples of CP", "", kConfig,
       [](C c) {
         return is_fsdp(c) && c.plan().fsdp_group > 0 &&
                c.plan().fsdp_group % c.plan().attention.cp != 0;
       }},
      {"plan.dispatcher", "exchanges tokens by all-to-all", "alltoall", kConfig,
       [](C c) { return is_moe(c) && c.plan().dispatcher != Dispatcher::alltoall; }},
      {"plan.cp_comm", "has ring and gather context parallelism", "p2p or all_gather", kConfig,
       [](C c) { return c.plan().attention.cp > 1 && c.plan().cp_comm == CpComm::all_to_all; }},
      {"plan.sequence_parallel", "tensor parallelism comes with sequence parallelism", "true",
       kConfig, [](C c) { return c.plan().attention.tp > 1 && !c.plan().sequence_parallel; }},
      {"plan.expert.etp", "is 1 or TP", "1 or TP", kConfig,
       [](C c) {
         return is_moe(c) && c.plan().expert.etp != 1 &&
                c.plan().expert.etp != c.plan().attention.tp;
       }},
      {"plan.offload", "keeps no activations in host memory", "none", kConfig,
       [](C c) { return !c.plan().offload.empty() || c.plan().offload_layers > 0; }},
      {"plan.flash_attention", "always uses fused attention", "true", kConfig,
       [](C c) { return !c.plan().flash_attention; }},
      {"plan.optimizer", "optimizer states are fp32", "fp32", kConfig,
       [](C c) { return narrow_optimizer(c); }},
      {"workload.capacity_factor", "drops no tokens", "0", kConfig,
       [](C c) { return is_moe(c) && c.workload().capacity_factor > 0; }},
  };
}

}  // namespace

const std::vector<FieldRule>& titan_fields() {
  static const std::vector<FieldRule> rules = make_fields();
  return rules;
}

const std::vector<Refusal>& titan_refusals() {
  static const std::vector<Refusal> list = make_refusals();
  return list;
}

}  // namespace pleat::interop
