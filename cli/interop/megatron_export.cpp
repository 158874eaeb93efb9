// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One row a field of the plan document: the flags of Megatron-LM that say it. Flags and their
// sources are in configs/interop/megatron-lm.json.
#include "cli/interop/megatron_export.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics.hpp"

namespace pleat::interop {
namespace {

using C = const ExportContext&;

template <class Enum>
std::vector<std::string> names(const std::set<Enum>& values) {
  std::vector<std::string> list;
  for (const Enum value : values) list.push_back(name_of(value));
  return list;
}

void write_layout(C c, Exported& e) {
  if (c.plan().attention.pp == 1) return;
  if (!c.plan().layout.empty()) {
    add(e, "--pipeline-model-parallel-layout", {c.plan().layout});
  } else if (!splits_evenly(c)) {
    add(e, "--account-for-embedding-in-pipeline-split");
    add(e, "--account-for-loss-in-pipeline-split");
  }
}

void write_vpp(C c, Exported& e) {
  // With a layout Megatron-LM counts the virtual stages in it.
  if (c.plan().vpp > 1 && c.plan().layout.empty())
    add(e, "--num-virtual-stages-per-pipeline-rank", std::int64_t{c.plan().vpp});
}

void write_group(C c, Exported& e) {
  if (c.plan().microbatch_group > 0 && c.plan().vpp > 1) {
    add(e, "--microbatch-group-size-per-virtual-pipeline-stage",
        std::int64_t{c.plan().microbatch_group});
  }
}

void write_precision(C c, Exported& e) {
  const auto fp8 = [&](const char* format, const char* recipe) {
    add(e, "--bf16");
    add(e, "--fp8-format", {format});
    add(e, "--fp8-recipe", {recipe});
  };
  switch (c.plan().precision) {
    case Precision::fp32:
      return;
    case Precision::fp16:
      return add(e, "--fp16");
    case Precision::bf16:
      return add(e, "--bf16");
    case Precision::fp8:
      return fp8("hybrid", "tensorwise");
    case Precision::fp8_delayed:
      return fp8("hybrid", "delayed");
    case Precision::fp8_block:
      return fp8("e4m3", "blockwise");
    case Precision::mxfp8:
      return fp8("e4m3", "mxfp8");
    case Precision::nvfp4:
      add(e, "--bf16");
      add(e, "--fp4-format", {"e2m1"});
      return add(e, "--fp4-recipe", {"nvfp4"});
  }
}

void write_fp8_params(C c, Exported& e) {
  if (!keeps_fp8_weights(c)) return;
  if (c.plan().sharding == Sharding::none) {
    return miss(e, "plan.fp8_params", "true",
                "--fp8-param-gather needs a distributed optimizer; weights stay in bf16");
  }
  add(e, "--fp8-param-gather");
  if (c.plan().precision == Precision::mxfp8) add(e, "--reuse-grad-buf-for-mxfp8-param-ag");
}

void write_sharding(C c, Exported& e) {
  const auto fsdp = [&](const char* strategy) {
    add(e, "--use-megatron-fsdp");
    add(e, "--use-distributed-optimizer");
    add(e, "--data-parallel-sharding-strategy", {strategy});
    add(e, "--ckpt-format", {"fsdp_dtensor"});
    add(e, "--no-gradient-accumulation-fusion");
  };
  switch (c.plan().sharding) {
    case Sharding::none:
      return;
    case Sharding::zero1:
      return add(e, "--use-distributed-optimizer");
    case Sharding::zero2:
      return fsdp("optim_grads");
    case Sharding::zero3:
      return fsdp("optim_grads_params");
  }
}

void write_fsdp_group(C c, Exported& e) {
  const int group = c.plan().fsdp_group;
  const int ranks = c.plan().attention.dp * c.plan().attention.cp;
  if (!is_fsdp(c) || group == 0 || group == ranks) return;
  add(e, "--num-distributed-optimizer-instances", std::int64_t{ranks / group});
  add(e, "--outer-dp-sharding-strategy", {"no_shard"});
}

void write_dispatcher(C c, Exported& e) {
  if (!is_moe(c)) return;
  switch (c.plan().dispatcher) {
    case Dispatcher::allgather:
      return add(e, "--moe-token-dispatcher-type", {"allgather"});
    case Dispatcher::alltoall:
      return add(e, "--moe-token-dispatcher-type", {"alltoall"});
    case Dispatcher::deepep:
    case Dispatcher::hybridep:
      add(e, "--moe-token-dispatcher-type", {"flex"});
      add(e, "--moe-flex-dispatcher-backend", {name_of(c.plan().dispatcher)});
  }
}

void write_dispatcher_sms(C c, Exported& e) {
  if (c.plan().dispatcher_sms == 0) return;
  if (uses_flex(c))
    return add(e, "--moe-flex-dispatcher-num-sms", std::int64_t{c.plan().dispatcher_sms});
  miss(e, "plan.dispatcher_sms", std::to_string(c.plan().dispatcher_sms),
       "only deepep and hybridep have it");
}

void write_graph(C c, Exported& e) {
  const auto modules = [&](std::vector<std::string> list) {
    add(e, "--cuda-graph-impl", {"transformer_engine"});
    add(e, "--te-rng-tracker");
    add(e, "--cuda-graph-modules", std::move(list));
  };
  switch (c.plan().cuda_graph) {
    case CudaGraph::none:
      return;
    case CudaGraph::router:
      return modules({"moe_router", "moe_preprocess"});
    case CudaGraph::partial:
      if (!is_moe(c)) return modules({"attn"});
      return modules({"attn", "moe_router", "moe_preprocess"});
    case CudaGraph::full_iteration:
      add(e, "--cuda-graph-impl", {"full_iteration"});
      add(e, "--te-rng-tracker");
      add(e, "--no-check-for-nan-in-loss-and-grad");
      if (!c.plan().offload.empty())
        add(e, "--fine-grained-offloading-max-inflight-offloads", std::int64_t{1});
  }
}

void write_cp_comm(C c, Exported& e) {
  if (c.plan().attention.cp == 1) return;
  switch (c.plan().cp_comm) {
    case CpComm::p2p:
      return add(e, "--cp-comm-type", {"p2p"});
    case CpComm::all_gather:
      return add(e, "--cp-comm-type", {"allgather"});
    case CpComm::all_to_all:
      return add(e, "--cp-comm-type", {"a2a"});
  }
}

void write_recompute(C c, Exported& e) {
  if (c.plan().recompute.empty()) return;
  add(e, "--recompute-granularity", {"selective"});
  add(e, "--recompute-modules", names(c.plan().recompute));
}

void write_recompute_full(C c, Exported& e) {
  if (!c.plan().recompute_full) return;
  const int layers = c.plan().recompute_layers;
  add(e, "--recompute-granularity", {"full"});
  add(e, "--recompute-method", {layers == 0 ? "uniform" : "block"});
  add(e, "--recompute-num-layers", std::int64_t{layers == 0 ? 1 : layers});
}

void write_offload(C c, Exported& e) {
  if (c.plan().offload.empty()) return;
  add(e, "--fine-grained-activation-offloading");
  add(e, "--offload-modules", names(c.plan().offload));
  e.environment.emplace_back("NVTE_CPU_OFFLOAD_V1", "1");
}

void write_fp8_attention(C c, Exported& e) {
  if (c.plan().fp8_attention) {
    miss(e, "plan.fp8_attention", "true",
         "no flag; model.fp8_dot_product_attention of the configuration object");
  }
}

void write_param_gather(C c, Exported& e) {
  // Nothing is gathered without a sharded optimizer.
  if (c.plan().overlap.param_gather && c.plan().sharding != Sharding::none)
    add(e, "--overlap-param-gather");
}

void write_main_grads(C c, Exported& e) {
  if (narrow_optimizer(c)) add(e, "--use-precision-aware-optimizer");
  if (c.plan().optimizer.main_grads == DType::fp32) return;
  add(e, "--main-grads-dtype", {std::string(name_of(c.plan().optimizer.main_grads))});
  add(e, "--grad-reduce-in-bf16");
  if (is_fsdp(c)) add(e, "--megatron-fsdp-main-grads-dtype", {"bf16"});
}

void write_state(Exported& e, const char* flag, DType type) {
  if (type != DType::fp32) add(e, flag, {std::string(name_of(type))});
}

void write_sequence(C c, Exported& e) {
  add(e, "--seq-length", c.workload().seq_len);
  add(e, "--max-position-embeddings", std::max(c.workload().seq_len, c.model().learned_positions));
}

void write_routing(C c, Exported& e) {
  if (is_moe(c) && c.workload().routing == Routing::forced) {
    e.notes.push_back(
        "predicted with balanced experts; --moe-router-force-load-balancing makes a "
        "benchmark run do the same");
  }
}

void write_imbalance(C c, Exported& e) {
  if (c.workload().imbalance != 1.0) {
    miss(e, "workload.imbalance", fmt::format("{}", c.workload().imbalance),
         "an assumption about routing, not a setting");
  }
}

void write_world(C c, Exported& e) {
  e.notes.push_back(fmt::format("world size {}", c.document.gpus));
}

void write_connections(C c, Exported& e) {
  const Plan& p = c.plan();
  const bool ordered = (p.attention.tp > 1 || p.attention.cp > 1) && c.before_blackwell &&
                       !is_fsdp(c) && !p.overlap.expert_parallel;
  if (ordered) e.environment.emplace_back("CUDA_DEVICE_MAX_CONNECTIONS", "1");
  if (captures_parts(p.cuda_graph)) e.environment.emplace_back("NCCL_GRAPH_REGISTER", "0");
}

std::vector<FieldRule> make_fields() {
  return {
      {"plan.attention.tp",
       [](C c, Exported& e) {
         add(e, "--tensor-model-parallel-size", std::int64_t{c.plan().attention.tp});
       },
       nullptr},
      {"plan.attention.cp",
       [](C c, Exported& e) {
         add(e, "--context-parallel-size", std::int64_t{c.plan().attention.cp});
       },
       nullptr},
      {"plan.attention.dp", nullptr, "world size over TP, CP and PP"},
      {"plan.attention.pp",
       [](C c, Exported& e) {
         add(e, "--pipeline-model-parallel-size", std::int64_t{c.plan().attention.pp});
       },
       nullptr},
      {"plan.expert.etp",
       [](C c, Exported& e) {  // absent it would be TP
         if (is_moe(c)) add(e, "--expert-tensor-parallel-size", std::int64_t{c.plan().expert.etp});
       },
       nullptr},
      {"plan.expert.ep",
       [](C c, Exported& e) {
         if (is_moe(c)) add(e, "--expert-model-parallel-size", std::int64_t{c.plan().expert.ep});
       },
       nullptr},
      {"plan.expert.edp", nullptr, "world size over ETP, EP and PP"},
      {"plan.vpp", write_vpp, nullptr},
      {"plan.microbatch_group", write_group, nullptr},
      {"plan.layout", write_layout, nullptr},
      {"plan.micro_batch",
       [](C c, Exported& e) { add(e, "--micro-batch-size", std::int64_t{c.plan().micro_batch}); },
       nullptr},
      {"workload.global_batch",
       [](C c, Exported& e) { add(e, "--global-batch-size", c.workload().global_batch); }, nullptr},
      {"workload.seq_len", write_sequence, nullptr},
      {"plan.sequence_parallel",
       [](C c, Exported& e) {
         if (c.plan().sequence_parallel && c.plan().attention.tp > 1) add(e, "--sequence-parallel");
       },
       nullptr},
      {"plan.precision", write_precision, nullptr},
      {"plan.fp8_params", write_fp8_params, nullptr},
      {"plan.fp8_attention", write_fp8_attention, nullptr},
      {"plan.fp8_head",
       [](C c, Exported& e) {
         if (c.plan().fp8_head) add(e, "--fp8-output-proj");
       },
       nullptr},
      {"plan.sharding", write_sharding, nullptr},
      {"plan.fsdp_group", write_fsdp_group, nullptr},
      {"plan.dispatcher", write_dispatcher, nullptr},
      {"plan.dispatcher_sms", write_dispatcher_sms, nullptr},
      {"plan.cuda_graph", write_graph, nullptr},
      {"plan.cp_comm", write_cp_comm, nullptr},
      {"plan.recompute", write_recompute, nullptr},
      {"plan.recompute_full", write_recompute_full, nullptr},
      {"plan.recompute_layers", nullptr, "--recompute-num-layers of full recompute"},
      {"plan.offload", write_offload, nullptr},
      {"plan.offload_layers",
       [](C c, Exported& e) {
         if (c.plan().offload_layers > 0)
           add(e, "--cpu-offloading-num-layers", std::int64_t{c.plan().offload_layers});
       },
       nullptr},
      {"plan.flash_attention",
       [](C c, Exported& e) {
         if (!c.plan().flash_attention) add(e, "--attention-backend", {"unfused"});
       },
       nullptr},
      {"plan.overlap.expert_parallel",
       [](C c, Exported& e) {
         if (c.plan().overlap.expert_parallel) add(e, "--overlap-moe-expert-parallel-comm");
       },
       nullptr},
      {"plan.overlap.delay_wgrad",
       [](C c, Exported& e) {
         if (c.plan().overlap.delay_wgrad) add(e, "--delay-wgrad-compute");
       },
       nullptr},
      {"plan.overlap.grad_reduce",
       [](C c, Exported& e) {
         if (c.plan().overlap.grad_reduce) add(e, "--overlap-grad-reduce");
       },
       nullptr},
      {"plan.overlap.param_gather", write_param_gather, nullptr},
      {"plan.overlap.tensor_parallel",
       [](C c, Exported& e) {
         if (c.plan().overlap.tensor_parallel) add(e, "--tp-comm-overlap");
       },
       nullptr},
      {"plan.overlap.shared_expert",
       [](C c, Exported& e) {
         if (c.plan().overlap.shared_expert) add(e, "--moe-shared-expert-overlap");
       },
       nullptr},
      {"plan.optimizer.main_grads", write_main_grads, nullptr},
      {"plan.optimizer.main_params", nullptr, "fp32, anything else is refused"},
      {"plan.optimizer.exp_avg",
       [](C c, Exported& e) { write_state(e, "--exp-avg-dtype", c.plan().optimizer.exp_avg); },
       nullptr},
      {"plan.optimizer.exp_avg_sq",
       [](C c, Exported& e) {
         write_state(e, "--exp-avg-sq-dtype", c.plan().optimizer.exp_avg_sq);
       },
       nullptr},
      {"workload.routing", write_routing, nullptr},
      {"workload.capacity_factor",
       [](C c, Exported& e) {
         if (is_moe(c) && c.workload().capacity_factor > 0)
           add(e, "--moe-expert-capacity-factor", c.workload().capacity_factor);
       },
       nullptr},
      {"workload.pad_to_capacity",
       [](C c, Exported& e) {
         if (is_moe(c) && c.workload().pad_to_capacity)
           add(e, "--moe-pad-expert-input-to-capacity");
       },
       nullptr},
      {"workload.imbalance", write_imbalance, nullptr},
      {"cluster.name", write_connections, nullptr},
      {"cluster.gpus", write_world, nullptr},
  };
}

}  // namespace

const std::vector<FieldRule>& megatron_fields() {
  static const std::vector<FieldRule> rules = make_fields();
  return rules;
}

}  // namespace pleat::interop
