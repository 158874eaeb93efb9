// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Megatron-Bridge's configuration objects extend Megatron-Core's, so most flags are a member of the
// same name; the few that are not are written out here. A flag without an entry is a bug.
#include "interop/export_targets.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/diagnostics.hpp"
#include "interop/megatron_export.hpp"

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
    {"--moe-use-grouped-tensor", "model.moe_use_grouped_tensor"},
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

// torch.dtype members, which an override on the command line cannot name.
struct TypeMember {
  const char* flag;
  const char* field;
  const char* member;
};
constexpr TypeMember kTypes[] = {
    {"--main-grads-dtype", "plan.optimizer.main_grads", "optimizer.main_grads_dtype"},
    {"--main-params-dtype", "plan.optimizer.main_params", "optimizer.main_params_dtype"},
    {"--exp-avg-dtype", "plan.optimizer.exp_avg", "optimizer.exp_avg_dtype"},
    {"--exp-avg-sq-dtype", "plan.optimizer.exp_avg_sq", "optimizer.exp_avg_sq_dtype"},
    {"--megatron-fsdp-main-grads-dtype", "plan.optimizer.main_grads",
     "ddp.megatron_fsdp_main_grads_dtype"},
    {"--megatron-fsdp-grad-comm-dtype", "plan.optimizer.grad_reduce",
     "ddp.megatron_fsdp_grad_comm_dtype"},
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

std::string joined(const Setting& s) {
  if (s.values.empty()) return "true";
  const bool is_list = s.name == "--recompute-modules" || s.name == "--offload-modules" ||
                       s.name == "--cuda-graph-modules" ||
                       s.name == "--hierarchical-context-parallel-sizes";
  return is_list ? fmt::format("[{}]", fmt::join(s.values, ",")) : s.values.front();
}

template <class Table>
const auto* find(const Table& table, const std::string& flag) {
  const auto at = std::find_if(std::begin(table), std::end(table),
                               [&](const auto& entry) { return flag == entry.flag; });
  return at == std::end(table) ? nullptr : &*at;
}

void write_overlaps(const Exported& megatron, Exported& out) {
  for (const OverlapMember& overlap : kOverlaps) {
    const bool on = std::ranges::any_of(
        megatron.settings, [&](const Setting& s) { return s.name == overlap.flag; });
    const char* const value = on ? "true" : "false";
    add(out, overlap.member, {value});
    if (overlap.without_setup != nullptr) add(out, overlap.without_setup, {value});
  }
  out.notes.push_back(
      "comm_overlap.* wants a recipe that has a comm_overlap object: where it is None, set "
      "cfg.comm_overlap = CommOverlapConfig(tp_comm_overlap=False) in Python first");
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
    // validate() wants a pretraining dataset of the model's length; sequence_length is the field of
    // Megatron-Core's dataset configuration that seq_length is another name for.
    if (s.name == "--seq-length") add(out, "dataset.sequence_length", s.values);
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
  write_overlaps(megatron, out);
  if (c.plan().offload_layers > 0) add(out, "model.cpu_offloading", {"true"});
  out.notes.push_back("the model and its sizes come from the recipe that is overridden");
  return out;
}

}  // namespace pleat::interop
