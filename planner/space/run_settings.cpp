// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/space/run_settings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics.hpp"
#include "core/plan/dispatcher_traits.hpp"
#include "planner/space/shard_sets.hpp"

namespace pleat {
namespace {

std::vector<Sharding> shardings(const SearchConfig& c) {
  if (c.pin<"sharding">()) return c.pin<"sharding">().sorted();
  if (c.gpus == 1) return {Sharding::none};
  return {Sharding::zero1, Sharding::zero2, Sharding::zero3};
}

std::vector<CudaGraph> graphs(const ModelSpec& model, Dispatcher dispatcher,
                              const SearchConfig& c) {
  // Pleat's backend captures exchanges in no graph.
  if (c.runtime == Runtime::pleat) return c.pin<"cuda-graph">().sorted_or({CudaGraph::none});
  std::vector<CudaGraph> all{CudaGraph::none, CudaGraph::partial};
  if (!model.moe || dispatcher == Dispatcher::hybridep) all.push_back(CudaGraph::full_iteration);
  return c.pin<"cuda-graph">().sorted_or(all);
}

struct CpKind {
  CpComm comm;
  int groups = 0;
};

std::vector<CpKind> cp_kinds(const SearchConfig& c) {
  const std::vector<CpComm> comms{CpComm::p2p, CpComm::all_gather, CpComm::all_to_all,
                                  CpComm::a2a_p2p};
  const Pinned<int>& pin = c.pin<"cp-a2a">();
  const std::vector<int> sizes = pin ? pin.values : std::vector<int>{2, 4, 8};
  std::vector<CpKind> kinds;
  for (const CpComm comm : c.pin<"cp-comm">().sorted_or(comms)) {
    if (comm != CpComm::a2a_p2p) {
      kinds.push_back({comm});
      continue;
    }
    for (const int size : sizes) kinds.push_back({comm, size});
  }
  return kinds;
}

// Without those that have rows of their own to try.
std::vector<OverlapFlags> overlaps(const ModelSpec& model, const SearchConfig& c) {
  std::vector<OverlapFlags> all;
  const auto flags = [&](const Pinned<bool>& pin, bool possible) {
    if (pin) return pin.values;
    return possible ? std::vector<bool>{false, true} : std::vector<bool>{false};
  };
  const bool shares = model.moe && model.moe->shared_ffn > 0;
  for (const bool expert : flags(c.pin<"ep-overlap">(), model.moe.has_value())) {
    for (const bool wgrad : flags(c.pin<"delay-wgrad">(), expert)) {
      for (const bool shared : flags(c.pin<"shared-expert-overlap">(), shares)) {
        OverlapFlags f;
        f.expert_parallel = expert;
        f.delay_wgrad = wgrad;
        f.shared_expert = shared;
        all.push_back(f);
      }
    }
  }
  return all;
}

// No runtime has it: off, where it is not pinned.
std::vector<bool> tile_overlaps(const ModelSpec& model, const SearchConfig& c) {
  std::vector<bool> all;
  for (const bool tile : c.pin<"tile-overlap">()) {
    const bool tiled = tile && model.moe;
    if (std::ranges::find(all, tiled) == all.end()) all.push_back(tiled);
  }
  return all.empty() ? std::vector<bool>{false} : all;
}

// Nodes of the plan tree number settings in 16 bits: millions of nodes wait at a time.
[[noreturn]] void refuse_so_many() {
  throw_config_error(
      ExitCode::bad_request, "", "pins",
      fmt::format("more than {} combinations of dispatchers, sharding, overlaps, graphs and "
                  "implementations are asked for",
                  kMostSettings),
      "pin fewer of these fields to `any` or to several values");
}

}  // namespace

void Setting::put_into(Plan& plan) const {
  put_shards(sharding, shard_domain, plan);
  plan.dispatcher = exchange.dispatcher;
  plan.dispatcher_sms = exchange.sms;
  plan.paged_stash = stash;
  plan.cuda_graph = graph;
  plan.cp_comm = cp_comm;
  plan.cp_a2a = cp_a2a;
  plan.overlap = overlap;
  tried.put_into(plan);
}

bool Setting::exchanges_as_another(const Mesh& mesh, const Setting& first) const {
  const bool same_cp = cp_comm == first.cp_comm && cp_a2a == first.cp_a2a;
  return (mesh.attention.cp == 1 && !same_cp) ||
         (mesh.expert.ep == 1 && !exchange.same_kernel(first.exchange));
}

// On one replica a runtime still keeps the state of no shards, of shards of the optimizer and of
// shards by layer in ways of their own.
const Setting& Setting::first_alike(const std::vector<Setting>& all) const {
  const auto way = [](Sharding s) { return std::min(s, Sharding::zero2); };
  return *std::ranges::find_if(
      all, [&](const Setting& s) { return way(s.sharding) == way(sharding); });
}

bool Setting::repeats_another(const Mesh& mesh, const std::vector<Setting>& all) const {
  return repeats_another(mesh, first_alike(all));
}

// One set of all shards, or the sets of the next smaller domain.
bool Setting::shards_as_another(const Mesh& mesh) const {
  const int sets = sets_within(shard_domain, mesh.attention, mesh.expert);
  return sets == 1 || (smaller_domain > 0 &&
                       sets == sets_within(smaller_domain, mesh.attention, mesh.expert));
}

bool Setting::repeats_another(const Mesh& mesh, const Setting& alike) const {
  const int replicas = mesh.attention.dp * mesh.attention.cp;
  return exchanges_as_another(mesh, alike) ||
         (shard_domain != alike.shard_domain && shards_as_another(mesh)) ||
         (replicas == 1 && mesh.expert.edp == 1 && sharding != alike.sharding);
}

bool Setting::exchanges_too_far_on(const Mesh& mesh) const {
  return exchange.within != 0 && mesh.expert.ep * mesh.expert.etp > exchange.within;
}

bool Setting::is_tried_gather() const {
  return exchange.within != 0 && traits_of(exchange.dispatcher).gathers_tokens;
}

const char* Setting::void_on(const Mesh& mesh) const {
  const AttentionMapping& a = mesh.attention;
  if (sharding > Sharding::zero1 && a.pp > 1) return "sharding-pipeline";
  const int domain = exchange.two_steps_beyond;
  if (domain > 0 && domain % (mesh.expert.ep * mesh.expert.etp) == 0) {
    return "no-effect";  // all of it lies within a domain
  }
  if (exchanges_too_far_on(mesh)) return exchange.sms != 0 ? "dispatcher-sms" : "allgather-ranks";
  if (cp_a2a > 0 && (cp_a2a >= a.cp || a.cp % cp_a2a != 0)) return "cp-groups";
  return nullptr;
}

bool Setting::same_exchanges(const Setting& other) const {
  return exchange.same_kernel(other.exchange) && cp_comm == other.cp_comm &&
         cp_a2a == other.cp_a2a && tried == other.tried &&
         overlap.tile_level == other.overlap.tile_level;
}

bool Setting::same_family(const Setting& other) const {
  return same_exchanges(other) && sharding == other.sharding && graph == other.graph &&
         shard_domain == other.shard_domain;
}

std::vector<Setting> settings(const ModelSpec& model, const ClusterSpec& cluster,
                              const SearchConfig& config) {
  const std::vector<DispatcherChoice> exchanges = dispatcher_choices(model, cluster, config);
  const std::vector<OverlapFlags> flags = overlaps(model, config);
  const std::vector<bool> tiles = tile_overlaps(model, config);
  const std::vector<TriedValues> others = tried_values(model, config);
  std::vector<Setting> all;
  const auto add_overlaps = [&](Setting s) {
    const bool overlaps = traits_of(s.exchange.dispatcher).overlaps || config.pin<"dispatcher">();
    for (const OverlapFlags& overlap : flags) {
      if (!overlaps && (overlap.expert_parallel || overlap.shared_expert)) continue;
      const bool tile = s.overlap.tile_level;
      s.overlap = overlap;
      s.overlap.tile_level = tile;
      if (all.size() == kMostSettings) refuse_so_many();
      all.push_back(s);
    }
  };
  const auto add = [&](Setting s) {
    for (const CpKind& cp : cp_kinds(config)) {
      s.cp_comm = cp.comm;
      s.cp_a2a = cp.groups;
      for (const bool tile : tiles) {
        s.overlap.tile_level = tile;
        for (const TriedValues& tried : others) {
          s.tried = tried;
          add_overlaps(s);
        }
      }
    }
  };
  for (const Sharding sharding : shardings(config)) {
    int smaller = 0;
    for (const int domain : shard_domains(cluster, config, sharding)) {
      for (const DispatcherChoice& exchange : exchanges) {
        for (const CudaGraph graph : graphs(model, exchange.dispatcher, config)) {
          add({.sharding = sharding,
               .exchange = exchange,
               .graph = graph,
               .shard_domain = domain,
               .smaller_domain = smaller,
               .overlap = {},
               .tried = {},
               .stash = config.paged_stash});
        }
      }
      smaller = domain;
    }
  }
  return all;
}

std::vector<Setting> least_work(const std::vector<Setting>& all, Runtime runtime) {
  const Setting& first = all.front();
  std::vector<Setting> least;
  CudaGraph graph = CudaGraph::none;
  bool tiles = false;
  for (const Setting& s : all) {
    graph = both_of(graph, s.graph);
    tiles = tiles || s.overlap.tile_level;
    Setting one = first;
    one.exchange = s.exchange;
    one.tried = s.tried.timed_as(first.tried);
    // Fused dispatchers come first; they sort and copy less. An exchange in two steps sorts and
    // copies as the one in one step does.
    const bool undercut =
        (s.exchange.dispatcher == Dispatcher::alltoall && is_fused(first.exchange.dispatcher)) ||
        s.exchange.two_steps_beyond > 0;
    const bool known = std::ranges::any_of(least, [&](const Setting& other) {
      return other.exchange.dispatcher == one.exchange.dispatcher && other.tried == one.tried;
    });
    if (!known && !undercut) least.push_back(one);
  }
  for (Setting& s : least) {
    s.graph = graph;
    s.overlap.tile_level = tiles;
  }
  // Pleat's ring makes attention in pieces and joins them, which a gather does not.
  const bool gathers = runtime == Runtime::pleat && first.cp_comm == CpComm::p2p &&
                       std::ranges::find(all, CpComm::all_gather, &Setting::cp_comm) != all.end();
  for (std::size_t i = 0, end = gathers ? least.size() : 0; i < end; ++i) {
    Setting s = least[i];
    s.cp_comm = CpComm::all_gather;
    least.push_back(s);
  }
  return least;
}

}  // namespace pleat
