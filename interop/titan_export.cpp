// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One row a field of the plan document, in the words of torchtitan's TOML. Settings are
// "section.key" with the value as TOML. FSDP2 shards, pipelines schedule by name, and what is
// recomputed is chosen by torchtitan.
#include "interop/export_targets.hpp"

#include <fmt/format.h>

#include "interop/megatron_export.hpp"
#include "interop/quoting.hpp"

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

// Only DualPipeV pairs passes of two microbatches, and does so by default.
void write_pairs(C c, Exported& e) {
  const bool pairs = c.plan().overlap.expert_parallel;
  if (c.plan().schedule == PipelineSchedule::dualpipe_v) {
    add(e, "parallelism.pipeline_parallel_expert_parallel_overlap", {pairs ? "true" : "false"});
  } else if (pairs) {
    miss(e, "plan.overlap.expert_parallel", "true", "only the dualpipe-v schedule pairs passes");
  }
}

void write_pp(C c, Exported& e) {
  const Plan& p = c.plan();
  add(e, "parallelism.pipeline_parallel_degree", std::int64_t{p.attention.pp});
  if (p.attention.pp == 1) return;
  text(e, "parallelism.pipeline_parallel_schedule", titan_schedule(p));
  add(e, "parallelism.pipeline_parallel_microbatch_size", std::int64_t{p.micro_batch});
}

// Embedding and loss each take the place of so many layers of their stage.
std::int64_t less_layers(C c) { return splits_evenly(c) ? 0 : 1; }

void write_titan_vpp(C c, Exported& e) {
  if (c.plan().vpp == 1) return;
  const std::int64_t stages = std::int64_t{c.plan().attention.pp} * c.plan().vpp;
  const std::int64_t counted = c.model().layers + 2 * less_layers(c);
  add(e, "parallelism.pipeline_parallel_layers_per_stage", (counted + stages - 1) / stages);
}

void write_titan_layout(C c, Exported& e) {
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

void write_titan_precision(C c, Exported& e) {
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

void write_titan_cp_comm(C c, Exported& e) {
  if (c.plan().attention.cp == 1) return;
  text(e, "parallelism.context_parallel_rotate_method",
       c.plan().cp_comm == CpComm::all_gather ? "allgather" : "alltoall");
}

void write_titan_recompute(C c, Exported& e) {
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

std::vector<FieldRule> make_titan_fields() {
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
      {"plan.vpp", write_titan_vpp, nullptr},
      {"plan.schedule", nullptr, "pipeline_parallel_schedule, beside the degree"},
      {"plan.microbatch_group",
       [](C c, Exported& e) {
         miss_if(e, c.plan().microbatch_group > 0, "plan.microbatch_group",
                 std::to_string(c.plan().microbatch_group), kOwnWay);
       },
       nullptr},
      {"plan.layout", write_titan_layout, nullptr},
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
      {"plan.precision", write_titan_precision, nullptr},
      {"plan.sharding", write_reshard, nullptr},
      {"plan.dispatcher", nullptr, "all-to-all; anything else is refused"},
      {"plan.cuda_graph",
       [](C c, Exported& e) {
         miss_if(e, c.plan().cuda_graph != CudaGraph::none, "plan.cuda_graph",
                 name_of(c.plan().cuda_graph), "no setting");
       },
       nullptr},
      {"plan.dispatcher_sms", nullptr, "of dispatchers that are refused"},
      {"plan.cp_comm", write_titan_cp_comm, nullptr},
      {"plan.cp_a2a", nullptr, "of a2a+p2p, which is refused"},
      {"plan.recompute", write_titan_recompute, nullptr},
      {"plan.recompute_full", nullptr, "activation_checkpoint.mode"},
      {"plan.recompute_layers", nullptr, "all, anything else is refused"},
      {"plan.recompute_unit", nullptr, "1, anything else is refused"},
      {"plan.stages", nullptr, "all stages do the same, anything else is refused"},
      {"plan.paged_stash.buffer", nullptr, "refused"},
      {"plan.paged_stash.capacity", nullptr, "of a stash, which is refused"},
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
      {"plan.optimizer_instances", nullptr, "of zero1, which is refused"},
      {"plan.overlap.expert_parallel", write_pairs, nullptr},
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
      {"plan.overlap.tile_level",
       [](C c, Exported& e) {
         miss_if(e, c.plan().overlap.tile_level, "plan.overlap.tile_level", "true", "no setting");
       },
       nullptr},
      {"plan.ddp_bucket_size",
       [](C c, Exported& e) {
         miss_if(e, c.plan().ddp_bucket_size > 0, "plan.ddp_bucket_size",
                 std::to_string(c.plan().ddp_bucket_size), "FSDP2 reduces layer by layer");
       },
       nullptr},
      {"plan.fusions.permute",
       [](C c, Exported& e) {
         miss_if(e, !c.plan().fusions.permute, "plan.fusions.permute", "false", kOwnWay);
       },
       nullptr},
      {"plan.fusions.router",
       [](C c, Exported& e) {
         miss_if(e, !c.plan().fusions.router, "plan.fusions.router", "false", kOwnWay);
       },
       nullptr},
      {"plan.fusions.scale_init",
       [](C c, Exported& e) {
         miss_if(e, !c.plan().fusions.scale_init, "plan.fusions.scale_init", "false", kOwnWay);
       },
       nullptr},
      {"plan.fusions.scale_order",
       [](C c, Exported& e) {
         miss_if(e, !c.plan().fusions.scale_order, "plan.fusions.scale_order", "false", kOwnWay);
       },
       nullptr},
      {"plan.optimizer.grad_reduce", nullptr, "fp32, anything else is refused"},
      {"plan.optimizer.kind", nullptr, "AdamW, anything else is refused"},
      {"plan.optimizer.state_offload", nullptr, "refused"},
      {"plan.optimizer.cpu_offload", nullptr, "refused"},
      {"plan.optimizer.cpu_offload_overlapped", nullptr, "of cpu_offload, which is refused"},
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
      {"workload.expert_spread",
       [](C c, Exported& e) {
         miss_if(e, c.workload().expert_spread > 0, "workload.expert_spread",
                 fmt::format("{}", c.workload().expert_spread),
                 "an assumption about routing, not a setting");
       },
       nullptr},
      {"workload.expert_loads",
       [](C c, Exported& e) {
         miss_if(e, !c.workload().expert_loads.empty(), "workload.expert_loads", "given",
                 "known of routing, not a setting");
       },
       nullptr},
      {"workload.documents",
       [](C c, Exported& e) {
         miss_if(e, !c.workload().documents.empty(), "workload.documents", documents_text(c),
                 "the data loader packs them; the model's attn_mask_type separates them");
       },
       nullptr},
      {"workload.straggler_slowdown",
       [](C c, Exported& e) {
         miss_if(e, c.workload().straggler_slowdown > 0, "workload.straggler_slowdown",
                 fmt::format("{}", c.workload().straggler_slowdown),
                 "an assumption about the machines, not a setting");
       },
       nullptr},
      {"cluster.name", nullptr, "the launcher's"},
      {"cluster.gpus",
       [](C c, Exported& e) { e.notes.push_back(fmt::format("world size {}", c.document.gpus)); },
       nullptr},
  };
}

}  // namespace

const char* titan_schedule(const Plan& p) {
  switch (p.schedule) {
    case PipelineSchedule::one_f_one_b:
      return p.vpp > 1 ? "Interleaved1F1B" : "1F1B";
    case PipelineSchedule::zb_v:
      return "ZBVZeroBubble";
    case PipelineSchedule::dualpipe_v:
      return "DualPipeV";
    case PipelineSchedule::zb_h1:
    case PipelineSchedule::dualpipe:
      return nullptr;
  }
  return nullptr;
}

const std::vector<FieldRule>& titan_fields() {
  static const std::vector<FieldRule> rules = make_titan_fields();
  return rules;
}

}  // namespace pleat::interop
