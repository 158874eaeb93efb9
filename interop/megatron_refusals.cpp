// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What Megatron-LM refuses and Pleat allows, with the line of Megatron-LM that says so (version in
// megatron_export.hpp). Rules that both have are in core/plan/*_rules.cpp.
#include <algorithm>

#include "core/plan/dispatcher_traits.hpp"
#include "core/plan/layout.hpp"
#include "core/plan/layout_text.hpp"
#include "interop/megatron_export.hpp"

namespace pleat::interop {
namespace {

using C = const ExportContext&;

bool recomputes(C c, Module m) { return c.plan().recompute.contains(m); }

bool is_half(Precision p) { return p != Precision::fp32; }

bool mtp_on_first_rank(C c) {
  const int pp = c.plan().attention.pp;
  if (pp == 1 || c.model().mtp_layers == 0 || c.plan().layout.empty()) return false;
  const std::vector<VirtualStage> stages = stage_layout(c.plan(), c.model());
  for (std::size_t i = 0; i < stages.size(); ++i)
    if (stages[i].mtp) return i % static_cast<std::size_t>(pp) == 0;
  return false;
}

bool miscounts_mtp(C c) {
  if (c.plan().layout.empty() || c.plan().attention.pp == 1) return false;
  std::int64_t blocks = 0;
  for_each_symbol(c.plan().layout, [&](char symbol, std::size_t) { blocks += symbol == 'm'; });
  return blocks != 1 && blocks != c.model().mtp_layers;  // one stands for all
}

bool splits_recurrence(C c) {
  const ModelSpec& m = c.model();
  if (!m.recurrence) return false;
  const std::int64_t ranks = std::int64_t{c.plan().attention.tp} * c.plan().attention.cp;
  return m.recurrence->key_heads % ranks != 0 || m.recurrence->value_heads % ranks != 0;
}

bool has_attention_bias(const ModelSpec& m) {
  return m.attention.qkv_bias || m.attention.out_bias || m.mlp_bias || (m.moe && m.moe->mlp_bias);
}

// Exchanges by all-to-all, if anything is exchanged.
bool copies_rows(C c) {
  const Dispatcher d = c.plan().dispatcher;
  return d == Dispatcher::alltoall || (is_fused(d) && !uses_flex(c));
}

bool is_variant(const LayerTraits& t) { return t.sparse || t.mixer == Mixer::gated_delta_net; }

std::vector<Refusal> make_builder_refusals() {
  return {
      {"model.mtp_layers",
       "prediction layers exclude sparse attention and gated delta networks",
       "num_nextn_predict_layers 0 in the model's file, or megatron-bridge, which has them",
       "core/models/gpt/gpt_layer_specs.py:572",
       [](C c) {
         return c.model().mtp_layers > 0 &&
                std::ranges::any_of(c.model().layer_traits, is_variant);
       }},
  };
}

std::vector<Refusal> make_megatron_refusals() {
  return {
      {"plan.optimizer.main_params", "main parameters are fp32, fp16 or remainders there", "fp32",
       "training/arguments.py:3673",
       [](C c) {
         const DType type = c.plan().optimizer.main_params;
         return type != DType::fp32 && type != DType::fp16 && type != DType::remainder16;
       }},
      {"plan.optimizer.kind", "has no such optimizer", "adamw, sgd or muon",
       "training/arguments.py:2913",
       [](C c) { return c.plan().optimizer.kind == OptimizerKind::lamb; }},
      {"plan.optimizer.kind", "states below fp32 and the step on the CPU are Adam's", "adamw",
       "core/optimizer/optimizer_config.py",
       [](C c) { return precision_aware(c) && c.plan().optimizer.kind != OptimizerKind::adamw; }},
      {"plan.optimizer.state_offload", "the states of a step on the GPU stay on the GPU",
       "0, or cpu_offload", "training/arguments.py:2918",
       [](C c) { return c.plan().optimizer.state_offload > 0; }},
      {"plan.optimizer.cpu_offload", "a step on the CPU excludes weights that are kept in fp8",
       "fp8_params false, or precision fp8_delayed", "training/arguments.py:1889",
       [](C c) {
         return c.plan().optimizer.cpu_offload > 0 && keeps_fp8_weights(c) &&
                c.plan().precision != Precision::fp8_delayed;
       }},
      {"plan.optimizer.cpu_offload",
       "the step on the CPU copies plain tensors, Megatron-FSDP's parameters are none (issue 1986)",
       "sharding none or zero1", "core/optimizer/cpu_offloading/hybrid_optimizer.py",
       [](C c) { return c.plan().optimizer.cpu_offload > 0 && is_fsdp(c); }},
      {"plan.paged_stash", "a stash needs the hybridep dispatcher, and ranks to send to",
       "hybridep with EP above 1, or no stash", "core/transformer/transformer_config.py:1870",
       [](C c) {
         return has_stash(c) && (c.plan().dispatcher != Dispatcher::hybridep || !uses_flex(c));
       }},
      {"plan.optimizer.main_grads", "main gradients are fp32 or bf16 there", "fp32 or bf16",
       "training/arguments.py:3671",
       [](C c) {
         const DType type = c.plan().optimizer.main_grads;
         return type == DType::fp8 || (type == DType::fp16 && precision_aware(c));
       }},
      {"plan.optimizer.main_grads", "gradients are summed in fp32 or in the type of the weights",
       "fp32", "core/distributed/distributed_data_parallel.py",
       [](C c) {
         return c.plan().optimizer.main_grads == DType::bf16 &&
                (c.plan().precision == Precision::fp32 || c.plan().precision == Precision::fp16);
       }},
      {"plan.optimizer.grad_reduce", "gradients are sent in the type they are summed in",
       "as main_grads, or sharding zero2 or zero3", "training/arguments.py:3053",
       [](C c) { return narrow_reduction(c) && !is_fsdp(c); }},
      {"plan.optimizer.grad_reduce", "gradients of fp16 weights, summed in fp32, are sent in fp32",
       "as main_grads", "training/arguments.py:3069",
       [](C c) { return narrow_reduction(c) && c.plan().precision == Precision::fp16; }},
      {"plan.optimizer", "states below fp32 or on the CPU need a distributed optimizer",
       "sharding zero1, zero2 or zero3", "core/optimizer/optimizer_config.py",
       [](C c) { return precision_aware(c) && c.plan().sharding == Sharding::none; }},
      {"plan.overlap.param_gather", "needs grad_reduce too", "both or neither",
       "training/arguments.py:1028",
       [](C c) {
         return c.plan().overlap.param_gather && !c.plan().overlap.grad_reduce &&
                c.plan().sharding != Sharding::none;
       }},
      {"plan.recompute", "delayed scaling excludes recompute of moe_act and layernorm",
       "precision fp8, or other modules", "core/transformer/transformer_config.py:2003",
       [](C c) {
         return c.plan().precision == Precision::fp8_delayed &&
                (recomputes(c, Module::moe_act) || recomputes(c, Module::layernorm));
       }},
      {"plan.fp8_head", "a narrow output projection needs mxfp8", "precision mxfp8",
       "core/transformer/transformer_config.py:1573",
       [](C c) { return c.plan().fp8_head && c.plan().precision != Precision::mxfp8; }},
      {"plan.overlap.expert_parallel", "needs bf16 or fp16", "another precision than fp32",
       "core/transformer/transformer_config.py:3035",
       [](C c) { return c.plan().overlap.expert_parallel && !is_half(c.plan().precision); }},
      {"plan.overlap.expert_parallel", "allows one prediction layer at most", "",
       "core/transformer/transformer_config.py:3042",
       [](C c) { return c.plan().overlap.expert_parallel && c.model().mtp_layers > 1; }},
      {"plan.overlap.delay_wgrad",
       "excludes biases of attention where attention is in a CUDA graph", "",
       "training/arguments.py:1925",
       [](C c) {
         return c.plan().overlap.delay_wgrad && captures_attention(c.plan().cuda_graph) &&
                has_attention_bias(c.model());
       }},
      {"plan.overlap.delay_wgrad",
       "excludes overlap of tensor-parallel communication, whose weight gradients are in bulk",
       "overlap.tensor_parallel false", "TransformerEngine pytorch/module/_common.py",
       [](C c) { return c.plan().overlap.delay_wgrad && c.plan().overlap.tensor_parallel; }},
      {"plan.overlap.delay_wgrad",
       "needs fused gradient accumulation where attention is in a CUDA graph, which Megatron-FSDP "
       "does without",
       "sharding none or zero1", "training/arguments.py:1919",
       [](C c) {
         return c.plan().overlap.delay_wgrad && c.plan().overlap.grad_reduce &&
                captures_attention(c.plan().cuda_graph) && is_fsdp(c);
       }},
      {"plan.layout", "the prediction blocks are on the first rank", "on another rank",
       "core/transformer/pipeline_parallel_layer_layout.py:86", mtp_on_first_rank},
      {"plan.layout", "has not one m for each prediction layer", "as many as the model has",
       "core/transformer/pipeline_parallel_layer_layout.py:86", miscounts_mtp},
      {"plan.cuda_graph", "router graphs need experts", "attention, partial or none",
       "core/transformer/transformer_config.py:2826",
       [](C c) { return c.plan().cuda_graph == CudaGraph::router && !is_moe(c); }},
      {"plan.cuda_graph",
       "the exchange's preparation cannot be in a graph where alltoall drops tokens unpadded",
       "pad_to_capacity, or another dispatcher", "core/transformer/transformer_config.py:2849",
       [](C c) {
         return captures_router(c.plan().cuda_graph) && is_moe(c) &&
                copies_rows(c) && c.workload().capacity_factor > 0 &&
                !c.workload().pad_to_capacity;
       }},
      {"plan.stages", "all stages recompute and offload the same", "no stages",
       "core/transformer/transformer_config.py",
       [](C c) { return !c.plan().stages.empty(); }},
      {"plan.schedule", "pipelines run 1F1B, interleaved or not", "1f1b",
       "core/pipeline_parallel/schedules.py",
       [](C c) { return c.plan().schedule != PipelineSchedule::one_f_one_b; }},
      {"plan.dispatcher", "it has no such dispatcher",
       "allgather, alltoall, deepep or hybridep", "core/transformer/transformer_config.py:891",
       [](C c) { return is_moe(c) && !traits_of(c.plan().dispatcher).in_megatron; }},
      {"plan.fp8_dispatch", "tokens travel to the experts in bf16, except with its ncclep backend",
       "false", "core/transformer/transformer_config.py:1781",
       [](C c) { return c.plan().fp8_dispatch; }},
      {"plan.fp8_combine", "rows travel back from the experts in bf16", "false",
       "core/transformer/transformer_config.py:1781", [](C c) { return c.plan().fp8_combine; }},
      {"plan.overlap.gather_beside_step",
       "the first chunk's experts would be gathered before they are stepped", "false",
       "core/optimizer/optimizer.py:1247",
       [](C c) { return c.plan().overlap.gather_beside_step && is_moe(c); }},
      {"plan.overlap.gather_beside_step",
       "Muon has distributed checkpoints alone, which exclude it", "false",
       "training/arguments.py:1741",
       [](C c) {
         return c.plan().overlap.gather_beside_step &&
                c.plan().optimizer.kind == OptimizerKind::muon;
       }},
      {"plan.expert.placement", "experts are in order of their numbers", "in_order",
       "core/transformer/moe/moe_layer.py",
       [](C c) { return c.plan().expert.placement != ExpertPlacement::in_order; }},
      {"plan.overlap.tile_level", "no exchange is inside a grouped product",
       "false, or overlap.expert_parallel", "core/transformer/moe/experts.py",
       [](C c) { return c.plan().overlap.tile_level; }},
      {"plan.loss_chunks", "the logits of a microbatch are there at once", "1",
       "core/model_parallel_config.py:325", [](C c) { return c.plan().loss_chunks > 1; }},
      {"plan.cp_comm", "sparse attention gathers its keys: context parallelism needs all_gather",
       "all_gather", "core/transformer/transformer_config.py:3170",
       [](C c) {
         return c.plan().attention.cp > 1 && c.model().attention.index_top_k > 0 &&
                c.plan().cp_comm != CpComm::all_gather;
       }},
      {"plan.attention.tp", "heads of the recurrence cannot be split over TP x CP", "",
       "core/transformer/transformer_config.py:1502", splits_recurrence},
      {"plan.sequence_parallel", "experts with TP above 1 train with sequence parallelism only",
       "turn sequence_parallel on", "core/transformer/moe/moe_layer.py",
       [](C c) { return is_moe(c) && c.plan().attention.tp > 1 && !c.plan().sequence_parallel; }},
      {"workload.seq_len", "is longer than the table of learned positions", "",
       "training/arguments.py:1354",
       [](C c) {
         return c.model().learned_positions > 0 &&
                c.workload().seq_len > c.model().learned_positions;
       }},
      {"runtime", "the plan was made for Pleat's own backend",
       "`pleat predict` with --runtime megatron makes one for Megatron-LM", "this program",
       [](C c) { return c.document.runtime != Runtime::megatron; }},
  };
}

}  // namespace

const std::vector<Refusal>& megatron_plan_refusals() {
  static const std::vector<Refusal> list = make_megatron_refusals();
  return list;
}

const std::vector<Refusal>& megatron_builder_refusals() {
  static const std::vector<Refusal> list = make_builder_refusals();
  return list;
}

}  // namespace pleat::interop
