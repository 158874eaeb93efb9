// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rows of the Megatron-LM export about what ranks keep and exchange.
#include "core/plan/dispatcher_traits.hpp"
#include "interop/megatron_export.hpp"

namespace pleat::interop {

// Rows of the Megatron-LM export about gradients and optimizer states: how they are sharded,
// reduced and kept.

namespace {

using C = const ExportContext&;

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

// Copies of the sharded state; of FSDP each copy is a shard group.
void write_instances(C c, Exported& e) {
  const int instances = c.plan().shard_instances();
  if (instances == 1) return;
  add(e, "--num-distributed-optimizer-instances", std::int64_t{instances});
  if (is_fsdp(c)) add(e, "--outer-dp-sharding-strategy", {"no_shard"});
}

void write_param_gather(C c, Exported& e) {
  // Nothing is gathered without a sharded optimizer.
  if (c.plan().overlap.param_gather && c.plan().sharding != Sharding::none)
    add(e, "--overlap-param-gather");
}

// Megatron refuses it with distributed checkpoints (training/arguments.py:1073).
void write_gather_beside_step(C c, Exported& e) {
  if (!c.plan().overlap.gather_beside_step) return;
  add(e, "--overlap-param-gather-with-optimizer-step");
  add(e, "--ckpt-format", {"torch"});
}

void write_main_grads(C c, Exported& e) {
  if (precision_aware(c)) add(e, "--use-precision-aware-optimizer");
  if (c.plan().optimizer.main_grads == DType::fp32) {
    // bf16 and fp32 runs do so by themselves; without it fp16 runs sum in fp16.
    if (c.plan().precision == Precision::fp16) add(e, "--accumulate-allreduce-grads-in-fp32");
    return;
  }
  if (c.plan().optimizer.main_grads == DType::fp16) return;
  add(e, "--main-grads-dtype", {std::string(name_of(c.plan().optimizer.main_grads))});
  add(e, "--grad-reduce-in-bf16");
  if (is_fsdp(c)) add(e, "--megatron-fsdp-main-grads-dtype", {"bf16"});
}

void write_kind(C c, Exported& e) {
  switch (c.plan().optimizer.kind) {
    case OptimizerKind::adamw:  // the default
      return;
    case OptimizerKind::sgd:
    case OptimizerKind::muon:
      return add(e, "--optimizer", {name_of(c.plan().optimizer.kind)});
    case OptimizerKind::lamb:
      return;  // refused
  }
}

// Beside bf16 weights TransformerEngine keeps 16-bit remainders of fp32 parameters unasked.
void write_main_params(C c, Exported& e) {
  if (c.plan().optimizer.main_params == DType::fp16) add(e, "--main-params-dtype", {"fp16"});
}

void write_megatron_cpu_offload(C c, Exported& e) {
  if (c.plan().optimizer.cpu_offload <= 0) return;
  add(e, "--optimizer-cpu-offload");
  add(e, "--optimizer-offload-fraction", c.plan().optimizer.cpu_offload);
}

// Megatron-FSDP sums and sends in types of its own, where nothing says fp32 for both.
void write_grad_reduce(C c, Exported& e) {
  if (!narrow_reduction(c)) return;
  add(e, "--grad-reduce-in-bf16");
  add(e, "--megatron-fsdp-main-grads-dtype", {"fp32"});
  add(e, "--megatron-fsdp-grad-comm-dtype", {"bf16"});
}

void write_state(Exported& e, const char* flag, DType type) {
  if (type != DType::fp32) add(e, flag, {std::string(name_of(type))});
}

}  // namespace

void append_state_fields(std::vector<FieldRule>& list) {
  const std::vector<FieldRule> rules{
      {"plan.sharding", write_sharding, nullptr},
      {"plan.fsdp_group", nullptr, "--num-distributed-optimizer-instances"},
      {"plan.optimizer_instances", write_instances, nullptr},
      {"plan.overlap.grad_reduce",
       [](C c, Exported& e) {
         if (c.plan().overlap.grad_reduce) add(e, "--overlap-grad-reduce");
       },
       nullptr},
      {"plan.overlap.param_gather", write_param_gather, nullptr},
      {"plan.overlap.gather_beside_step", write_gather_beside_step, nullptr},
      {"plan.optimizer.kind", write_kind, nullptr},
      {"plan.optimizer.state_offload", nullptr, "0, anything else is refused"},
      {"plan.optimizer.cpu_offload", write_megatron_cpu_offload, nullptr},
      {"plan.optimizer.cpu_offload_overlapped",
       [](C c, Exported& e) {
         if (c.plan().optimizer.cpu_offload_overlapped) add(e, "--overlap-cpu-optimizer-d2h-h2d");
       },
       nullptr},
      {"plan.optimizer.main_grads", write_main_grads, nullptr},
      {"plan.optimizer.grad_reduce", write_grad_reduce, nullptr},
      {"plan.optimizer.main_params", write_main_params, nullptr},
      {"plan.optimizer.exp_avg",
       [](C c, Exported& e) { write_state(e, "--exp-avg-dtype", c.plan().optimizer.exp_avg); },
       nullptr},
      {"plan.optimizer.exp_avg_sq",
       [](C c, Exported& e) {
         write_state(e, "--exp-avg-sq-dtype", c.plan().optimizer.exp_avg_sq);
       },
       nullptr},
  };
  list.insert(list.end(), rules.begin(), rules.end());
}

// Rows of the Megatron-LM export about what ranks exchange: experts' tokens, context parallelism,
// overlap.

namespace {

using C = const ExportContext&;

void write_dispatcher(C c, Exported& e) {
  if (!is_moe(c)) return;
  const bool alone = is_fused(c.plan().dispatcher) && !uses_flex(c);
  const std::string word = name_of(alone ? Dispatcher::alltoall : c.plan().dispatcher);
  if (!uses_flex(c)) return add(e, "--moe-token-dispatcher-type", {word});
  add(e, "--moe-token-dispatcher-type", {"flex"});
  add(e, "--moe-flex-dispatcher-backend", {word});
}

void write_dispatcher_sms(C c, Exported& e) {
  if (c.plan().dispatcher_sms == 0) return;
  if (is_moe(c) && is_fused(c.plan().dispatcher) && !uses_flex(c)) return;  // nothing is sent
  if (uses_flex(c))
    return add(e, "--moe-flex-dispatcher-num-sms", std::int64_t{c.plan().dispatcher_sms});
  miss(e, "plan.dispatcher_sms", std::to_string(c.plan().dispatcher_sms),
       "only deepep and hybridep have it");
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
    case CpComm::a2a_p2p:
      add(e, "--cp-comm-type", {"a2a+p2p"});
      return add(e, "--hierarchical-context-parallel-sizes",
                 {std::to_string(c.plan().cp_a2a),
                  std::to_string(c.plan().attention.cp / c.plan().cp_a2a)});
  }
}

}  // namespace

void append_exchange_fields(std::vector<FieldRule>& list) {
  const std::vector<FieldRule> rules{
      {"plan.dispatcher", write_dispatcher, nullptr},
      {"plan.dispatcher_sms", write_dispatcher_sms, nullptr},
      {"plan.cp_comm", write_cp_comm, nullptr},
      {"plan.cp_a2a", nullptr, "first of --hierarchical-context-parallel-sizes"},
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
  };
  list.insert(list.end(), rules.begin(), rules.end());
}

}  // namespace pleat::interop
