// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/space/not_tried.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/plan/dispatcher_traits.hpp"
#include "core/plan/expert_slots.hpp"
#include "core/plan/plan_words.hpp"
#include "planner/space/dispatcher_choices.hpp"
#include "planner/space/mesh_space.hpp"
#include "planner/space/placement_choices.hpp"
#include "planner/space/runtime_rules.hpp"

namespace pleat {

std::vector<NotTried> not_tried(const ModelSpec& model, const ClusterSpec& cluster,
                                const SearchConfig& config) {
  std::vector<NotTried> list;
  const bool megatron = config.runtime == Runtime::megatron;
  if (config.pin<"micro-batch">().empty()) {
    list.push_back({"larger microbatches",
                    fmt::format("more than {} sequences of together more than {} tokens a "
                                "context-parallel rank (--micro-batch prices them)",
                                kMicroBatch, kMicroBatchTokens)});
  }
  if (model.moe && model.moe->experts > kFewExperts && config.pin<"etp">().empty()) {
    list.push_back({"ETP that does not divide TP",
                    fmt::format("the model has more than {} experts, which EP splits "
                                "(--etp prices it)",
                                kFewExperts)});
  }
  if (config.pin<"schedule">().empty() && megatron) {
    list.push_back({"schedule zb-h1, zb-v, dualpipe, dualpipe-v",
                    "Megatron's pipelines run 1F1B, interleaved or not (--schedule prices them all "
                    "the same)"});
  }
  if (config.pin<"gather-beside-step">().empty() && megatron) {
    list.push_back({"weights gathered beside the optimizer's step",
                    "Megatron has it without experts, and with its older format of checkpoints "
                    "alone (--gather-beside-step any)"});
  }
  if (!config.by_stage && megatron) {
    list.push_back(
        {"recompute and offload by stage",
         "Megatron has one choice for all stages (--by-stage on prices them all the same)"});
  }
  if (!config.optimizer_offload && config.offload && megatron) {
    list.push_back(
        {"optimizer state in host memory between steps",
         "Megatron-LM's dev branch has it, its main branch has not (--optimizer-offload any "
         "tries it all the same)"});
  }
  if (config.offload && config.offload_sets.empty()) {
    list.push_back({"offload of mlp_norm without attn_norm",
                    "attn_norm sends as much, and sooner (--offload prices it)"});
  }
  const bool steps = std::ranges::all_of(config.numerics, [&](const Numerics& n) {
    Plan plan;
    n.put_into(plan);
    return cpu_may_step(config.runtime, plan);
  });
  if (!steps && config.offload && !config.cpu_optimizer) {
    list.push_back({"step on the CPU",
                    "Megatron's excludes weights that are kept in fp8 (--fp8-params off)"});
  }
  if (config.pin<"loss-chunks">().empty() && !megatron) {
    list.push_back({"a loss in parts",
                    "what products of fewer rows lose was measured on no GPU (--loss-chunks tries "
                    "it)"});
  }
  if (config.pin<"ddp-bucket-size">().empty() && megatron) {
    list.push_back({"gradient buckets of other sizes",
                    "what they hide behind is priced for one stage alone (--ddp-bucket-size prices "
                    "them)"});
  }
  if (!model.moe) return list;
  const Dispatcher usual = dispatcher_for(model, cluster);
  for (std::size_t i = 0; i < kChoices<Dispatcher>; ++i) {
    const auto other = static_cast<Dispatcher>(i);
    const DispatcherTraits traits = traits_of(other);
    if (config.pin<"dispatcher">() || other == usual || other == Dispatcher::alltoall) continue;
    if (!has_dispatcher(cluster, other) || (traits.in_two_steps && !megatron)) continue;
    std::string why = "only changes of the best plans have it (--dispatcher {} searches it)";
    if (megatron && !traits.in_megatron) {
      why = "Megatron has none (--dispatcher {} prices it all the same)";
    } else if (traits.fused && is_fused(usual)) {
      why = fmt::format("{} is usual in NVLink domains of this size; ", name_of(usual)) + why;
    }
    const int within = traits.gathers_tokens ? gather_within(model, cluster, config) : 0;
    if (within == kAnyRanks) continue;
    const std::string far =
        within > 0 ? fmt::format(" among more than {} ranks", within) : std::string();
    list.push_back({fmt::format("dispatcher {}{}", name_of(other), far),
                    fmt::format(fmt::runtime(why), name_of(other))});
  }
  const Pinned<int>& sms = config.pin<"dispatcher-sms">();  // 0: as measured
  const bool as_measured = !sms || std::ranges::find(sms, 0) != sms.end();
  if (megatron && as_measured && has_dispatcher(cluster, Dispatcher::hybridep)) {
    list.push_back({"SMs of HybridEP", "one number was measured (--dispatcher-sms prices others)"});
  }
  if (megatron && config.pin<"expert-placement">().empty() &&
      config.pin<"redundant-experts">().empty()) {
    list.push_back({"experts placed by load, copies of busy ones",
                    "Megatron has its experts in order (--expert-placement and --redundant-experts "
                    "price them all the same where --routing FILE says the loads)"});
  }
  if (!has_narrow_rows(config)) {
    list.push_back({"fp8 dispatch and combine",
                    megatron
                        ? "Megatron's rows travel in bf16 (--fp8-dispatch, --fp8-combine price "
                          "it all the same)"
                        : "the runtime sends what it computes"});
  }
  if (config.pin<"tile-overlap">().empty()) {
    list.push_back({"tile-level overlap",
                    "no exchange of the runtime is inside a grouped product (--tile-overlap prices "
                    "it all the same)"});
  }
  if (config.paged_stash.buffer <= 0 && megatron) {
    list.push_back({"paged stash",
                    "it holds no less and takes as long as none (--paged-stash and "
                    "--stash-capacity price it)"});
  }
  return list;
}

std::vector<AtEdge> at_edges(const Plan& plan, const Problem& problem, const SearchConfig& config) {
  std::vector<AtEdge> edges;
  const std::int64_t cap = most_micro_batch(plan.attention.cp, problem.workload.seq_len);
  if (config.pin<"micro-batch">().empty() && plan.micro_batch <= cap) {
    const std::int64_t of_rank = problem.workload.global_batch / plan.attention.dp;
    for (std::int64_t next = plan.micro_batch + 1; next <= of_rank; ++next) {
      if (of_rank % next != 0) continue;
      if (next <= cap) break;
      edges.push_back({"micro_batch", plan.micro_batch, next,
                       fmt::format("microbatches of {} sequences are the largest that the search "
                                   "tries, only changes of the best plans have larger ones "
                                   "(--micro-batch {} searches them)",
                                   plan.micro_batch, next)});
      break;
    }
  }
  const int copies = plan.expert.redundant;
  if (config.pin<"redundant-experts">().empty() && copies == kRedundantExperts.back() &&
      copies < most_redundant(*problem.model.moe, plan.expert)) {
    edges.push_back({"expert.redundant", copies, copies + 1,
                     fmt::format("{} copies of busy experts on each rank are the most that the "
                                 "search tries, only changes of the best plans have more "
                                 "(--redundant-experts {} searches them)",
                                 copies, copies + 1)});
  }
  return edges;
}

}  // namespace pleat
