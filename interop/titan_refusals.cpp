// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What torchtitan cannot be told and Pleat allows, with the file of torchtitan that decides it
// (version in export_targets.hpp).
#include "interop/export_targets.hpp"
#include "interop/megatron_export.hpp"

namespace pleat::interop {
namespace {

using C = const ExportContext&;

// The configurations of Kimi's module; those of the others train with AdamW.
bool has_muon(C c) {
  const TitanModel* const model = titan_model(c.model());
  return model != nullptr && std::string_view(model->module) == "kimi_k2_7";
}

std::vector<Refusal> make_titan_refusals() {
  const char* const kConfig = "torchtitan/config/configs.py";
  return {
      {"model.name", "ships no configuration of this model",
       "llama3-8b, llama3-70b, deepseek-v3, gpt-oss-20b, gpt-oss-120b, qwen3-30b-a3b, "
       "qwen3.5-35b-a3b, qwen3.5-122b-a10b, qwen3.5-397b-a17b or moonlight-16b-a3b; or write one "
       "in Python",
       "torchtitan/models/*/config_registry.py",
       [](C c) { return titan_model(c.model()) == nullptr; }},
      {"plan.attention.tp", "the Muon of this model's configuration excludes tensor parallelism",
       "TP 1", "torchtitan/models/kimi_k2_7/config_registry.py",
       [](C c) { return has_muon(c) && c.plan().attention.tp > 1; }},
      {"plan.attention.pp", "the Muon of this model's configuration excludes pipelines", "PP 1",
       "torchtitan/models/kimi_k2_7/config_registry.py",
       [](C c) { return has_muon(c) && c.plan().attention.pp > 1; }},
      {"plan.precision", "what is narrower than bf16 is chosen in Python, by converters of a model",
       "bf16 or fp32", "torchtitan/components/quantization",
       [](C c) {
         const Precision p = c.plan().precision;
         return p != Precision::bf16 && p != Precision::fp32;
       }},
      {"plan.sharding", "shards by FSDP2: optimizer states alone cannot be", "none, zero2 or zero3",
       kConfig,
       [](C c) { return c.plan().sharding == Sharding::zero1 && c.plan().attention.dp > 1; }},
      {"plan.sharding", "context-parallel ranks always shard the weights", "zero2 or zero3",
       "torchtitan/distributed/parallel_dims.py",
       [](C c) { return !is_fsdp(c) && c.plan().attention.cp > 1; }},
      {"plan.schedule", "has no such order", "1f1b, zb-v or dualpipe-v", kConfig,
       [](C c) { return titan_schedule(c.plan()) == nullptr; }},
      {"plan.vpp", "its split of the layers makes another number of chunks", "another VPP",
       "torchtitan/distributed/pipeline_parallel.py", [](C c) { return !titan_splits(c); }},
      {"plan.recompute_layers", "mode full recomputes every layer, not some of them",
       "recompute full or none", kConfig, [](C c) { return c.plan().recompute_layers > 0; }},
      {"plan.recompute_unit", "layers are recomputed one by one", "1", kConfig,
       [](C c) { return c.plan().recompute_unit > 1; }},
      {"plan.stages", "one activation checkpoint mode holds for all stages", "no stages", kConfig,
       [](C c) { return !c.plan().stages.empty(); }},
      {"plan.fsdp_group", "shard groups must be whole multiples of CP", "", kConfig,
       [](C c) {
         return is_fsdp(c) && c.plan().fsdp_group > 0 &&
                c.plan().fsdp_group % c.plan().attention.cp != 0;
       }},
      {"plan.dispatcher", "exchanges tokens by all-to-all", "alltoall", kConfig,
       [](C c) { return is_moe(c) && c.plan().dispatcher != Dispatcher::alltoall; }},
      {"plan.cp_comm", "context parallelism gathers keys and values", "all_gather",
       "torchtitan/distributed/context_parallel/api.py",
       [](C c) { return c.plan().attention.cp > 1 && c.plan().cp_comm != CpComm::all_gather; }},
      {"plan.cuda_graph", "a graph of a step excludes a pipeline, and experts spread by all-to-all",
       "none, or PP 1 and EP 1", "torchtitan/trainer.py",
       [](C c) {
         return c.plan().cuda_graph == CudaGraph::full_iteration &&
                (c.plan().attention.pp > 1 || (is_moe(c) && c.plan().expert.ep > 1));
       }},
      {"plan.fp8_dispatch", "tokens travel to the experts in bf16", "false", kConfig,
       [](C c) { return c.plan().fp8_dispatch; }},
      {"plan.fp8_combine", "rows travel back from the experts in bf16", "false", kConfig,
       [](C c) { return c.plan().fp8_combine; }},
      {"plan.expert.placement", "experts are in order of their numbers", "in_order",
       "torchtitan/distributed/expert_parallel.py",
       [](C c) { return c.plan().expert.placement != ExpertPlacement::in_order; }},
      {"plan.expert.etp", "experts are not split", "1", "torchtitan/distributed/parallel_dims.py",
       [](C c) { return is_moe(c) && c.plan().expert.etp > 1; }},
      {"plan.expert.ep", "experts are spread within a shard group x CP x TP",
       "an EP that divides it, sharding zero2 or zero3", "torchtitan/distributed/parallel_dims.py",
       [](C c) {
         const Plan& p = c.plan();
         if (!is_moe(c) || p.expert.ep == 1) return false;
         const int group = is_fsdp(c) && p.fsdp_group > 0 ? p.fsdp_group
                           : is_fsdp(c)                   ? p.attention.dp * p.attention.cp
                                                          : p.attention.cp;
         return group * p.attention.tp % p.expert.ep != 0;
       }},
      {"plan.offload", "keeps no activations in host memory", "none", kConfig,
       [](C c) { return !c.plan().offload.empty() || c.plan().offload_layers > 0; }},
      {"plan.flash_attention", "always uses fused attention", "true", kConfig,
       [](C c) { return !c.plan().flash_attention; }},
      {"plan.paged_stash", "keeps no stash of routed rows", "no stash", kConfig, has_stash},
      {"plan.optimizer.kind", "has Adam and AdamW only", "adamw", kConfig,
       [](C c) { return c.plan().optimizer.kind != OptimizerKind::adamw; }},
      {"plan.optimizer.state_offload", "keeps states on the GPU between steps", "0", kConfig,
       [](C c) { return c.plan().optimizer.state_offload > 0; }},
      {"plan.optimizer.cpu_offload",
       "enable_cpu_offload moves weights and gradients to the host with the states", "0", kConfig,
       [](C c) { return c.plan().optimizer.cpu_offload > 0; }},
      {"plan.optimizer", "optimizer states are fp32", "fp32", kConfig,
       [](C c) { return narrow_optimizer(c); }},
      {"plan.optimizer.grad_reduce", "gradients are reduced in fp32 (mixed_precision_reduce)",
       "fp32", kConfig,
       [](C c) { return narrow_reduction(c) && c.plan().optimizer.main_grads == DType::fp32; }},
      {"workload.capacity_factor", "drops no tokens", "0", kConfig,
       [](C c) { return is_moe(c) && c.workload().capacity_factor > 0; }},
  };
}

}  // namespace

const std::vector<Refusal>& titan_refusals() {
  static const std::vector<Refusal> list = make_titan_refusals();
  return list;
}

}  // namespace pleat::interop
