// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Rules of shard groups and of what travels in a narrow type (Megatron-LM parallel_state.py,
// arguments.py).
#include <fmt/format.h>

#include "core/plan/constraint_rules.hpp"
#include "core/plan/dispatcher_traits.hpp"

namespace pleat::rules {
namespace {

// --- shard groups
std::int64_t data_ranks(const PlanContext& c) {
  return product(c.plan.attention.dp, c.plan.attention.cp);
}
bool shards_parameters(const Plan& p) {
  return p.sharding == Sharding::zero2 || p.sharding == Sharding::zero3;
}
bool fsdp_group_holds(const PlanContext& c) {
  if (c.plan.fsdp_group == 0 || !degrees_positive(c)) return true;
  const std::int64_t ranks = data_ranks(c);
  return c.plan.fsdp_group > 0 && shards_parameters(c.plan) && ranks % c.plan.fsdp_group == 0;
}
Violation explain_fsdp_group(const PlanContext& c) {
  if (c.plan.fsdp_group < 0) {
    return {"", "fsdp_group", fmt::format("must be at least 0 (0: all), is {}", c.plan.fsdp_group),
            ""};
  }
  if (!shards_parameters(c.plan)) {
    return {"", "fsdp_group",
            fmt::format("a shard group of {} needs zero2 or zero3, sharding is {}",
                        c.plan.fsdp_group, name_of(c.plan.sharding)),
            ""};
  }
  const std::int64_t ranks = data_ranks(c);
  return {"", "fsdp_group",
          fmt::format("DP*CP = {} ranks cannot be split into shard groups of {}", ranks,
                      c.plan.fsdp_group),
          fmt::format("divisors up to {}: {}", c.plan.fsdp_group,
                      divisors_up_to(ranks, c.plan.fsdp_group))};
}

bool instances_hold(const PlanContext& c) {
  const int instances = c.plan.optimizer_instances;
  if (instances == 1 || !degrees_positive(c)) return true;
  return instances > 1 && c.plan.sharding == Sharding::zero1 && data_ranks(c) % instances == 0;
}
Violation explain_instances(const PlanContext& c) {
  const int instances = c.plan.optimizer_instances;
  if (instances < 1) {
    return {"", "optimizer_instances", fmt::format("must be at least 1, is {}", instances), ""};
  }
  if (c.plan.sharding != Sharding::zero1) {
    return {"", "optimizer_instances",
            fmt::format("{} instances of the optimizer state need zero1, sharding is {}", instances,
                        name_of(c.plan.sharding)),
            "fsdp_group says the same of zero2 and zero3"};
  }
  return {"", "optimizer_instances",
          fmt::format("DP*CP = {} ranks cannot be split into {} instances", data_ranks(c),
                      instances),
          fmt::format("divisors up to {}: {}", instances,
                      divisors_up_to(data_ranks(c), instances))};
}

bool expert_shards_hold(const PlanContext& c) {
  if (!degrees_positive(c) || !c.model.moe || !fsdp_group_holds(c) || !instances_hold(c)) {
    return true;
  }
  return c.plan.expert.edp % c.plan.shard_instances() == 0;
}
Violation explain_expert_shards(const PlanContext& c) {
  const bool group = c.plan.fsdp_group > 0;
  return {"", group ? "fsdp_group" : "optimizer_instances",
          fmt::format("EDP {} cannot be split into {} shard groups, as DP*CP = {} is",
                      c.plan.expert.edp, c.plan.shard_instances(), data_ranks(c)),
          fmt::format("numbers of groups up to {}: {}", c.plan.shard_instances(),
                      divisors_up_to(c.plan.expert.edp, c.plan.shard_instances()))};
}

// --- narrow exchanges
bool narrow_exchange(const Plan& p) { return p.fp8_dispatch || p.fp8_combine; }
const char* narrow_path(const Plan& p) { return p.fp8_dispatch ? "fp8_dispatch" : "fp8_combine"; }

bool fp8_exchange_holds(const PlanContext& c) {
  return !narrow_exchange(c.plan) || c.plan.expert.ep > 1;
}
Violation explain_fp8_exchange(const PlanContext& c) {
  return {"", narrow_path(c.plan),
          fmt::format("an fp8 exchange of experts' rows needs EP > 1, EP is {}", c.plan.expert.ep),
          ""};
}

bool fp8_precision_holds(const PlanContext& c) {
  return !narrow_exchange(c.plan) || c.plan.precision != Precision::fp32;
}
Violation explain_fp8_precision(const PlanContext& c) {
  return {"", narrow_path(c.plan), "an fp8 exchange excludes precision fp32", "bf16 or narrower"};
}

bool gradient_type_holds(const PlanContext& c) {
  return c.plan.optimizer.main_grads != DType::fp16 || c.plan.precision == Precision::fp16;
}
Violation explain_gradient_type(const PlanContext& c) {
  return {"", "optimizer.main_grads",
          fmt::format("gradients in fp16 exclude precision {}", name_of(c.plan.precision)),
          "fp32 or bf16, or precision fp16"};
}

bool grad_reduce_holds(const PlanContext& c) {
  if (!c.plan.optimizer.grad_reduce) return true;
  const DType type = *c.plan.optimizer.grad_reduce;
  return (type == DType::fp32 || type == DType::bf16) &&
         bytes_of(type, 1) <= bytes_of(c.plan.optimizer.main_grads, 1);
}
Violation explain_grad_reduce(const PlanContext& c) {
  return {"", "optimizer.grad_reduce",
          fmt::format("gradients kept in {} cannot be reduced in {}",
                      name_of(c.plan.optimizer.main_grads),
                      name_of(*c.plan.optimizer.grad_reduce)),
          "fp32 or bf16, no wider than main_grads"};
}

// The optimizer steps the first chunk's weights, then their gather runs beside the other chunks'
// step (Megatron arguments.py: with the distributed optimizer, overlapped gathers and an
// interleaved pipeline).
bool gather_beside_step_holds(const PlanContext& c) {
  return !c.plan.overlap.gather_beside_step ||
         (c.plan.overlap.param_gather && c.plan.sharding == Sharding::zero1 && c.plan.vpp > 1);
}
Violation explain_gather_beside_step(const PlanContext& c) {
  const Plan& p = c.plan;
  std::string got = "VPP is 1";
  if (!p.overlap.param_gather) got = "overlap.param_gather is off";
  else if (p.sharding != Sharding::zero1) got = fmt::format("sharding is {}", name_of(p.sharding));
  return {"", "overlap.gather_beside_step",
          fmt::format("weights are gathered beside the optimizer's step with zero1, "
                      "overlap.param_gather and VPP > 1; {}",
                      got),
          "false"};
}

// --- exchanges inside the grouped products
bool tile_ep_holds(const PlanContext& c) {
  return !c.plan.overlap.tile_level || c.plan.expert.ep > 1;
}
Violation explain_tile_ep(const PlanContext& c) {
  return {"", "overlap.tile_level",
          fmt::format("tile-level overlap of expert exchanges needs EP > 1, EP is {}",
                      c.plan.expert.ep),
          ""};
}

bool tile_alone_holds(const PlanContext& c) {
  return !c.plan.overlap.tile_level ||
         (!c.plan.overlap.expert_parallel && !c.plan.overlap.shared_expert);
}
Violation explain_tile_alone(const PlanContext& c) {
  return {"", "overlap.tile_level",
          fmt::format("tile-level overlap excludes overlap.{}",
                      c.plan.overlap.expert_parallel ? "expert_parallel" : "shared_expert"),
          "one of them hides the exchanges"};
}

bool tile_dispatcher_holds(const PlanContext& c) {
  return !c.plan.overlap.tile_level || traits_of(c.plan.dispatcher).has_tile_kernels;
}
Violation explain_tile_dispatcher(const PlanContext& c) {
  return {"", "dispatcher",
          fmt::format("tile-level overlap has kernels of its own, the dispatcher is {}",
                      name_of(c.plan.dispatcher)),
          "alltoall or allgather"};
}

bool tile_etp_holds(const PlanContext& c) {
  return !c.plan.overlap.tile_level || c.plan.expert.etp <= 1 ||
         traits_of(c.plan.dispatcher).gathers_tokens;
}
Violation explain_tile_etp(const PlanContext& c) {
  return {"", "overlap.tile_level",
          fmt::format("tile-level overlap of an all-to-all excludes ETP {}", c.plan.expert.etp),
          "ETP 1, or the allgather dispatcher"};
}

}  // namespace

void append_data_rules(std::vector<Constraint>& list) {
  list.push_back({"fsdp-group", fsdp_group_holds, explain_fsdp_group});
  list.push_back({"optimizer-instances", instances_hold, explain_instances});
  list.push_back({"expert-shards", expert_shards_hold, explain_expert_shards});
  list.push_back({"fp8-exchange-needs-ep", fp8_exchange_holds, explain_fp8_exchange});
  list.push_back({"fp8-exchange-precision", fp8_precision_holds, explain_fp8_precision});
  list.push_back({"gradient-type", gradient_type_holds, explain_gradient_type});
  list.push_back({"grad-reduce-type", grad_reduce_holds, explain_grad_reduce});
  list.push_back(
      {"gather-beside-step", gather_beside_step_holds, explain_gather_beside_step});
  list.push_back({"tile-overlap-needs-ep", tile_ep_holds, explain_tile_ep});
  list.push_back({"tile-overlap-alone", tile_alone_holds, explain_tile_alone});
  list.push_back({"tile-overlap-dispatcher", tile_dispatcher_holds, explain_tile_dispatcher});
  list.push_back({"tile-overlap-etp", tile_etp_holds, explain_tile_etp});
}

}  // namespace pleat::rules
