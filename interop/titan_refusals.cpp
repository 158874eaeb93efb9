// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What torchtitan cannot be told and Pleat allows, with the file of torchtitan that decides it
// (version in export_targets.hpp).
#include "interop/export_targets.hpp"
#include "interop/megatron_export.hpp"

namespace pleat::interop {
namespace {

using C = const ExportContext&;

std::vector<Refusal> make_titan_refusals() {
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
      {"plan.sharding", "context-parallel ranks always shard the weights", "zero2 or zero3",
       "torchtitan/distributed/parallel_dims.py",
       [](C c) { return !is_fsdp(c) && c.plan().attention.cp > 1; }},
      {"plan.schedule", "has no such order", "1f1b, zb-v or dualpipe-v", kConfig,
       [](C c) { return titan_schedule(c.plan()) == nullptr; }},
      {"plan.recompute_layers", "mode full recomputes every layer, not some of them",
       "recompute full or none", kConfig, [](C c) { return c.plan().recompute_layers > 0; }},
      {"plan.recompute_unit", "layers are recomputed one by one", "1", kConfig,
       [](C c) { return c.plan().recompute_unit > 1; }},
      {"plan.stages", "one activation checkpoint mode holds for all stages", "no stages", kConfig,
       [](C c) { return !c.plan().stages.empty(); }},
      {"plan.recompute", "DualPipeV's pairs of passes exclude recompute",
       "no recompute, or overlap.expert_parallel false", "torchtitan/distributed/dual_pipe_v.py",
       [](C c) {
         const Plan& p = c.plan();
         return p.schedule == PipelineSchedule::dualpipe_v && p.overlap.expert_parallel &&
                (p.recompute_full || !p.recompute.empty());
       }},
      {"plan.fsdp_group", "shard groups must be whole multiples of CP", "", kConfig,
       [](C c) {
         return is_fsdp(c) && c.plan().fsdp_group > 0 &&
                c.plan().fsdp_group % c.plan().attention.cp != 0;
       }},
      {"plan.dispatcher", "exchanges tokens by all-to-all", "alltoall", kConfig,
       [](C c) { return is_moe(c) && c.plan().dispatcher != Dispatcher::alltoall; }},
      {"plan.cp_comm", "has ring and gather context parallelism", "p2p or all_gather", kConfig,
       [](C c) {
         const CpComm way = c.plan().cp_comm;
         return c.plan().attention.cp > 1 && way != CpComm::p2p && way != CpComm::all_gather;
       }},
      {"plan.fp8_dispatch", "tokens travel to the experts in bf16", "false", kConfig,
       [](C c) { return c.plan().fp8_dispatch; }},
      {"plan.fp8_combine", "rows travel back from the experts in bf16", "false", kConfig,
       [](C c) { return c.plan().fp8_combine; }},
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
