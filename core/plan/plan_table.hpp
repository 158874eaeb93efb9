// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Every field of a plan, once: its name in a plan file, its values, the parts of an estimate that
// depend on it, who chooses it, and how it is typed. Plan files, command lines, pins of number
// formats, what is remembered of an estimate and the tests that change every field follow from it.
// In the order of a plan file.
#pragma once

#include <cstddef>
#include <tuple>
#include <utility>

#include "core/plan/plan_field.hpp"

namespace pleat {

inline constexpr std::tuple kPlanFields{
    PlanField<&Plan::attention, &AttentionMapping::tp>{
        .path = "attention.tp",
        .domain = kDegree,
        .parts = MemoPart::places,
        .chosen_by = ChosenBy::search,
        .typed = {"tp", "Tensor parallel size of attention and dense layers"},
        .pinned = {"Only these tensor parallel sizes: 1,2 or 4..8"}},
    PlanField<&Plan::attention, &AttentionMapping::cp>{
        .path = "attention.cp",
        .domain = kDegree,
        .parts = MemoPart::places,
        .chosen_by = ChosenBy::search,
        .typed = {"cp", "Context parallel size"},
        .pinned = {"Only these context parallel sizes: 1,2 or 4..8"}},
    PlanField<&Plan::attention, &AttentionMapping::dp>{
        .path = "attention.dp",
        .domain = kDegree,
        .parts = MemoPart::places | MemoPart::records,
        .chosen_by = ChosenBy::gpus,
        .pinned = {"Only these data parallel sizes: 1,2 or 4..8", "dp"}},
    PlanField<&Plan::attention, &AttentionMapping::pp>{
        .path = "attention.pp",
        .domain = kDegree,
        .parts = MemoPart::places | MemoPart::composition,
        .chosen_by = ChosenBy::search,
        .typed = {"pp", "Pipeline stages (data parallel size follows from --gpus)"},
        .pinned = {"Only these numbers of pipeline stages: 1,2 or 4..8"}},
    PlanField<&Plan::expert, &ExpertMapping::etp>{
        .path = "expert.etp",
        .domain = kDegree,
        .parts = MemoPart::places,
        .chosen_by = ChosenBy::search,
        .typed = {"etp", "Tensor parallel size inside an expert"},
        .pinned = {"Only these tensor parallel sizes inside an expert: 1,2 or 4..8"}},
    PlanField<&Plan::expert, &ExpertMapping::ep>{
        .path = "expert.ep",
        .domain = kDegree,
        .parts = MemoPart::places,
        .chosen_by = ChosenBy::search,
        .typed = {"ep", "Expert parallel size (expert data parallel size follows from --gpus)"},
        .pinned = {"Only these expert parallel sizes: 1,2 or 4..8"}},
    PlanField<&Plan::expert, &ExpertMapping::edp>{.path = "expert.edp",
                                                  .domain = kDegree,
                                                  .parts = MemoPart::places | MemoPart::records,
                                                  .chosen_by = ChosenBy::gpus},
    PlanField<&Plan::expert, &ExpertMapping::placement>{
        .path = "expert.placement",
        .parts = MemoPart::moe_layers,
        .chosen_by = ChosenBy::search,
        .typed = {"expert-placement", "Experts in_order on ranks, or by_load (--routing FILE)"},
        .pinned = {"Only these of {}, commas between"}},
    PlanField<&Plan::expert, &ExpertMapping::redundant>{
        .path = "expert.redundant",
        .domain = kDegreeOrNone,
        .parts = MemoPart::moe_layers,
        .chosen_by = ChosenBy::search,
        .typed = {"redundant-experts", "With experts by_load: copies of busy ones on each rank"},
        .pinned = {.help = "With experts by_load: only so many copies of busy ones on each rank "
                           "(default: 0,1,2,4)",
                   .least = 0}},
    PlanField<&Plan::vpp>{
        .path = "vpp",
        .domain = kDegree,
        .parts = MemoPart::composition,
        .chosen_by = ChosenBy::search,
        .typed = {"vpp", "Virtual pipeline stages on each pipeline rank"},
        .pinned = {"Only these numbers of virtual stages on each pipeline rank: 1,2 or 4..8"}},
    PlanField<&Plan::schedule>{
        .path = "schedule",
        .parts = MemoPart::layers | MemoPart::composition,
        .chosen_by = ChosenBy::search,
        .typed = {"schedule",
                  "Order of the pipeline: 1f1b (interleaved with --vpp), zb-h1, zb-v, "
                  "dualpipe or dualpipe-v"},
        .pinned = {"Only these orders of the pipeline, with commas between: 1f1b, zb-h1, zb-v, "
                   "dualpipe and dualpipe-v (default: those that the runtime has; Megatron's is "
                   "1f1b)"}},
    PlanField<&Plan::microbatch_group>{
        .path = "microbatch_group",
        .domain = kDegreeOrNone,
        .parts = MemoPart::records,
        .chosen_by = ChosenBy::search,
        .typed = {"microbatch-group",
                  "Microbatches of a group of the interleaved order (default: PP)"},
        .pinned = {"Only these numbers of microbatches in a group of interleaved orders (default: "
                   "1, 2 and 4 times PP): 1,2 or 4..8"}},
    PlanField<&Plan::layout>{
        .path = "layout",
        .parts = MemoPart::composition,
        .chosen_by = ChosenBy::search,
        .typed = {"layout", "Layers of each virtual stage, \"Et*3|(tt|)*29m|L\" (default: even)"},
        .pinned = {"Only this layout of the stages, \"Et*4|(t*4|)*2t*4L\", and as many stages as "
                   "it has; may be repeated"}},
    PlanField<&Plan::micro_batch>{.path = "micro_batch",
                                  .domain = kDegree,
                                  .parts = MemoPart::layers,
                                  .chosen_by = ChosenBy::search,
                                  .typed = {"micro-batch", "Sequences of a microbatch"},
                                  .pinned = {"Only these microbatch sizes: 1,2 or 4..8"}},
    PlanField<&Plan::sequence_parallel>{
        .path = "sequence_parallel",
        .parts = MemoPart::layers,
        .chosen_by = ChosenBy::fixed,
        .typed = {"sequence-parallel", "Tensor parallelism without sequence's"}},
    PlanField<&Plan::precision>{
        .path = "precision",
        .parts = MemoPart::layers,
        .chosen_by = ChosenBy::numerics,
        .typed = {"precision", "{}",
                  "{}; any: all from bf16 that the GPU computes (default: bf16; fp32 for pleat on "
                  "CPUs)"},
        .numerics = &Numerics::precision},
    PlanField<&Plan::sharding>{.path = "sharding",
                               .parts = MemoPart::layers,
                               .chosen_by = ChosenBy::search,
                               .typed = {"sharding", "{}"},
                               .pinned = {"Only these of {}, commas between"}},
    PlanField<&Plan::dispatcher>{.path = "dispatcher",
                                 .parts = MemoPart::moe_layers,
                                 .chosen_by = ChosenBy::search,
                                 .typed = {"dispatcher", "{}"},
                                 .pinned = {"Only these of {}, commas between"}},
    PlanField<&Plan::cuda_graph>{
        .path = "cuda_graph",
        .parts = MemoPart::layers,
        .chosen_by = ChosenBy::search,
        .typed = {"cuda-graph",
                  "none, attention, router, partial (attention and router) or full_iteration"},
        .pinned = {"Only these of {}, commas between"}},
    PlanField<&Plan::dispatcher_sms>{
        .path = "dispatcher_sms",
        .domain = {0, 1024},
        .parts = MemoPart::moe_layers,
        .chosen_by = ChosenBy::search,
        .typed = {"dispatcher-sms", "SMs that a deepep or hybridep exchange takes"},
        .pinned = {"Only these numbers of SMs that a deepep or hybridep exchange takes (default: "
                   "the profile's; of deepep within a node also the next fewer and more that it "
                   "has rates of): 1,2 or 4..8"}},
    PlanField<&Plan::fp8_dispatch>{.path = "fp8_dispatch",
                                   .parts = MemoPart::moe_layers,
                                   .chosen_by = ChosenBy::numerics,
                                   .typed = {"fp8-dispatch", "Rows travel to the experts in fp8"},
                                   .numerics = &Numerics::fp8_dispatch},
    PlanField<&Plan::fp8_combine>{
        .path = "fp8_combine",
        .parts = MemoPart::moe_layers,
        .chosen_by = ChosenBy::numerics,
        .typed = {"fp8-combine", "Rows travel back from the experts in fp8"},
        .numerics = &Numerics::fp8_combine},
    PlanField<&Plan::cp_comm>{
        .path = "cp_comm",
        .parts = MemoPart::mixers,
        .chosen_by = ChosenBy::search,
        .typed = {"cp-comm",
                  "Keys and values of context parallelism: p2p, all_gather, a2a or a2a+p2p"},
        .pinned = {"Only these of p2p, all_gather, all_to_all (or a2a) and a2a+p2p, commas "
                   "between"}},
    PlanField<&Plan::cp_a2a>{
        .path = "cp_a2a",
        .domain = kDegreeOrNone,
        .parts = MemoPart::mixers,
        .chosen_by = ChosenBy::search,
        .typed = {"cp-a2a", "With a2a+p2p: ranks of a group that exchanges heads"},
        .pinned = {.help = "With a2a+p2p: only groups of so many ranks exchange heads (default: "
                           "2,4,8)",
                   .least = 2}},
    PlanField<&Plan::recompute>{
        .path = "recompute",
        .domain = kRecomputable.size(),
        .parts = MemoPart::decoder_layers,
        .chosen_by = ChosenBy::search,
        .typed = {"recompute",
                  "none, full, full:N (the first N layers of each chunk), or modules "
                  "with commas: layernorm, mla_up_proj, core_attn, mlp, moe_act, "
                  "shared_experts, moe"},
        .by_stage = &StageOverride::recompute},
    PlanField<&Plan::recompute_full>{.path = "recompute_full",
                                     .parts = MemoPart::decoder_layers | MemoPart::composition,
                                     .chosen_by = ChosenBy::search,
                                     .by_stage = &StageOverride::recompute_full},
    PlanField<&Plan::recompute_layers>{
        .path = "recompute_layers",
        .domain = kLayersOrAll,
        .parts = MemoPart::composition,
        .chosen_by = ChosenBy::search,
        .pinned = {.help = "Where layers are recomputed whole, only the first so many of each "
                           "chunk; 0: all (default: 0,1,2,4 ...)",
                   .flag = "recompute-layers",
                   .least = 0,
                   .most = 1'000'000,
                   .of_memory = true},
        .by_stage = &StageOverride::recompute_layers},
    PlanField<&Plan::recompute_unit>{
        .path = "recompute_unit",
        .domain = {1, 1 << 16},
        .parts = MemoPart::composition,
        .chosen_by = ChosenBy::search,
        .typed = {"recompute-unit",
                  "With full recompute: layers that keep one input together (default: 1)"},
        .pinned = {.help = "Where all layers are recomputed whole, only in units of so many "
                           "(default: 1,2,4)",
                   .most = 1'000'000,
                   .of_memory = true},
        .by_stage = &StageOverride::recompute_unit},
    PlanField<&Plan::offload>{
        .path = "offload",
        .domain = kOffloads.size(),
        .parts = MemoPart::decoder_layers,
        .chosen_by = ChosenBy::search,
        .typed = {"offload",
                  "Activations kept in host memory, with commas: attn_norm, qkv_linear, "
                  "core_attn, attn_proj, mlp_norm, expert_fc1, moe_act"},
        .by_stage = &StageOverride::offload},
    PlanField<&Plan::offload_layers>{
        .path = "offload_layers",
        .domain = kLayersOrAll,
        .parts = MemoPart::composition,
        .chosen_by = ChosenBy::search,
        .typed = {"offload-layers", "Layers whose activations are kept in host memory"},
        .pinned = {.help = "Where activations of whole layers are offloaded, only those of so "
                           "many; 0: of none (default: 0,1,2,4 ...)",
                   .least = 0,
                   .most = 1'000'000,
                   .of_memory = true}},
    PlanField<&Plan::stages>{// each stage is priced by a plan without it (plan_of_stage)
                             .path = "stages",
                             .parts = kNoMemo,
                             .chosen_by = ChosenBy::search},
    PlanField<&Plan::flash_attention>{
        .path = "flash_attention",
        .parts = MemoPart::decoder_layers,
        .chosen_by = ChosenBy::fixed,
        .typed = {"flash-attention", "Attention that stores its score matrix"}},
    PlanField<&Plan::fp8_attention>{
        .path = "fp8_attention",
        .parts = MemoPart::decoder_layers,
        .chosen_by = ChosenBy::numerics,
        .typed = {"fp8-attention", "Scores and values in the narrow precision too",
                  "Scores and values in fp8"},
        .numerics = &Numerics::fp8_attention},
    PlanField<&Plan::fp8_head>{
        .path = "fp8_head",
        .parts = MemoPart::layers,
        .chosen_by = ChosenBy::numerics,
        .typed = {"fp8-head", "The output projection in the narrow precision too",
                  "The output projection in fp8"},
        .numerics = &Numerics::fp8_head},
    PlanField<&Plan::fp8_params>{
        .path = "fp8_params",
        .parts = MemoPart::layers,
        .chosen_by = ChosenBy::numerics,
        .typed = {"fp8-params", "fp8 plans keep and gather their weights in bf16",
                  "In fp8 and mxfp8: weights are kept and gathered in it"},
        .numerics = &Numerics::fp8_params},
    PlanField<&Plan::fsdp_group>{
        .path = "fsdp_group",
        .domain = kDegreeOrNone,
        .parts = MemoPart::sharded_layers,
        .chosen_by = ChosenBy::search,
        .typed = {"fsdp-group", "Ranks of one shard group of zero2 or zero3 (default: all)"}},
    PlanField<&Plan::optimizer_instances>{
        .path = "optimizer_instances",
        .domain = kDegree,
        .parts = MemoPart::records,
        .chosen_by = ChosenBy::search,
        .typed = {"optimizer-instances",
                  "Copies of the optimizer state that zero1 shards; gradients are summed across "
                  "them"}},
    PlanField<&Plan::loss_chunks>{
        .path = "loss_chunks",
        .domain = kDegree,
        .parts = MemoPart::layers,
        .chosen_by = ChosenBy::fixed,
        .typed = {"loss-chunks", "Parts of a microbatch whose logits are there one at a time"},
        .pinned = {"Only so many parts whose logits are there one at a time (default: 1): 1,2,4"},
        .tried = TriedAs::when_pinned},
    PlanField<&Plan::ddp_bucket_size>{
        .path = "ddp_bucket_size",
        .domain = kBucketElements,
        .parts = MemoPart::records,
        .chosen_by = ChosenBy::fixed,
        .typed = {"ddp-bucket-size",
                  "Gradients of a bucket, in elements (default: 40 million, or a million a "
                  "data-parallel rank)"},
        .pinned = {.help = "Only these numbers of gradients in a bucket (default: Megatron's rule)",
                   .most = 2'000'000'000},
        .tried = TriedAs::when_pinned},
    PlanField<&Plan::overlap, &OverlapFlags::expert_parallel>{
        .path = "overlap.expert_parallel",
        .parts = MemoPart::pairs,
        .chosen_by = ChosenBy::search,
        .typed = {"ep-overlap",
                  "Hide expert communication of one microbatch behind the compute of another"},
        .pinned = {"Only this one of on and off: expert communication behind the compute of "
                   "another microbatch"}},
    PlanField<&Plan::overlap, &OverlapFlags::delay_wgrad>{
        .path = "overlap.delay_wgrad",
        .parts = MemoPart::pairs,
        .chosen_by = ChosenBy::search,
        .typed = {"delay-wgrad", "With --ep-overlap: weight gradients apart and later"},
        .pinned = {"Only this one of on and off: with --ep-overlap, weight gradients later"}},
    PlanField<&Plan::overlap, &OverlapFlags::grad_reduce>{
        .path = "overlap.grad_reduce",
        .parts = MemoPart::sharded_layers | MemoPart::records,
        .chosen_by = ChosenBy::fixed,
        .typed = {"grad-overlap", "Reduce gradients after the backward pass"},
        .in_summary = true},
    PlanField<&Plan::overlap, &OverlapFlags::param_gather>{
        .path = "overlap.param_gather",
        .parts = MemoPart::sharded_layers | MemoPart::records,
        .chosen_by = ChosenBy::fixed,
        .typed = {"param-overlap", "Gather weights before the forward pass"},
        .in_summary = true},
    PlanField<&Plan::overlap, &OverlapFlags::gather_beside_step>{
        .path = "overlap.gather_beside_step",
        .parts = MemoPart::records,
        .chosen_by = ChosenBy::fixed,
        .typed = {"gather-beside-step",
                  "Gather the first chunk's weights beside the optimizer's step of the others"},
        .pinned = {"on, off or any: the first chunk's weights gathered beside the optimizer's step "
                   "(default: off)"},
        .tried = TriedAs::when_pinned},
    PlanField<&Plan::overlap, &OverlapFlags::tensor_parallel>{
        .path = "overlap.tensor_parallel",
        .parts = MemoPart::layers,
        .chosen_by = ChosenBy::search,
        .typed = {"tp-overlap", "Tensor-parallel communication in pieces beside its GEMMs"},
        .pinned = {"Only this one of on and off: tensor-parallel communication in pieces"},
        .tried = TriedAs::each_timing},
    PlanField<&Plan::overlap, &OverlapFlags::shared_expert>{
        .path = "overlap.shared_expert",
        .parts = MemoPart::moe_layers,
        .chosen_by = ChosenBy::search,
        .typed = {"shared-expert-overlap", "The shared expert beside the token exchange"},
        .pinned = {"Only this one of on and off: the shared expert beside the token exchange"}},
    PlanField<&Plan::overlap, &OverlapFlags::tile_level>{
        .path = "overlap.tile_level",
        .parts = MemoPart::moe_layers,
        .chosen_by = ChosenBy::fixed,
        .typed = {"tile-overlap", "Expert exchanges inside the grouped GEMMs, tile by tile"},
        .pinned = {"on, off or any: expert exchanges inside the grouped products, which no runtime "
                   "has (default: off)"}},
    PlanField<&Plan::fusions, &Fusions::permute>{
        .path = "fusions.permute",
        .parts = MemoPart::moe_layers,
        .chosen_by = ChosenBy::fixed,
        .typed = {"permute-fusion", "Rows go to the experts' order by a chain of kernels"},
        .pinned = {"on, off or any: one kernel that brings rows to the experts' order (default: "
                   "on)"},
        .tried = TriedAs::when_pinned,
        .in_summary = true},
    PlanField<&Plan::fusions, &Fusions::router>{
        .path = "fusions.router",
        .parts = MemoPart::moe_layers,
        .chosen_by = ChosenBy::fixed,
        .typed = {"router-fusion", "Scores, top-k and balance losses by a chain of kernels"},
        .pinned = {"on, off or any: one kernel for scores and top-k (default: on)"},
        .tried = TriedAs::when_pinned,
        .in_summary = true},
    PlanField<&Plan::fusions, &Fusions::scale_init>{
        .path = "fusions.scale_init",
        .parts = MemoPart::layers,
        .chosen_by = ChosenBy::fixed,
        .typed = {"scale-init-fusion", "A kernel zeroes the scales of each quantised tensor"},
        .pinned = {"on, off or any: scales are not zeroed by kernels of their own (default: on)"},
        .tried = TriedAs::when_pinned,
        .in_summary = true},
    PlanField<&Plan::fusions, &Fusions::scale_order>{
        .path = "fusions.scale_order",
        .parts = MemoPart::layers,
        .chosen_by = ChosenBy::fixed,
        .typed = {"scale-order-fusion", "A kernel orders the scales of each quantised tensor"},
        .pinned = {"on, off or any: scales are made in the order that products read (default: on)"},
        .tried = TriedAs::when_pinned,
        .in_summary = true},
    PlanField<&Plan::paged_stash, &PagedStash::buffer>{
        .path = "paged_stash.buffer",
        .domain = {0.0, 1e6},
        .parts = MemoPart::layers,
        .chosen_by = ChosenBy::fixed,
        .typed = {"paged-stash",
                  "Paged stash of what experts save: its size over the balanced mean, for example "
                  "1.1"}},
    PlanField<&Plan::paged_stash, &PagedStash::capacity>{
        .path = "paged_stash.capacity",
        .domain = {0.0, 1e6},
        .parts = MemoPart::layers,
        .chosen_by = ChosenBy::fixed,
        .typed = {"stash-capacity",
                  "With --paged-stash: rows a rank's experts compute with, over the balanced "
                  "mean"}},
    PlanField<&Plan::optimizer, &OptimizerPlan::kind>{
        .path = "optimizer.kind",
        .parts = MemoPart::records,
        .chosen_by = ChosenBy::numerics,
        .typed = {"optimizer", "adamw, lamb, sgd (with momentum) or muon"}},
    PlanField<&Plan::optimizer, &OptimizerPlan::main_grads>{
        .path = "optimizer.main_grads",
        .domain = {{DType::fp32, DType::bf16, DType::fp16, DType::fp8}, 4, 3},
        .parts = MemoPart::layers,
        .chosen_by = ChosenBy::numerics,
        .typed = {"main-grads-dtype", "Of the gradients: fp32, bf16, or fp16 in an fp16 run"}},
    PlanField<&Plan::optimizer, &OptimizerPlan::main_params>{
        .path = "optimizer.main_params",
        .domain = {{DType::fp32, DType::bf16, DType::fp16, DType::fp8, DType::remainder16}, 5, 5},
        .parts = MemoPart::records,
        .chosen_by = ChosenBy::numerics,
        .typed = {"main-params-dtype",
                  "Of the optimizer's copy of the weights: fp32, bf16, fp16, fp8, or remainder16 "
                  "(what the bf16 weights lack of fp32)",
                  "Of the optimizer's copy of the weights: fp32, bf16, fp16, fp8 or remainder16"}},
    PlanField<&Plan::optimizer, &OptimizerPlan::exp_avg>{
        .path = "optimizer.exp_avg",
        .domain = kMomentTypes,
        .parts = MemoPart::records,
        .chosen_by = ChosenBy::numerics,
        .typed = {"exp-avg-dtype", "Of the first moment: fp32, bf16, fp16 or fp8",
                  "Of Adam's first moment: fp32, bf16, fp16 or fp8"}},
    PlanField<&Plan::optimizer, &OptimizerPlan::exp_avg_sq>{
        .path = "optimizer.exp_avg_sq",
        .domain = kMomentTypes,
        .parts = MemoPart::records,
        .chosen_by = ChosenBy::numerics,
        .typed = {"exp-avg-sq-dtype", "Of the second moment: fp32, bf16, fp16 or fp8",
                  "Of Adam's second moment: fp32, bf16, fp16 or fp8"}},
    PlanField<&Plan::optimizer, &OptimizerPlan::state_offload>{
        .path = "optimizer.state_offload",
        .domain = {0.0, 1.0},
        .parts = MemoPart::records,
        .chosen_by = ChosenBy::search,
        .typed = {"state-offload",
                  "Share of the optimizer's state that is in host memory between steps"}},
    PlanField<&Plan::optimizer, &OptimizerPlan::cpu_offload>{
        .path = "optimizer.cpu_offload",
        .domain = {0.0, 1.0},
        .parts = MemoPart::records,
        .chosen_by = ChosenBy::search,
        .typed = {"cpu-optimizer",
                  "Share of the optimizer's state that stays in host memory, the CPU making its "
                  "step"}},
    PlanField<&Plan::optimizer, &OptimizerPlan::cpu_offload_overlapped>{
        .path = "optimizer.cpu_offload_overlapped",
        .parts = MemoPart::records,
        .chosen_by = ChosenBy::search,
        .typed = {"overlap-cpu-optimizer",
                  "With --cpu-optimizer: transfers beside the CPU's step"}},
    PlanField<&Plan::optimizer, &OptimizerPlan::grad_reduce>{
        .path = "optimizer.grad_reduce",
        .domain = kWireTypes,
        .parts = MemoPart::layers,
        .chosen_by = ChosenBy::numerics,
        .typed = {"grad-reduce-dtype",
                  "Of gradients while they are reduced: fp32 or bf16 "
                  "(default: as they are kept)"}}};

inline constexpr std::size_t kPlanFieldCount = std::tuple_size_v<decltype(kPlanFields)>;

// Calls visit(std::integral_constant<std::size_t, I>) for each row, in order; kPlanField<I> is it.
template <std::size_t I>
inline constexpr const auto& kPlanField = std::get<I>(kPlanFields);
template <class Visit>
constexpr void for_each_plan_field(Visit&& visit) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (visit(std::integral_constant<std::size_t, I>()), ...);
  }(std::make_index_sequence<kPlanFieldCount>());
}

// The number of a field's row: kPlanRow<&Plan::optimizer, &OptimizerPlan::kind>.
template <auto... Members>
inline constexpr std::size_t kPlanRow = [] {
  std::size_t row = kPlanFieldCount;
  for_each_plan_field([&](auto i) {
    using Row = std::remove_cvref_t<decltype(kPlanField<i>)>;
    if (std::is_same_v<Row, PlanField<Members...>>) row = i;
  });
  return row;
}();

}  // namespace pleat
