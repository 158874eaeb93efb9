// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One row a field of the plan document, in the words of torchtitan's command line. --module and
// --config name one of its models; FSDP2 shards, pipelines schedule by name, and what is recomputed
// is chosen by torchtitan.
#include "interop/export_targets.hpp"

#include <fmt/format.h>

#include <string_view>

#include "interop/megatron_export.hpp"
#include "interop/quoting.hpp"

namespace pleat::interop {
namespace {

using C = const ExportContext&;

// zero2 and zero3 shard over DP x CP in groups; CP counts as its own degree.
void write_dp(C c, Exported& e) {
  const Plan& p = c.plan();
  int shard = is_fsdp(c) ? p.attention.dp : 1;
  if (is_fsdp(c) && p.fsdp_group > 0) shard = std::max(1, p.fsdp_group / p.attention.cp);
  add(e, "--parallelism.data_parallel_shard_degree", std::int64_t{shard});
  add(e, "--parallelism.data_parallel_replicate_degree", std::int64_t{p.attention.dp / shard});
}

void write_pp(C c, Exported& e) {
  const Plan& p = c.plan();
  add(e, "--parallelism.pipeline_parallel_degree", std::int64_t{p.attention.pp});
  if (p.attention.pp == 1) return;
  if (const char* const order = titan_schedule(p))
    add(e, "--parallelism.pipeline_parallel_schedule", {order});
  add(e, "--parallelism.pipeline_parallel_microbatch_size", std::int64_t{p.micro_batch});
}

// Embedding and loss each take the place of so many layers of their stage. Its default is 1.
std::int64_t less_layers(C c) { return splits_evenly(c) && c.plan().layout.empty() ? 0 : 1; }

std::int64_t over(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t counted_layers(C c) { return c.model().layers + 2 * less_layers(c); }
std::int64_t chunks(C c) { return std::int64_t{c.plan().attention.pp} * c.plan().vpp; }

void write_titan_vpp(C c, Exported& e) {
  if (c.plan().vpp == 1) return;
  add(e, "--parallelism.pipeline_parallel_layers_per_stage",
      over(counted_layers(c), chunks(c)));
}

void write_titan_layout(C c, Exported& e) {
  if (c.plan().attention.pp == 1) return;
  if (c.plan().layout.empty()) {
    add(e, "--parallelism.pipeline_parallel_first_stage_less_layers", less_layers(c));
    add(e, "--parallelism.pipeline_parallel_last_stage_less_layers", less_layers(c));
    return;
  }
  miss(e, "plan.layout", c.plan().layout,
       "torchtitan splits the layers itself, or by module_fqns_per_model_part in Python");
}

void write_titan_precision(C c, Exported& e) {
  add(e, "--training.mixed_precision_param",
      {c.plan().precision == Precision::fp32 ? "float32" : "bfloat16"});
}

void write_reshard(C c, Exported& e) {
  if (is_fsdp(c)) {
    add(e, "--parallelism.fsdp_reshard_after_forward",
        {c.plan().sharding == Sharding::zero3 ? "always" : "never"});
  }
}

// A subcommand, which is why it comes last.
void write_titan_recompute(C c, Exported& e) {
  const Plan& p = c.plan();
  const char* const mode = p.recompute_full      ? "full"
                           : p.recompute.empty() ? "none"
                                                 : "selective";
  add(e, std::string("activation-checkpoint:") + mode);
  if (p.recompute.empty()) return;
  std::string modules;
  for (const Module m : p.recompute) modules += (modules.empty() ? "" : ",") + name_of(m);
  miss(e, "plan.recompute", modules, "torchtitan's selective mode chooses by operation");
}

// Its graph is of a whole step, and on unless it is turned off.
void write_titan_graph(C c, Exported& e) {
  if (c.plan().cuda_graph == CudaGraph::full_iteration) return;
  add(e, "--training.disable_cuda_graphs");
  if (c.plan().cuda_graph != CudaGraph::none) {
    miss(e, "plan.cuda_graph", name_of(c.plan().cuda_graph), "graphs are of a whole step there");
  }
}

void write_titan_model(C c, Exported& e) {
  const TitanModel* const model = titan_model(c.model());
  if (model == nullptr) return;  // refused
  add(e, "--module", {model->module});
  add(e, "--config", {model->config});
  // models/kimi_k2_7/config_registry.py; optimizers are chosen in Python.
  if (std::string_view(model->module) == "kimi_k2_7" &&
      c.plan().optimizer.kind == OptimizerKind::adamw) {
    miss(e, "plan.optimizer.kind", "adamw",
         "its configuration trains with Muon: default_adamw(lr) in Python");
  }
  if (c.model().mtp_layers > 0) {
    miss(e, "model.mtp_layers", std::to_string(c.model().mtp_layers),
         "its configuration trains without prediction layers: num_mtp_layers in Python");
  }
}

// Remarks for what torchtitan does not let a file say.
void miss_if(Exported& e, bool differs, const char* field, const std::string& value,
             const char* text) {
  if (differs) miss(e, field, value, text);
}

const char* const kOwnWay = "torchtitan decides itself";

std::vector<FieldRule> make_titan_fields() {
  return {
      {"cluster.name", write_titan_model, nullptr},  // the launcher's
      {"plan.attention.tp",
       [](C c, Exported& e) {
         add(e, "--parallelism.tensor_parallel_degree", std::int64_t{c.plan().attention.tp});
       },
       nullptr},
      {"plan.attention.cp",
       [](C c, Exported& e) {
         add(e, "--parallelism.context_parallel_degree", std::int64_t{c.plan().attention.cp});
       },
       nullptr},
      {"plan.attention.dp", write_dp, nullptr},
      {"plan.attention.pp", write_pp, nullptr},
      {"plan.expert.etp", nullptr, "1, anything else is refused"},
      {"plan.expert.ep",
       [](C c, Exported& e) {
         if (is_moe(c))
           add(e, "--parallelism.expert_parallel_degree", std::int64_t{c.plan().expert.ep});
       },
       nullptr},
      {"plan.expert.edp", nullptr, "dp_shard CP TP = EDP EP"},
      {"plan.expert.placement", nullptr, "in_order, anything else is refused"},
      {"plan.expert.redundant", nullptr, "0: copies need experts placed by load"},
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
         add(e, "--training.local_batch_size", local);
       },
       nullptr},
      {"plan.sequence_parallel",
       [](C c, Exported& e) {
         if (c.plan().attention.tp > 1 && !c.plan().sequence_parallel)
           add(e, "--parallelism.no-enable-sequence-parallel");
       },
       nullptr},
      {"plan.precision", write_titan_precision, nullptr},
      {"plan.sharding", write_reshard, nullptr},
      {"plan.dispatcher", nullptr, "all-to-all; anything else is refused"},
      {"plan.cuda_graph", write_titan_graph, nullptr},
      {"plan.dispatcher_sms", nullptr, "of dispatchers that are refused"},
      {"plan.cp_comm", nullptr, "gathers keys and values; anything else is refused"},
      {"plan.cp_a2a", nullptr, "of a2a+p2p, which is refused"},
      {"plan.recompute_full", nullptr, "activation-checkpoint:full"},
      {"plan.recompute_layers", nullptr, "all, anything else is refused"},
      {"plan.recompute_unit", nullptr, "1, anything else is refused"},
      {"plan.stages", nullptr, "all stages do the same, anything else is refused"},
      {"plan.paged_stash.buffer", nullptr, "refused"},
      {"plan.paged_stash.capacity", nullptr, "of a stash, which is refused"},
      {"plan.offload", nullptr, "refused"},
      {"plan.offload_layers", nullptr, "refused"},
      {"plan.flash_attention", nullptr, "false is refused"},
      {"plan.fp8_attention", nullptr, "of precisions that are refused"},
      {"plan.fp8_head", nullptr, "of precisions that are refused"},
      {"plan.fp8_params", nullptr, "of precisions that are refused"},
      {"plan.fsdp_group", nullptr, "data_parallel_shard_degree"},
      {"plan.optimizer_instances", nullptr, "of zero1, which is refused"},
      {"plan.overlap.expert_parallel",
       [](C c, Exported& e) {
         miss_if(e, c.plan().overlap.expert_parallel, "plan.overlap.expert_parallel", "true",
                 "no pairs of passes");
       },
       nullptr},
      {"plan.overlap.delay_wgrad",
       [](C c, Exported& e) {
         miss_if(e, c.plan().overlap.delay_wgrad, "plan.overlap.delay_wgrad", "true", "no setting");
       },
       nullptr},
      {"plan.overlap.grad_reduce", nullptr, "FSDP2 always overlaps"},
      {"plan.overlap.param_gather", nullptr, "FSDP2 always overlaps"},
      {"plan.overlap.gather_beside_step",
       [](C c, Exported& e) {
         miss_if(e, c.plan().overlap.gather_beside_step, "plan.overlap.gather_beside_step", "true",
                 "no setting");
       },
       nullptr},
      {"plan.overlap.tensor_parallel",
       [](C c, Exported& e) {
         if (c.plan().overlap.tensor_parallel) {
           add(e, "--compile.enable");
           add(e, "--compile.components", {"model,loss"});
           add(e, "--compile.enable_async_tensor_parallel");
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
      {"plan.loss_chunks",
       [](C c, Exported& e) {
         miss_if(e, c.plan().loss_chunks > 1, "plan.loss_chunks",
                 std::to_string(c.plan().loss_chunks), kOwnWay);
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
       [](C c, Exported& e) { add(e, "--training.seq_len", c.workload().seq_len); }, nullptr},
      {"workload.global_batch",
       [](C c, Exported& e) { add(e, "--training.global_batch_size", c.workload().global_batch); },
       nullptr},
      {"workload.routing",
       [](C c, Exported& e) {
         if (!is_moe(c)) return;
         e.notes.push_back(
             "experts are balanced by a bias, at the load_balance_coeff of the model's "
             "configuration; there is no argument for it");
         if (c.workload().routing == Routing::forced) {
           e.notes.push_back(
               "predicted with balanced experts; --debug.moe_force_load_balance makes a benchmark "
               "run do the same");
         }
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
      {"workload.unbound_ranks",
       [](C c, Exported& e) {
         miss_if(e, c.workload().unbound_ranks, "workload.unbound_ranks", "true",
                 "the launcher binds ranks, or does not");
       },
       nullptr},
      {"cluster.gpus",
       [](C c, Exported& e) { e.notes.push_back(fmt::format("world size {}", c.document.gpus)); },
       nullptr},
      {"plan.recompute", write_titan_recompute, nullptr},
  };
}

}  // namespace

const TitanModel* titan_model(const ModelSpec& m) {
  static constexpr TitanModel kModels[] = {
      {"llama", 32, 4096, 128256, "llama3", "llama3_8b"},
      {"llama", 80, 8192, 128256, "llama3", "llama3_70b"},
      {"deepseek_v3", 61, 7168, 129280, "deepseek_v3", "deepseek_v3_671b"},
      {"gpt_oss", 24, 2880, 201088, "gpt_oss", "gpt_oss_20b"},
      {"gpt_oss", 36, 2880, 201088, "gpt_oss", "gpt_oss_120b"},
      {"qwen3_moe", 48, 2048, 151936, "qwen3", "qwen3_30b_a3b"},
      {"deepseek_v3", 27, 2048, 163842, "kimi_k2_7", "moonlight_16b_a3b"},
      {"qwen3_5_moe_text", 40, 2048, 248320, "qwen3_5", "qwen35_35b_a3b"},
      {"qwen3_5_moe_text", 48, 3072, 248320, "qwen3_5", "qwen35_122b_a10b"},
      {"qwen3_5_moe_text", 60, 4096, 248320, "qwen3_5", "qwen35_397b_a17b"}};
  for (const TitanModel& t : kModels) {
    if (m.model_type == t.model_type && m.layers == t.layers && m.hidden == t.hidden &&
        m.vocab == t.vocab) {
      return &t;
    }
  }
  return nullptr;
}

bool titan_splits(const ExportContext& c) {
  const std::int64_t counted = counted_layers(c), stages = chunks(c);
  if (c.plan().attention.pp == 1) return true;
  return counted >= stages && over(counted, over(counted, stages)) == stages;
}

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
