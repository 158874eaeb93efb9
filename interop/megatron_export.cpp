// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One row a field of the plan document: the flags of Megatron-LM that say it. Flags and their
// sources are in configs/interop/megatron-lm.json.
#include "interop/megatron_export.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics.hpp"
#include "core/plan/layout_text.hpp"

namespace pleat::interop {
namespace {

using C = const ExportContext&;

template <class Enum>
std::vector<std::string> names(const std::set<Enum>& values) {
  std::vector<std::string> list;
  for (const Enum value : values) list.push_back(name_of(value));
  return list;
}

// Megatron-LM wants an m for each prediction layer, where a plan has one for all.
std::string with_prediction_layers(C c) {
  std::string layout = c.plan().layout;
  int blocks = 0;
  for_each_symbol(layout, [&](char symbol, std::size_t) { blocks += symbol == 'm'; });
  if (blocks != 1) return layout;
  const auto more = static_cast<std::size_t>(std::max<std::int64_t>(1, c.model().mtp_layers)) - 1;
  return layout.insert(layout.find('m'), more, 'm');
}

void write_megatron_layout(C c, Exported& e) {
  if (c.plan().attention.pp == 1) return;
  if (!c.plan().layout.empty()) {
    add(e, "--pipeline-model-parallel-layout", {with_prediction_layers(c)});
  } else if (!splits_evenly(c)) {
    add(e, "--account-for-embedding-in-pipeline-split");
    add(e, "--account-for-loss-in-pipeline-split");
  }
}

void write_megatron_vpp(C c, Exported& e) {
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

void write_megatron_precision(C c, Exported& e) {
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

void write_graph(C c, Exported& e) {
  const auto modules = [&](std::vector<std::string> list) {
    add(e, "--cuda-graph-impl", {"transformer_engine"});
    add(e, "--te-rng-tracker");
    add(e, "--cuda-graph-modules", std::move(list));
  };
  switch (c.plan().cuda_graph) {
    case CudaGraph::none:
      return;
    case CudaGraph::attention:
      return modules({"attn"});
    case CudaGraph::router:
      return modules({"moe_router", "moe_preprocess"});
    case CudaGraph::partial:
      if (!is_moe(c)) return modules({"attn", "mlp"});
      return modules({"attn", "moe_router", "moe_preprocess"});
    case CudaGraph::full_iteration:
      add(e, "--cuda-graph-impl", {"full_iteration"});
      add(e, "--te-rng-tracker");
      add(e, "--no-check-for-nan-in-loss-and-grad");
      if (!c.plan().offload.empty())
        add(e, "--fine-grained-offloading-max-inflight-offloads", std::int64_t{1});
  }
}

void write_megatron_recompute(C c, Exported& e) {
  if (c.plan().recompute.empty()) return;
  add(e, "--recompute-granularity", {"selective"});
  add(e, "--recompute-modules", names(c.plan().recompute));
}

void write_recompute_full(C c, Exported& e) {
  if (!c.plan().recompute_full) return;
  const int layers = c.plan().recompute_layers;
  add(e, "--recompute-granularity", {"full"});
  add(e, "--recompute-method", {layers == 0 ? "uniform" : "block"});
  add(e, "--recompute-num-layers", std::int64_t{layers == 0 ? c.plan().recompute_unit : layers});
}

void write_offload(C c, Exported& e) {
  if (c.plan().offload.empty()) return;
  add(e, "--fine-grained-activation-offloading");
  add(e, "--offload-modules", names(c.plan().offload));
  e.environment.emplace_back("NVTE_CPU_OFFLOAD_V1", "1");
}

// The rank's capacity needs one of two ways to run the experts; this one has no further demands.
void write_stash(C c, Exported& e) {
  if (!has_stash(c)) return;
  add(e, "--moe-paged-stash");
  add(e, "--moe-paged-stash-buffer-size-factor-cuda", c.plan().paged_stash.buffer);
  add(e, "--moe-expert-rank-capacity-factor", c.plan().paged_stash.capacity);
  add(e, "--moe-use-grouped-tensor");
}

void write_fp8_attention(C c, Exported& e) {
  if (c.plan().fp8_attention) {
    miss(e, "plan.fp8_attention", "true",
         "no flag; model.fp8_dot_product_attention of the configuration object");
  }
}

void write_bucket_size(C c, Exported& e) {
  if (c.plan().ddp_bucket_size > 0)
    add(e, "--ddp-bucket-size", std::int64_t{c.plan().ddp_bucket_size});
}

void write_scale_fusion(bool on, const char* field, Exported& e) {
  if (!on) miss(e, field, "false", "no flag; the release of TransformerEngine decides");
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

void write_spread(C c, Exported& e) {
  if (c.workload().expert_spread > 0) {
    miss(e, "workload.expert_spread", fmt::format("{}", c.workload().expert_spread),
         "an assumption about routing, not a setting");
  }
}

void write_loads(C c, Exported& e) {
  if (!c.workload().expert_loads.empty()) {
    miss(e, "workload.expert_loads", "given", "known of routing, not a setting");
  }
}

void write_documents(C c, Exported& e) {
  if (c.workload().documents.empty()) return;
  miss(e, "workload.documents", documents_text(c),
       "the data set packs them, and attention's masks");
}

void write_stragglers(C c, Exported& e) {
  if (c.workload().straggler_slowdown > 0) {
    miss(e, "workload.straggler_slowdown", fmt::format("{}", c.workload().straggler_slowdown),
         "an assumption about the machines, not a setting");
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
  // Exchanges beside compute have connections and SMs of their own, as in Megatron-Bridge's recipes
  // (scripts/performance/perf_plugins.py).
  if (p.overlap.expert_parallel) {
    e.environment.emplace_back("CUDA_DEVICE_MAX_CONNECTIONS", "32");
    for (const char* pass : {"FWD", "BWD"}) {
      e.environment.emplace_back(fmt::format("NVTE_{}_LAYERNORM_SM_MARGIN", pass),
                                 uses_flex(c) ? "20" : "16");
    }
  }
  if (captures_parts(p.cuda_graph)) e.environment.emplace_back("NCCL_GRAPH_REGISTER", "0");
}

std::vector<FieldRule> make_megatron_fields() {
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
      {"plan.expert.placement", nullptr, "in_order, anything else is refused"},
      {"plan.expert.redundant", nullptr, "0: copies need experts placed by load"},
      {"plan.vpp", write_megatron_vpp, nullptr},
      {"plan.schedule", nullptr, "1f1b, anything else is refused"},
      {"plan.microbatch_group", write_group, nullptr},
      {"plan.layout", write_megatron_layout, nullptr},
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
      {"plan.precision", write_megatron_precision, nullptr},
      {"plan.fp8_params", write_fp8_params, nullptr},
      {"plan.fp8_attention", write_fp8_attention, nullptr},
      {"plan.fp8_head",
       [](C c, Exported& e) {
         if (c.plan().fp8_head) add(e, "--fp8-output-proj");
       },
       nullptr},
      {"plan.cuda_graph", write_graph, nullptr},
      {"plan.recompute", write_megatron_recompute, nullptr},
      {"plan.recompute_full", write_recompute_full, nullptr},
      {"plan.recompute_layers", nullptr, "--recompute-num-layers of full recompute"},
      {"plan.recompute_unit", nullptr, "--recompute-num-layers of full recompute"},
      {"plan.stages", nullptr, "all stages do the same, anything else is refused"},
      {"plan.paged_stash.buffer", write_stash, nullptr},
      {"plan.paged_stash.capacity", nullptr, "--moe-expert-rank-capacity-factor, of the stash"},
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
      {"plan.loss_chunks", nullptr, "1, anything else is refused"},
      {"plan.ddp_bucket_size", write_bucket_size, nullptr},
      {"plan.fusions.permute",
       [](C c, Exported& e) {
         if (is_moe(c) && c.plan().fusions.permute) add(e, "--moe-permute-fusion");
       },
       nullptr},
      {"plan.fusions.router",
       [](C c, Exported& e) {
         if (is_moe(c) && c.plan().fusions.router) add(e, "--moe-router-fusion");
       },
       nullptr},
      {"plan.fusions.scale_init",
       [](C c, Exported& e) {
         write_scale_fusion(c.plan().fusions.scale_init, "plan.fusions.scale_init", e);
       },
       nullptr},
      {"plan.fusions.scale_order",
       [](C c, Exported& e) {
         write_scale_fusion(c.plan().fusions.scale_order, "plan.fusions.scale_order", e);
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
      {"workload.documents", write_documents, nullptr},
      {"workload.imbalance", write_imbalance, nullptr},
      {"workload.expert_spread", write_spread, nullptr},
      {"workload.expert_loads", write_loads, nullptr},
      {"workload.straggler_slowdown", write_stragglers, nullptr},
      {"workload.unbound_ranks", nullptr, "the launcher's"},
      {"cluster.name", write_connections, nullptr},
      {"cluster.gpus", write_world, nullptr},
  };
}

}  // namespace

const std::vector<FieldRule>& megatron_fields() {
  static const std::vector<FieldRule> rules = [] {
    std::vector<FieldRule> list = make_megatron_fields();
    append_exchange_fields(list);
    append_state_fields(list);
    return list;
  }();
  return rules;
}

}  // namespace pleat::interop
