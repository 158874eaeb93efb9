// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/space/dispatcher_choices.hpp"

#include <algorithm>

#include "core/plan/dispatcher_traits.hpp"
#include "planner/space/shard_sets.hpp"

namespace pleat {
namespace {

// A gather reads a token of each rank where an exchange sorts a row for each of a token's experts.
// With one or two experts a token, or with narrow rows, it gains little: only changes of the best
// plans have it then, unless it is asked for.
constexpr std::int64_t kMostExpertsWithoutGather = 2;

std::vector<Dispatcher> dispatchers(const ModelSpec& model, const ClusterSpec& cluster,
                                    const SearchConfig& c) {
  if (c.pin<"dispatcher">()) {
    std::vector<Dispatcher> pinned = c.pin<"dispatcher">().sorted();
    std::ranges::stable_partition(pinned, is_fused);
    return pinned;
  }
  const Dispatcher best = dispatcher_for(model, cluster);
  std::vector<Dispatcher> all{best};
  if (best != Dispatcher::alltoall) all.push_back(Dispatcher::alltoall);
  if (gather_within(model, cluster, c) > 0) all.push_back(Dispatcher::allgather);
  const bool two_steps = c.runtime == Runtime::pleat && domain_of_several(cluster, c) > 0;
  if (model.moe && two_steps) all.push_back(Dispatcher::hierarchical);
  return all;
}

// A choice for DeepEP only: NCCL takes what it takes, and HybridEP was measured with one number.
std::vector<int> sms_choices(const SearchConfig& c, Dispatcher dispatcher, bool all_pinned) {
  const Pinned<int>& pin = c.pin<"dispatcher-sms">();
  const bool chooses = dispatcher == Dispatcher::deepep ||
                       (dispatcher == Dispatcher::hybridep && all_pinned);
  return chooses && pin ? pin.values : std::vector<int>{0};
}

}  // namespace

std::vector<DispatcherChoice> dispatcher_choices(const ModelSpec& model, const ClusterSpec& cluster,
                                                 const SearchConfig& config) {
  const bool free = !config.pin<"dispatcher">();
  const Pinned<int>& sms_pin = config.pin<"dispatcher-sms">();
  const bool all_pinned = std::ranges::find(sms_pin, 0) == sms_pin.end();
  // Numbers of SMs have rates where they were measured.
  const bool one_domain = cluster.tiers.empty() || cluster.tiers.front().size == 0;
  const int measured = all_pinned || one_domain ? config.gpus : cluster.tiers.front().size;
  std::vector<DispatcherChoice> all;
  for (const Dispatcher dispatcher : dispatchers(model, cluster, config)) {
    const DispatcherTraits traits = traits_of(dispatcher);
    for (const int sms : sms_choices(config, dispatcher, all_pinned)) {
      DispatcherChoice choice{dispatcher, sms};
      if (sms != 0) choice.within = measured;
      else if (traits.gathers_tokens && free) choice.within = gather_within(model, cluster, config);
      if (traits.in_two_steps && free) choice.two_steps_beyond = domain_of_several(cluster, config);
      all.push_back(choice);
    }
  }
  return all;
}

int gather_within(const ModelSpec& model, const ClusterSpec& cluster, const SearchConfig& c) {
  const bool tried = c.gpus > 1 && model.moe && model.moe->top_k > kMostExpertsWithoutGather &&
                     !has_narrow_rows(c);
  if (!tried) return 0;
  return is_fused(dispatcher_for(model, cluster)) ? kRanksOfLeastGather : kAnyRanks;
}

// Whether rows travel to experts, or back, in fp8 with some of the numerics.
bool has_narrow_rows(const SearchConfig& c) {
  return std::ranges::any_of(c.numerics, [](const Numerics& n) {
    return n.fp8_dispatch || n.fp8_combine;
  });
}

bool has_dispatcher(const ClusterSpec& cluster, Dispatcher dispatcher) {
  const std::optional<Software> library = traits_of(dispatcher).library;
  if (library && cluster.lacks(*library)) return false;
  switch (traits_of(dispatcher).needs) {
    case DispatcherNeeds::nothing: return true;
    case DispatcherNeeds::fp8: return cluster.gpu.peak_fp8.base() > 0 && cluster.shared_cores == 0;
  }
  return false;
}

Dispatcher dispatcher_for(const ModelSpec& model, const ClusterSpec& cluster) {
  if (!model.moe) return Dispatcher::alltoall;  // nothing is dispatched
  if (cluster.shared_cores > 0 || cluster.tiers.empty()) return Dispatcher::alltoall;
  // An NVLink domain of more than 8 GPUs is a rack (NVL72); fused kernels need Hopper (fp8).
  const Dispatcher fused =
      cluster.tiers.front().size > 8 ? Dispatcher::hybridep : Dispatcher::deepep;
  const Dispatcher other =
      fused == Dispatcher::deepep ? Dispatcher::hybridep : Dispatcher::deepep;
  for (const Dispatcher d : {fused, other}) {
    if (has_dispatcher(cluster, d)) return d;
  }
  return Dispatcher::alltoall;
}

}  // namespace pleat
