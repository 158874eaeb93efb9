// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Megatron-Bridge's configuration objects extend Megatron-Core's, so most flags are a member of the
// same name; the few that are not are written out here. A flag without an entry is a bug.
#include "interop/export_targets.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "core/diagnostics.hpp"
#include "interop/megatron_export.hpp"
#include "interop/quoting.hpp"

namespace pleat::interop {
namespace {

// Where a flag goes. no member: the recipe's own (model sizes), or said by another entry.
struct Member {
  const char* flag;
  const char* member;
  const char* value = nullptr;  // of a switch; null: "true"
};

constexpr Member kMembers[] = {
    {"--tensor-model-parallel-size", "model.tensor_model_parallel_size"},
    {"--context-parallel-size", "model.context_parallel_size"},
    {"--pipeline-model-parallel-size", "model.pipeline_model_parallel_size"},
    {"--expert-tensor-parallel-size", "model.expert_tensor_parallel_size"},
    {"--expert-model-parallel-size", "model.expert_model_parallel_size"},
    {"--num-virtual-stages-per-pipeline-rank", "model.virtual_pipeline_model_parallel_size"},
    {"--microbatch-group-size-per-virtual-pipeline-stage",
     "model.microbatch_group_size_per_vp_stage"},
    {"--pipeline-model-parallel-layout", "model.pipeline_model_parallel_layout"},
    {"--account-for-embedding-in-pipeline-split", "model.account_for_embedding_in_pipeline_split"},
    {"--account-for-loss-in-pipeline-split", "model.account_for_loss_in_pipeline_split"},
    {"--micro-batch-size", "train.micro_batch_size"},
    {"--global-batch-size", "train.global_batch_size"},
    {"--seq-length", "model.seq_length"},
    {"--sequence-parallel", "model.sequence_parallel"},
    {"--use-distributed-optimizer", "ddp.use_distributed_optimizer"},
    {"--use-megatron-fsdp", "ddp.use_megatron_fsdp"},
    {"--data-parallel-sharding-strategy", "ddp.data_parallel_sharding_strategy"},
    {"--num-distributed-optimizer-instances", "ddp.num_distributed_optimizer_instances"},
    {"--outer-dp-sharding-strategy", "ddp.outer_dp_sharding_strategy"},
    {"--ckpt-format", "checkpoint.ckpt_format"},
    {"--no-gradient-accumulation-fusion", "model.gradient_accumulation_fusion", "false"},
    {"--moe-token-dispatcher-type", "model.moe_token_dispatcher_type"},
    {"--moe-flex-dispatcher-backend", "model.moe_flex_dispatcher_backend"},
    {"--moe-flex-dispatcher-num-sms", "model.moe_flex_dispatcher_num_sms"},
    {"--cuda-graph-impl", "model.cuda_graph_impl"},
    {"--cuda-graph-modules", "model.cuda_graph_modules"},
    {"--te-rng-tracker", "rng.te_rng_tracker"},
    {"--no-check-for-nan-in-loss-and-grad", "rerun_state_machine.check_for_nan_in_loss", "false"},
    {"--fine-grained-offloading-max-inflight-offloads",
     "model.fine_grained_offloading_max_inflight_offloads"},
    {"--cp-comm-type", "model.cp_comm_type"},
    {"--hierarchical-context-parallel-sizes", "model.hierarchical_context_parallel_sizes"},
    {"--recompute-granularity", "model.recompute_granularity"},
    {"--recompute-method", "model.recompute_method"},
    {"--recompute-num-layers", "model.recompute_num_layers"},
    {"--recompute-modules", "model.recompute_modules"},
    {"--fine-grained-activation-offloading", "model.fine_grained_activation_offloading"},
    {"--offload-modules", "model.offload_modules"},
    {"--cpu-offloading-num-layers", "model.cpu_offloading_num_layers"},
    {"--moe-paged-stash", "model.moe_paged_stash"},
    {"--moe-paged-stash-buffer-size-factor-cuda", "model.moe_paged_stash_buffer_size_factor_cuda"},
    {"--moe-expert-rank-capacity-factor", "model.moe_expert_rank_capacity_factor"},
    {"--optimizer", "optimizer.optimizer"},
    {"--optimizer-cpu-offload", "optimizer.optimizer_cpu_offload"},
    {"--optimizer-offload-fraction", "optimizer.optimizer_offload_fraction"},
    {"--overlap-cpu-optimizer-d2h-h2d", "optimizer.overlap_cpu_optimizer_d2h_h2d"},
    {"--attention-backend", "model.attention_backend"},
    {"--moe-shared-expert-overlap", "model.moe_shared_expert_overlap"},
    {"--use-precision-aware-optimizer", "optimizer.use_precision_aware_optimizer"},
    {"--moe-expert-capacity-factor", "model.moe_expert_capacity_factor"},
    {"--moe-pad-expert-input-to-capacity", "model.moe_pad_expert_input_to_capacity"},
    {"--fp8-output-proj", "model.fp8_output_proj"},
    {"--ddp-bucket-size", "ddp.bucket_size"},
};

// CommOverlapConfig.setup writes its own fields over the model's and the data parallel ones, with
// defaults of its own for those that are not set: without the expert overlap, with the data
// parallel ones (training/comm_overlap.py). So these are said to it, on or off.
struct OverlapMember {
  const char* flag;
  const char* member;
  const char* without_setup;  // what it writes to, for a job whose setup leaves it alone; or null
};
constexpr OverlapMember kOverlaps[] = {
    {"--tp-comm-overlap", "comm_overlap.tp_comm_overlap", nullptr},
    {"--overlap-moe-expert-parallel-comm", "comm_overlap.overlap_moe_expert_parallel_comm",
     nullptr},
    {"--delay-wgrad-compute", "comm_overlap.delay_wgrad_compute", nullptr},
    {"--overlap-grad-reduce", "comm_overlap.overlap_grad_reduce", "ddp.overlap_grad_reduce"},
    {"--overlap-param-gather", "comm_overlap.overlap_param_gather", "ddp.overlap_param_gather"},
    {"--overlap-param-gather-with-optimizer-step",
     "comm_overlap.overlap_param_gather_with_optimizer_step",
     "optimizer.overlap_param_gather_with_optimizer_step"},
};

// Recipes turn these on: with experts they are said on or off.
constexpr Member kFusions[] = {
    {"--moe-permute-fusion", "model.moe_permute_fusion"},
    {"--moe-router-fusion", "model.moe_router_fusion"},
};

// Said by mixed_precision or by the recipe's model.
constexpr const char* kLeftToPrecision[] = {
    "--fp16",       "--bf16",       "--fp8-format",       "--fp8-recipe",
    "--fp4-format", "--fp4-recipe", "--fp8-param-gather", "--reuse-grad-buf-for-mxfp8-param-ag"};

// torch.dtype members. Their text becomes a type again where the recipe has one already
// (training/utils/omegaconf_utils.py): the optimizer's. They are said always, as recipes narrow
// them (DeepSeek-V3).
struct OptimizerType {
  const char* flag;
  const char* member;
};
constexpr OptimizerType kOptimizerTypes[] = {
    {"--main-grads-dtype", "optimizer.main_grads_dtype"},
    {"--main-params-dtype", "optimizer.main_params_dtype"},
    {"--exp-avg-dtype", "optimizer.exp_avg_dtype"},
    {"--exp-avg-sq-dtype", "optimizer.exp_avg_sq_dtype"}};

// The others are None in a recipe, and text would stay text.
struct TypeMember {
  const char* flag;
  const char* field;
  const char* member;
};
constexpr TypeMember kTypes[] = {
    {"--megatron-fsdp-main-grads-dtype", "plan.optimizer.main_grads",
     "ddp.megatron_fsdp_main_grads_dtype"},
    {"--megatron-fsdp-grad-comm-dtype", "plan.optimizer.grad_reduce",
     "ddp.megatron_fsdp_grad_comm_dtype"},
};

// What recipes set and a plan may not have: said with its default where no flag says it.
struct Reset {
  const char* member;
  const char* value;
};
constexpr Reset kResets[] = {
    {"model.virtual_pipeline_model_parallel_size", "null"},
    {"model.microbatch_group_size_per_vp_stage", "null"},
    {"model.pipeline_model_parallel_layout", "null"},
    {"model.account_for_embedding_in_pipeline_split", "false"},
    {"model.account_for_loss_in_pipeline_split", "false"},
    {"model.num_layers_in_first_pipeline_stage", "null"},
    {"model.num_layers_in_last_pipeline_stage", "null"},
    {"model.sequence_parallel", "false"},
    {"model.recompute_granularity", "null"},
    {"model.recompute_method", "null"},
    {"model.recompute_num_layers", "null"},
    {"model.recompute_modules", "null"},
    {"model.fine_grained_activation_offloading", "false"},
    {"model.offload_modules", "[]"},
    {"model.cpu_offloading", "false"},
    {"model.cpu_offloading_num_layers", "0"},
    {"model.cuda_graph_impl", "none"},
    {"model.moe_shared_expert_overlap", "false"},
    {"model.cp_comm_type", "null"},
    {"model.hierarchical_context_parallel_sizes", "null"},
    {"model.moe_expert_capacity_factor", "null"},
    {"model.moe_pad_expert_input_to_capacity", "false"},
    {"ddp.use_distributed_optimizer", "false"},
    {"ddp.use_megatron_fsdp", "false"},
    {"ddp.data_parallel_sharding_strategy", "no_shard"},
    {"ddp.num_distributed_optimizer_instances", "1"},
    {"checkpoint.ckpt_format", "torch_dist"},
    {"optimizer.use_precision_aware_optimizer", "false"},
    {"optimizer.optimizer_cpu_offload", "false"},
};

const char* torch_name(const std::string& type) {
  if (type == "fp32") return "float32";
  if (type == "fp16") return "float16";
  return type == "bf16" ? "bfloat16" : "uint8";
}

const char* mixed_precision(Precision p) {
  switch (p) {
    case Precision::fp32:
      return nullptr;
    case Precision::fp16:
      return "fp16_mixed";
    case Precision::bf16:
      return "bf16_mixed";
    case Precision::fp8:
      return "bf16_with_fp8_current_scaling_mixed";
    case Precision::fp8_delayed:
      return "bf16_with_fp8_delayed_scaling_mixed";
    case Precision::fp8_block:
      return "bf16_with_fp8_subchannel_scaling_mixed";
    case Precision::mxfp8:
      return "bf16_with_mxfp8_mixed";
    case Precision::nvfp4:
      return "bf16_with_nvfp4_mixed";
  }
  return nullptr;
}

// What the named recipe says about weights is overridden where the plan says otherwise.
void write_precision(const ExportContext& c, Exported& out) {
  const char* recipe = mixed_precision(c.plan().precision);
  if (recipe == nullptr) {
    add(out, "model.bf16", {"false"});
    return miss(out, "plan.precision", "fp32",
                "no mixed_precision recipe: set it to null in Python");
  }
  add(out, "mixed_precision", {recipe});
  if (c.plan().precision == Precision::fp8) {
    out.notes.push_back(
        "that mixed_precision recipe keeps the first and the last layer in bf16; the prediction "
        "does "
        "not");
  }
  if (is_fp8(c.plan().precision) && c.plan().precision != Precision::fp8_block &&
      (!c.plan().fp8_params || c.plan().sharding == Sharding::none)) {
    miss(out, "plan.fp8_params", c.plan().fp8_params ? "true" : "false",
         "the mixed_precision recipe decides; in Python: cfg.mixed_precision.fp8_param_gather = "
         "False");
  }
}

void write_fusions(const ExportContext& c, const Exported& megatron, Exported& out) {
  if (!is_moe(c)) return;
  for (const Member& m : kFusions) {
    const bool on = std::ranges::any_of(megatron.settings,
                                        [&](const Setting& s) { return s.name == m.flag; });
    add(out, m.member, {on ? "true" : "false"});
  }
}

// How experts are kept busy alike: recipes of models say it, those of benchmarks force it.
constexpr Member kBalance[] = {
    {"--moe-router-load-balancing-type", "model.moe_router_load_balancing_type"},
    {"--moe-aux-loss-coeff", "model.moe_aux_loss_coeff"},
    {"--moe-z-loss-coeff", "model.moe_z_loss_coeff"},
    {"--moe-router-bias-update-rate", "model.moe_router_bias_update_rate"},
};

void write_balance(const Exported& architecture, Exported& out) {
  bool said = false;
  for (const Setting& s : architecture.settings) {
    for (const Member& m : kBalance) {
      if (s.name != m.flag) continue;
      const bool several = s.values.size() > 1;
      add(out, m.member,
          {several ? fmt::format("[{}]", fmt::join(s.values, ",")) : s.values.front()});
      said = true;
    }
  }
  if (said) add(out, "model.moe_router_force_load_balancing", {"false"});
}

std::string joined(const Setting& s) {
  if (s.values.empty()) return "true";
  const bool is_list = s.name == "--recompute-modules" || s.name == "--offload-modules" ||
                       s.name == "--cuda-graph-modules" ||
                       s.name == "--hierarchical-context-parallel-sizes";
  if (is_list) return fmt::format("[{}]", fmt::join(s.values, ","));
  // Hydra reads a layout's parentheses and bars as its own unless they are in quotes.
  if (s.name == "--pipeline-model-parallel-layout") return json_string(s.values.front());
  return s.values.front();
}

template <class Table>
const auto* find(const Table& table, const std::string& flag) {
  const auto at = std::find_if(std::begin(table), std::end(table),
                               [&](const auto& entry) { return flag == entry.flag; });
  return at == std::end(table) ? nullptr : &*at;
}

// Some recipes have no comm_overlap object, others one with user buffers of their own sizes: it is
// made anew. ++ adds what may be missing.
void write_overlaps(const Exported& megatron, Exported& out) {
  add(out, "comm_overlap", {"null"});
  add(out, "++comm_overlap._target_",
      {"megatron.bridge.training.comm_overlap.CommOverlapConfig"});
  for (const OverlapMember& overlap : kOverlaps) {
    const bool on = std::ranges::any_of(
        megatron.settings, [&](const Setting& s) { return s.name == overlap.flag; });
    const char* const value = on ? "true" : "false";
    add(out, std::string("++") + overlap.member, {value});
    if (overlap.without_setup != nullptr) add(out, overlap.without_setup, {value});
  }
  out.notes.push_back(
      "comm_overlap is made anew: a recipe's tp_comm_overlap_cfg (sizes of user buffers) is set in "
      "Python");
}

void write_optimizer_types(const Exported& megatron, Exported& out) {
  for (const OptimizerType& type : kOptimizerTypes) {
    const auto said = std::ranges::find(megatron.settings, type.flag, &Setting::name);
    const char* const name =
        said == megatron.settings.end() ? "float32" : torch_name(said->values.front());
    add(out, type.member, {std::string("torch.") + name});
  }
}

bool has(const Exported& e, const std::string& name) {
  return std::ranges::find(e.settings, name, &Setting::name) != e.settings.end();
}

// Megatron-Bridge's Llama recipes hold the transformer in an object of its own.
void nest_transformer(Exported& out) {
  constexpr std::string_view kModel = "model.";
  for (Setting& s : out.settings) {
    if (s.name.starts_with(kModel) && s.name != "model.seq_length")
      s.name.insert(kModel.size(), "transformer.");
  }
}

}  // namespace

Exported to_bridge(const ExportContext& c, const Exported& megatron) {
  Exported out;
  out.framework = "Megatron-Bridge";
  out.version = kBridgeVersion;
  out.environment = megatron.environment;
  out.missing = megatron.missing;
  for (Remark& r : out.missing) {
    if (r.field == "plan.fp8_attention")
      r.text = "in Python: cfg.mixed_precision.fp8_dot_product_attention = True";
  }
  out.notes = megatron.notes;
  write_precision(c, out);
  write_fusions(c, megatron, out);
  Exported architecture;
  write_megatron_model(c, architecture);
  write_balance(architecture, out);
  for (const Setting& s : megatron.settings) {
    const auto is_size = [&](const Setting& a) { return a.name == s.name; };
    if (std::any_of(architecture.settings.begin(), architecture.settings.end(), is_size)) continue;
    if (s.name == "--max-position-embeddings") continue;  // the model's
    if (find(kOverlaps, s.name) != nullptr || find(kFusions, s.name) != nullptr) continue;
    if (std::find(std::begin(kLeftToPrecision), std::end(kLeftToPrecision), s.name) !=
        std::end(kLeftToPrecision)) {
      continue;
    }
    if (s.name == "--grad-reduce-in-bf16") {  // the mixed_precision recipe would set it back
      miss(out, narrow_reduction(c) ? "plan.optimizer.grad_reduce" : "plan.optimizer.main_grads",
           "bf16", "in Python: cfg.mixed_precision.grad_reduce_in_fp32 = False");
      continue;
    }
    if (s.name == "--accumulate-allreduce-grads-in-fp32") {
      miss(out, "plan.optimizer.main_grads", "fp32",
           "in Python: cfg.mixed_precision.grad_reduce_in_fp32 = True");
      continue;
    }
    // validate() wants a pretraining dataset of the model's length. sequence_length is the field of
    // Megatron-Core's dataset configuration; seq_length, which not every version has as a field,
    // sets it again.
    if (s.name == "--seq-length") {
      add(out, "dataset.sequence_length", s.values);
      add(out, "++dataset.seq_length", s.values);
    }
    if (s.name == "--moe-use-grouped-tensor") {
      miss(out, "plan.paged_stash", "set",
           "its core has no moe_use_grouped_tensor: model.use_transformer_engine_op_fuser");
      continue;
    }
    if (find(kOptimizerTypes, s.name) != nullptr) continue;
    if (s.name == "--no-check-for-nan-in-loss-and-grad")
      add(out, "ddp.check_for_nan_in_grad", {"false"});
    if (const TypeMember* type = find(kTypes, s.name)) {
      miss(out, type->field, s.values.front(),
           fmt::format("a torch.dtype; in Python: cfg.{} = torch.{}", type->member,
                       torch_name(s.values.front())));
      continue;
    }
    const Member* member = find(kMembers, s.name);
    PLEAT_ASSERT(member != nullptr);
    add(out, member->member, {member->value != nullptr ? member->value : joined(s)});
  }
  if (c.plan().vpp > 1 && !has(out, "model.virtual_pipeline_model_parallel_size")) {
    add(out, "model.virtual_pipeline_model_parallel_size", std::int64_t{c.plan().vpp});
  }
  if (c.plan().offload_layers > 0) add(out, "model.cpu_offloading", {"true"});
  for (const Reset& reset : kResets)
    if (!has(out, reset.member)) add(out, reset.member, {reset.value});
  write_optimizer_types(megatron, out);
  write_overlaps(megatron, out);
  // Its set-up would write a size of its own over the data parallel one.
  if (const auto size = std::ranges::find(out.settings, "ddp.bucket_size", &Setting::name);
      size != out.settings.end()) {
    add(out, "++comm_overlap.bucket_size", std::vector<std::string>(size->values));
  }
  if (c.model().model_type == "llama") nest_transformer(out);
  out.notes.push_back("the model and its sizes come from the recipe that is overridden");
  return out;
}

}  // namespace pleat::interop
