// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A plan: everything about how a model is run that is not the model, the workload or the hardware.
// Parallel folding: attention ranks form a grid tp × cp × dp × pp, expert ranks a grid
// etp × ep × edp × pp over the same world; only pp is shared.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/dtype.hpp"
#include "core/spec/profile.hpp"

namespace pleat {

// Each field of the structs below has a row in plan_table.hpp, without which nothing compiles.
struct AttentionMapping {
  int tp = 1, cp = 1, dp = 1, pp = 1;
  bool operator==(const AttentionMapping&) const = default;
};

// Which rank of an expert-parallel group has which experts. in_order: rank r the r-th run of them.
// by_load: layer by layer, so that ranks have alike many tokens (core/plan/expert_slots.hpp).
enum class ExpertPlacement : std::uint8_t { in_order, by_load };

struct ExpertMapping {
  int etp = 1, ep = 1, edp = 1;  // pp is the attention grid's
  ExpertPlacement placement = ExpertPlacement::in_order;
  int redundant = 0;  // further experts of each rank of ep in each layer: copies of busy ones
  bool operator==(const ExpertMapping&) const = default;

  // Experts of a layer that a rank holds, and all ranks of ep, copies included, of so many.
  [[nodiscard]] constexpr std::int64_t local(std::int64_t experts) const {
    return experts / ep + redundant;
  }
  [[nodiscard]] constexpr std::int64_t slots(std::int64_t experts) const {
    return local(experts) * ep;
  }
};

// fp8: one scale per tensor, from the current amax; fp8_delayed: from past ones; fp8_block: 1x128
// and 128x128 blocks.
enum class Precision : std::uint8_t {
  fp32, fp16, bf16, fp8, fp8_delayed, fp8_block, mxfp8, nvfp4
};
enum class Sharding : std::uint8_t { none, zero1, zero2, zero3 };
// hierarchical: an all-gather between nodes, then an all-to-all within them, and back the same way.
// What the rest of the code asks about one is in dispatcher_traits.hpp.
enum class Dispatcher : std::uint8_t { allgather, alltoall, deepep, hybridep, hierarchical };
// attention: a layer's half; router: the router and what prepares the exchange; partial: both.
enum class CudaGraph : std::uint8_t { none, attention, router, partial, full_iteration };
[[nodiscard]] constexpr bool captures_attention(CudaGraph g) {
  return g == CudaGraph::attention || g == CudaGraph::partial;
}
[[nodiscard]] constexpr bool captures_router(CudaGraph g) {
  return g == CudaGraph::router || g == CudaGraph::partial;
}
// Some modules of a layer, not the whole iteration.
[[nodiscard]] constexpr bool captures_parts(CudaGraph g) {
  return captures_attention(g) || captures_router(g);
}
// The least scope that holds both.
[[nodiscard]] constexpr CudaGraph both_of(CudaGraph a, CudaGraph b) {
  const bool apart = captures_attention(a) != captures_attention(b) &&
                     captures_router(a) != captures_router(b) && captures_parts(a) &&
                     captures_parts(b);
  return apart ? CudaGraph::partial : a < b ? b : a;
}
// How context parallelism moves keys and values: a ring, a gather, heads against sequence; a2a_p2p:
// heads against sequence in groups of Plan::cp_a2a ranks, a ring between the groups.
enum class CpComm : std::uint8_t { p2p, all_gather, all_to_all, a2a_p2p };
// Order of the pipeline's slots. one_f_one_b: interleaved with vpp > 1. The others split backward
// passes into input and weight gradients. zb_v, dualpipe_v: the chunks of a stage form a V (vpp 2).
// dualpipe: microbatches enter at both ends, every stage holds two stages' layers.
enum class PipelineSchedule : std::uint8_t { one_f_one_b, zb_h1, zb_v, dualpipe, dualpipe_v };
[[nodiscard]] constexpr bool splits_backward(PipelineSchedule s) {
  return s != PipelineSchedule::one_f_one_b;
}
[[nodiscard]] constexpr bool is_dualpipe(PipelineSchedule s) {
  return s == PipelineSchedule::dualpipe || s == PipelineSchedule::dualpipe_v;
}
// What is kept in host memory between forward and backward (Megatron's --offload-modules).
enum class Offload : std::uint8_t {
  attn_norm, qkv_linear, core_attn, attn_proj, mlp_norm, expert_fc1, moe_act
};

inline constexpr std::array kOffloads{Offload::attn_norm, Offload::qkv_linear, Offload::core_attn,
                                      Offload::attn_proj, Offload::mlp_norm,   Offload::expert_fc1,
                                      Offload::moe_act};

// Unit of recompute, offload and graph capture, and the rubric costs are summed under.
// The first seven can be recomputed (Megatron's --recompute-modules names).
enum class Module : std::uint8_t {
  layernorm, mla_up_proj, core_attn, mlp, moe_act, shared_experts, moe,
  embedding, qkv, attn_proj, router, dispatch, experts, combine, residual, head,
  grad_sync, optimizer, pipeline
};
inline constexpr std::array kRecomputable{
    Module::layernorm, Module::mla_up_proj,    Module::core_attn, Module::mlp,
    Module::moe_act,   Module::shared_experts, Module::moe};

struct OverlapFlags {
  bool expert_parallel = false;  // pair pass: forward of one microbatch with backward of another
  bool delay_wgrad = false;
  bool grad_reduce = true;
  bool param_gather = true;
  bool gather_beside_step = false;  // the first chunk's weights beside the others' optimizer step
  bool tensor_parallel = false;  // tp exchanges in pieces beside their GEMMs (user buffers)
  bool shared_expert = false;    // the shared expert beside the token exchange
  bool tile_level = false;       // expert exchanges inside the grouped GEMMs, tile by tile
  bool operator==(const OverlapFlags&) const = default;
};

// muon: momentum and Newton-Schulz for matrices, AdamW for tables, head, norms and biases.
// sgd: with momentum. lamb: AdamW with a trust ratio for each parameter.
enum class OptimizerKind : std::uint8_t { adamw, lamb, sgd, muon };

struct OptimizerPlan {
  OptimizerKind kind = OptimizerKind::adamw;
  DType main_grads = DType::fp32;
  DType main_params = DType::fp32;  // remainder16: with the bf16 weights, an fp32 copy
  DType exp_avg = DType::fp32;      // the momentum of sgd and muon
  DType exp_avg_sq = DType::fp32;
  std::optional<DType> grad_reduce;  // on the wire; absent: as main_grads
  // Shares of the state kept in host memory, 0 to 1. state_offload: between steps; the step runs on
  // the GPU. cpu_offload: always, and the CPU makes the step; overlapped: transfers beside it.
  double state_offload = 0, cpu_offload = 0;
  bool cpu_offload_overlapped = false;
  bool operator==(const OptimizerPlan&) const = default;
};

// Megatron's paged stash: what routed experts save lies in one buffer of `buffer` times the
// balanced mean, and what they compute with is sized for `capacity` times it, whatever routing
// decides. So the host need not know the sizes. 0: no stash.
struct PagedStash {
  double buffer = 0, capacity = 0;
  bool operator==(const PagedStash&) const = default;
};

// Chains of kernels that a release of Megatron and TransformerEngine runs as one. Off: each kernel
// of the chain is launched by itself, and most of them pass over their tensors once more
// (core/program/passes/unfused_kernels.hpp). What Pleat runs is fused, whatever these say.
struct Fusions {
  bool permute = true;      // rows to the experts' order and back (--moe-permute-fusion)
  bool router = true;       // scores, top-k, map and balance losses (--moe-router-fusion)
  bool scale_init = true;   // no kernel that zeroes the scales of a block format
  bool scale_order = true;  // none that brings them into the order that products read
  bool operator==(const Fusions&) const = default;
};

// What one stage of the pipeline recomputes and offloads, where that is not what the plan says for
// all stages; the fields are the plan's.
struct StageOverride {
  int stage = 0;
  std::set<Module> recompute;
  bool recompute_full = false;
  int recompute_layers = 0;
  int recompute_unit = 1;
  std::set<Offload> offload;
  bool operator==(const StageOverride&) const = default;
};

struct Plan {
  AttentionMapping attention;
  ExpertMapping expert;
  int vpp = 1;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int microbatch_group = 0;  // microbatches per group of the interleaved order; 0: pp
  std::string layout;        // "Et*3|(tt|)*29m|L"; empty: layers split evenly
  int micro_batch = 1;       // sequences per microbatch
  bool sequence_parallel = true;  // with tp > 1
  Precision precision = Precision::bf16;
  Sharding sharding = Sharding::zero1;
  Dispatcher dispatcher = Dispatcher::alltoall;
  CudaGraph cuda_graph = CudaGraph::none;
  int dispatcher_sms = 0;         // SMs a deepep or hybridep exchange takes; 0: the profile's
  bool fp8_dispatch = false;      // rows travel to the experts in fp8, with scales
  bool fp8_combine = false;       // and back
  CpComm cp_comm = CpComm::p2p;
  int cp_a2a = 0;                 // a2a_p2p: ranks of a group that exchanges heads
  std::set<Module> recompute;     // empty: none
  bool recompute_full = false;    // whole layers
  int recompute_layers = 0;       // full: the first so many layers of each chunk; 0: all
  int recompute_unit = 1;         // full: layers that keep one input together (Megatron's uniform)
  std::set<Offload> offload;      // activations kept in host memory
  int offload_layers = 0;         // whole layers' activations in host memory (--cpu-offloading)
  std::vector<StageOverride> stages;  // by stage, ascending; empty: all stages do the same
  bool flash_attention = true;    // false: the score matrix is stored, as before FlashAttention
  bool fp8_attention = false;     // scores and values in the narrow precision too
  bool fp8_head = false;          // and the output projection
  bool fp8_params = true;         // fp8 and mxfp8: weights are kept and gathered in it (fp8 only)
  int fsdp_group = 0;             // zero2, zero3: ranks of one shard group; 0: all
  int optimizer_instances = 1;    // zero1: copies of the sharded optimizer state
  int loss_chunks = 1;            // parts of a microbatch whose logits are there one at a time
  int ddp_bucket_size = 0;        // gradients of a bucket, in elements; 0: Megatron's own rule
  OverlapFlags overlap;
  Fusions fusions;
  PagedStash paged_stash;
  OptimizerPlan optimizer;
  bool operator==(const Plan&) const = default;

  [[nodiscard]] int world() const {
    return attention.tp * attention.cp * attention.dp * attention.pp;
  }
  // Groups of data-parallel ranks that hold a whole set of shards each; 1: each rank its own shard.
  [[nodiscard]] int shard_instances() const {
    if (sharding == Sharding::zero1) return optimizer_instances;
    if (sharding == Sharding::none || fsdp_group <= 0) return 1;
    return std::max(1, attention.dp * attention.cp / fsdp_group);
  }
  // The same of the experts' weights: as many instances as their ranks allow.
  [[nodiscard]] int expert_instances() const { return std::gcd(shard_instances(), expert.edp); }
  // Microbatches per step on each data-parallel rank; exact when the constraints hold.
  [[nodiscard]] std::int64_t microbatches(std::int64_t global_batch) const {
    return global_batch / (static_cast<std::int64_t>(attention.dp) * micro_batch);
  }
};

[[nodiscard]] std::string name_of(Precision);
[[nodiscard]] std::string name_of(Sharding);
[[nodiscard]] std::string name_of(Dispatcher);
[[nodiscard]] std::string name_of(CudaGraph);
[[nodiscard]] std::string name_of(CpComm);
[[nodiscard]] std::string name_of(PipelineSchedule);
[[nodiscard]] std::string name_of(Offload);
[[nodiscard]] std::string name_of(Module);
[[nodiscard]] std::string name_of(OptimizerKind);
[[nodiscard]] std::string name_of(ExpertPlacement);

// "TP1 CP1 DP128 PP2 VPP8 | ETP1 EP32 EDP4 | mbs1 mxfp8 …": one line for tables.
[[nodiscard]] std::string summary(const Plan&);

}  // namespace pleat
