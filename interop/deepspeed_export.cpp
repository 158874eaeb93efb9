// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One row a field of the plan document as dotted keys of DeepSpeed's JSON. Pipelines and sequence
// parallelism are code there, not configuration.
#include "interop/export_targets.hpp"

#include <fmt/format.h>

#include "interop/megatron_export.hpp"
#include "interop/quoting.hpp"

namespace pleat::interop {
namespace {

using C = const ExportContext&;

void yes(Exported& e, const char* name) { add(e, name, {"true"}); }

// DeepSpeed counts each rank of AutoTP as one with samples of its own (runtime/config.py:602), so
// its train_batch_size is TP times the samples of a step.
void write_batch(C c, Exported& e) {
  const std::int64_t tp = c.plan().attention.tp;
  if (tp > 1) {
    e.notes.push_back(fmt::format("train_batch_size counts the {} ranks of TP: {} of it are {} "
                                  "sequences a step, which the data loader gives to each alike",
                                  tp, tp * c.workload().global_batch, c.workload().global_batch));
  }
  add(e, "train_batch_size", tp * c.workload().global_batch);
  add(e, "train_micro_batch_size_per_gpu", std::int64_t{c.plan().micro_batch});
  add(e, "gradient_accumulation_steps", c.plan().microbatches(c.workload().global_batch));
}

void write_deepspeed_precision(C c, Exported& e) {
  if (c.plan().precision == Precision::bf16) yes(e, "bf16.enabled");
  if (c.plan().precision == Precision::fp16) yes(e, "fp16.enabled");
}

// AutoEP's presets, by the model_type of transformers (module_inject/auto_ep_presets).
const char* preset_of(const std::string& model_type) {
  struct Preset {
    const char* model_type;
    const char* preset;
  };
  constexpr Preset kPresets[] = {{"mixtral", "mixtral"},
                                 {"qwen3_moe", "qwen3_moe"},
                                 {"qwen2_moe", "qwen3_moe"},
                                 {"qwen3_5_moe_text", "qwen3_5_moe"},
                                 {"deepseek_v2", "deepseek_v2"},
                                 {"deepseek_v3", "deepseek_v3"}};
  for (const Preset& p : kPresets)
    if (model_type == p.model_type) return p.preset;
  return nullptr;
}

bool spreads_experts(C c) { return is_moe(c) && c.plan().expert.ep > 1; }

bool folds(C c) { return spreads_experts(c) && c.plan().attention.tp > 1; }

void write_experts(C c, Exported& e) {
  if (!spreads_experts(c)) return;
  if (folds(c) && c.plan().sharding == Sharding::zero3)
    e.notes.push_back("AutoEP with AutoTP and ZeRO-3: DeepSpeed of August 2026 (edaa722) raises");
  yes(e, "expert_parallel.enabled");
  add(e, "expert_parallel.preset_model", {json_string(preset_of(c.model().model_type))});
  add(e, "expert_parallel.autoep_size", std::int64_t{c.plan().expert.ep});
}

void write_deepspeed_cpu_offload(C c, Exported& e) {
  const double share = c.plan().optimizer.cpu_offload;
  if (share <= 0) return;
  add(e, "zero_optimization.offload_optimizer.device", {json_string("cpu")});
  if (share < 1) add(e, "zero_optimization.offload_optimizer.ratio", share);
}

void write_deepspeed_recompute(C c, Exported& e) {
  if (!c.plan().recompute_full && c.plan().recompute.empty()) return;
  std::string what = c.plan().recompute_full ? "whole layers" : "";
  for (const Module m : c.plan().recompute) what += (what.empty() ? "" : ",") + name_of(m);
  miss(e, c.plan().recompute_full ? "plan.recompute_full" : "plan.recompute", what,
       "the model's code calls the checkpoint function");
}

struct Unsaid {
  bool differs;
  const char* field;
  std::string value;
};
void miss_if(Exported& e, const Unsaid& u) {
  if (u.differs) miss(e, u.field, u.value, "no key");
}

std::vector<FieldRule> make_deepspeed_fields() {
  return {
      {"plan.attention.tp",
       [](C c, Exported& e) {
         if (c.plan().attention.tp > 1)
           add(e, "tensor_parallel.autotp_size", std::int64_t{c.plan().attention.tp});
       },
       nullptr},
      {"plan.attention.cp", nullptr, "1, anything else is refused"},
      {"plan.attention.dp", nullptr, "world size over TP"},
      {"plan.attention.pp", nullptr, "1, anything else is refused"},
      {"plan.expert.etp", nullptr, "1, anything else is refused"},
      {"plan.expert.ep", write_experts, nullptr},
      {"plan.expert.edp", nullptr, "world size over EP"},
      {"plan.expert.placement", nullptr, "in_order, anything else is refused"},
      {"plan.expert.redundant", nullptr, "0: copies need experts placed by load"},
      {"plan.vpp", nullptr, "1 without a pipeline"},
      {"plan.schedule", nullptr, "of a pipeline"},
      {"plan.microbatch_group", nullptr, "of a pipeline"},
      {"plan.layout", nullptr, "of a pipeline"},
      {"plan.micro_batch", write_batch, nullptr},
      {"plan.sequence_parallel",
       [](C c, Exported& e) {
         miss_if(e, {c.plan().attention.tp > 1 && c.plan().sequence_parallel,
                     "plan.sequence_parallel", "true"});
       },
       nullptr},
      {"plan.precision", write_deepspeed_precision, nullptr},
      {"plan.sharding",
       [](C c, Exported& e) {
         add(e, "zero_optimization.stage", std::int64_t{static_cast<int>(c.plan().sharding)});
       },
       nullptr},
      {"plan.fsdp_group", nullptr, "0, anything else is refused"},
      {"plan.dispatcher", nullptr, "all-to-all; anything else is refused"},
      {"plan.dispatcher_sms", nullptr, "of dispatchers that are refused"},
      {"plan.cuda_graph",
       [](C c, Exported& e) {
         miss_if(e, {c.plan().cuda_graph != CudaGraph::none, "plan.cuda_graph",
                     name_of(c.plan().cuda_graph)});
       },
       nullptr},
      {"plan.cp_comm", nullptr, "of context parallelism"},
      {"plan.cp_a2a", nullptr, "of context parallelism"},
      {"plan.optimizer_instances", nullptr, "1, anything else is refused"},
      {"plan.recompute", write_deepspeed_recompute, nullptr},
      {"plan.recompute_full", nullptr, "reported with plan.recompute"},
      {"plan.recompute_layers", nullptr, "all, anything else is refused"},
      {"plan.recompute_unit", nullptr, "1, anything else is refused"},
      {"plan.stages", nullptr, "of a pipeline, which is refused"},
      {"plan.paged_stash.buffer", nullptr, "refused"},
      {"plan.paged_stash.capacity", nullptr, "of a stash, which is refused"},
      {"plan.offload", nullptr, "refused"},
      {"plan.offload_layers", nullptr, "refused"},
      {"plan.flash_attention",
       [](C c, Exported& e) {
         miss_if(e, {!c.plan().flash_attention, "plan.flash_attention", "false"});
       },
       nullptr},
      {"plan.fp8_attention", nullptr, "of precisions that are refused"},
      {"plan.fp8_head", nullptr, "of precisions that are refused"},
      {"plan.fp8_params", nullptr, "of precisions that are refused"},
      {"plan.overlap.expert_parallel",
       [](C c, Exported& e) {
         miss_if(e, {c.plan().overlap.expert_parallel, "plan.overlap.expert_parallel", "true"});
       },
       nullptr},
      {"plan.overlap.delay_wgrad",
       [](C c, Exported& e) {
         miss_if(e, {c.plan().overlap.delay_wgrad, "plan.overlap.delay_wgrad", "true"});
       },
       nullptr},
      {"plan.overlap.grad_reduce",
       [](C c, Exported& e) {
         add(e, "zero_optimization.overlap_comm",
             {c.plan().overlap.grad_reduce ? "true" : "false"});
       },
       nullptr},
      {"plan.overlap.param_gather", nullptr,
       "ZeRO-3 always prefetches; below it nothing is gathered early"},
      {"plan.overlap.gather_beside_step",
       [](C c, Exported& e) {
         miss_if(e, {c.plan().overlap.gather_beside_step, "plan.overlap.gather_beside_step",
                     "true"});
       },
       nullptr},
      {"plan.overlap.tensor_parallel",
       [](C c, Exported& e) {
         miss_if(e, {c.plan().overlap.tensor_parallel, "plan.overlap.tensor_parallel", "true"});
       },
       nullptr},
      {"plan.overlap.shared_expert",
       [](C c, Exported& e) {
         miss_if(e, {c.plan().overlap.shared_expert, "plan.overlap.shared_expert", "true"});
       },
       nullptr},
      {"plan.overlap.tile_level",
       [](C c, Exported& e) {
         miss_if(e, {c.plan().overlap.tile_level, "plan.overlap.tile_level", "true"});
       },
       nullptr},
      {"plan.loss_chunks",
       [](C c, Exported& e) {
         miss_if(e, {c.plan().loss_chunks > 1, "plan.loss_chunks",
                     std::to_string(c.plan().loss_chunks)});
       },
       nullptr},
      {"plan.ddp_bucket_size",
       [](C c, Exported& e) {
         if (c.plan().ddp_bucket_size == 0) return;
         const std::int64_t elements = c.plan().ddp_bucket_size;
         add(e, "zero_optimization.reduce_bucket_size", elements);
         add(e, "zero_optimization.allgather_bucket_size", elements);
       },
       nullptr},
      {"plan.fusions.permute",
       [](C c, Exported& e) {
         miss_if(e, {!c.plan().fusions.permute, "plan.fusions.permute", "false"});
       },
       nullptr},
      {"plan.fusions.router",
       [](C c, Exported& e) {
         miss_if(e, {!c.plan().fusions.router, "plan.fusions.router", "false"});
       },
       nullptr},
      {"plan.fusions.scale_init", nullptr, "of precisions that are refused"},
      {"plan.fusions.scale_order", nullptr, "of precisions that are refused"},
      {"plan.optimizer.grad_reduce",
       [](C c, Exported& e) {  // its default would be the type of the weights
         const auto& o = c.plan().optimizer;
         add(e, "communication_data_type",
             {json_string(std::string(name_of(o.grad_reduce.value_or(o.main_grads))))});
       },
       nullptr},
      {"plan.optimizer.kind",
       [](C c, Exported& e) {
         if (c.plan().optimizer.kind != OptimizerKind::adamw) {
           miss(e, "plan.optimizer.kind", name_of(c.plan().optimizer.kind),
                "given with its learning rate: optimizer.type, or in code");
         }
       },
       nullptr},
      {"plan.optimizer.state_offload",
       [](C c, Exported& e) {
         if (c.plan().optimizer.state_offload > 0) {
           miss(e, "plan.optimizer.state_offload",
                fmt::format("{}", c.plan().optimizer.state_offload),
                "in code: engine.offload_states() and reload_states()");
         }
       },
       nullptr},
      {"plan.optimizer.cpu_offload", write_deepspeed_cpu_offload, nullptr},
      {"plan.optimizer.cpu_offload_overlapped",
       [](C c, Exported& e) {
         miss_if(e, {c.plan().optimizer.cpu_offload_overlapped,
                     "plan.optimizer.cpu_offload_overlapped", "true"});
       },
       nullptr},
      {"plan.optimizer.main_grads",
       [](C c, Exported& e) {
         add(e, "data_types.grad_accum_dtype",
             {json_string(std::string(name_of(c.plan().optimizer.main_grads)))});
       },
       nullptr},
      {"plan.optimizer.main_params", nullptr, "fp32, anything else is refused"},
      {"plan.optimizer.exp_avg", nullptr, "fp32, anything else is refused"},
      {"plan.optimizer.exp_avg_sq", nullptr, "fp32, anything else is refused"},
      {"workload.seq_len",
       [](C c, Exported& e) {
         e.notes.push_back(
             fmt::format("sequence length {} is the data loader's", c.workload().seq_len));
       },
       nullptr},
      {"workload.global_batch", nullptr, "train_batch_size, beside the microbatch"},
      {"workload.routing",
       [](C c, Exported& e) {
         if (!is_moe(c)) return;
         e.notes.push_back(
             "the loss that balances experts is the model's: output_router_logits=True and "
             "router_aux_loss_coef of its Hugging Face configuration");
       },
       nullptr},
      {"workload.capacity_factor",
       [](C c, Exported& e) {
         miss_if(e, {c.workload().capacity_factor > 0, "workload.capacity_factor",
                     fmt::format("{}", c.workload().capacity_factor)});
       },
       nullptr},
      {"workload.pad_to_capacity", nullptr, "reported with the capacity factor"},
      {"workload.imbalance",
       [](C c, Exported& e) {
         miss_if(e, {c.workload().imbalance != 1.0, "workload.imbalance",
                     fmt::format("{}", c.workload().imbalance)});
       },
       nullptr},
      {"workload.expert_spread",
       [](C c, Exported& e) {
         miss_if(e, {c.workload().expert_spread > 0, "workload.expert_spread",
                     fmt::format("{}", c.workload().expert_spread)});
       },
       nullptr},
      {"workload.expert_loads",
       [](C c, Exported& e) {
         miss_if(e, {!c.workload().expert_loads.empty(), "workload.expert_loads", "given"});
       },
       nullptr},
      {"workload.documents",
       [](C c, Exported& e) {
         miss_if(e, {!c.workload().documents.empty(), "workload.documents", documents_text(c)});
       },
       nullptr},
      {"workload.straggler_slowdown",
       [](C c, Exported& e) {
         miss_if(e, {c.workload().straggler_slowdown > 0, "workload.straggler_slowdown",
                     fmt::format("{}", c.workload().straggler_slowdown)});
       },
       nullptr},
      {"workload.unbound_ranks",
       [](C c, Exported& e) {
         miss_if(e, {c.workload().unbound_ranks, "workload.unbound_ranks", "true"});
       },
       nullptr},
      {"cluster.name", nullptr, "the launcher's"},
      {"cluster.gpus",
       [](C c, Exported& e) { e.notes.push_back(fmt::format("world size {}", c.document.gpus)); },
       nullptr},
  };
}

std::vector<Refusal> make_deepspeed_refusals() {
  const char* const kFolding = "deepspeed/module_inject/auto_ep_folding.py";
  const char* const kDocs = "docs/_pages/config-json.md";
  return {
      {"plan.attention.pp", "pipelines are code (PipelineModule), not configuration", "PP 1", kDocs,
       [](C c) { return c.plan().attention.pp > 1; }},
      {"plan.attention.cp", "sequence parallelism is code (Ulysses), not configuration", "CP 1",
       kDocs, [](C c) { return c.plan().attention.cp > 1; }},
      {"plan.recompute_layers", "which layers are recomputed is code, not configuration",
       "recompute full or none", kDocs, [](C c) { return c.plan().recompute_layers > 0; }},
      {"plan.recompute_unit", "units of recompute are code, not configuration", "1", kDocs,
       [](C c) { return c.plan().recompute_unit > 1; }},
      {"model.model_type", "AutoEP has no preset for this family",
       "EP 1, or mixtral, qwen2_moe, qwen3_moe, qwen3_5_moe_text, deepseek_v2 or deepseek_v3",
       "deepspeed/module_inject/auto_ep_presets/registry.py",
       [](C c) { return spreads_experts(c) && preset_of(c.model().model_type) == nullptr; }},
      {"plan.optimizer.cpu_offload", "AutoEP with AutoTP excludes a step on the CPU",
       "0, TP 1, or EP 1", kFolding,
       [](C c) { return folds(c) && c.plan().optimizer.cpu_offload > 0; }},
      {"plan.expert.placement", "experts are in order of their numbers", "in_order", kDocs,
       [](C c) { return c.plan().expert.placement != ExpertPlacement::in_order; }},
      {"plan.expert.etp", "experts are not split", "ETP 1", kDocs,
       [](C c) { return is_moe(c) && c.plan().expert.etp > 1; }},
      {"plan.precision", "has fp32, fp16 and bf16", "one of them", kDocs,
       [](C c) {
         const Precision p = c.plan().precision;
         return p != Precision::fp32 && p != Precision::fp16 && p != Precision::bf16;
       }},
      {"plan.dispatcher", "exchanges tokens by all-to-all", "alltoall", kDocs,
       [](C c) { return is_moe(c) && c.plan().dispatcher != Dispatcher::alltoall; }},
      {"plan.fsdp_group", "shard groups (MiCS) are no more", "fsdp_group 0",
       "deepspeed/runtime/config.py",
       [](C c) { return is_fsdp(c) && c.plan().shard_instances() > 1; }},
      {"plan.optimizer_instances", "optimizer states are sharded over all ranks", "1", kDocs,
       [](C c) { return c.plan().optimizer_instances > 1; }},
      {"plan.fp8_dispatch", "tokens travel to the experts in the model's type", "false", kDocs,
       [](C c) { return c.plan().fp8_dispatch; }},
      {"plan.fp8_combine", "rows travel back in the model's type", "false", kDocs,
       [](C c) { return c.plan().fp8_combine; }},
      {"plan.offload", "keeps no lists of activations in host memory", "none", kDocs,
       [](C c) { return !c.plan().offload.empty() || c.plan().offload_layers > 0; }},
      {"plan.paged_stash", "keeps no stash of routed rows", "no stash", kDocs, has_stash},
      {"plan.optimizer.cpu_offload", "the step on the CPU needs ZeRO, a part of it ZeRO-3",
       "1 with zero1 or zero2, any share with zero3", kDocs,
       [](C c) {
         const double share = c.plan().optimizer.cpu_offload;
         return share > 0 && c.plan().sharding != Sharding::zero3 &&
                (share < 1 || c.plan().sharding == Sharding::none);
       }},
      {"plan.optimizer", "optimizer states are fp32, gradients fp32 or bf16", "fp32", kDocs,
       [](C c) {
         const auto& o = c.plan().optimizer;
         return o.main_grads == DType::fp8 || o.main_params != DType::fp32 ||
                o.exp_avg != DType::fp32 || o.exp_avg_sq != DType::fp32;
       }},
  };
}

}  // namespace

const std::vector<FieldRule>& deepspeed_fields() {
  static const std::vector<FieldRule> rules = make_deepspeed_fields();
  return rules;
}

const std::vector<Refusal>& deepspeed_refusals() {
  static const std::vector<Refusal> list = make_deepspeed_refusals();
  return list;
}

}  // namespace pleat::interop
