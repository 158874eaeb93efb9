// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/space/run_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/plan/dispatcher_traits.hpp"
#include "core/plan/plan_words.hpp"
#include "planner/space/runtime_rules.hpp"

namespace pleat {
namespace {

constexpr int kAnyRanks = std::numeric_limits<int>::max();

template <class T>
std::vector<T> sorted(std::vector<T> values) {
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
  return values;
}

// The pinned values in the order of `all`.
template <class T>
std::vector<T> pinned_or(const Pinned<T>& pin, std::vector<T> all) {
  return pin ? sorted(pin.values) : all;
}

std::vector<Sharding> shardings(const SearchConfig& c) {
  if (c.pin<"sharding">()) return pinned_or(c.pin<"sharding">(), {});
  if (c.gpus == 1) return {Sharding::none};
  return {Sharding::zero1, Sharding::zero2, Sharding::zero3};
}

// Whether rows travel to experts, or back, in fp8 with some of the numerics.
bool has_narrow_rows(const SearchConfig& c) {
  return std::ranges::any_of(c.numerics, [](const Numerics& n) {
    return n.fp8_dispatch || n.fp8_combine;
  });
}

// A gather reads a token of each rank where an exchange sorts a row for each of a token's experts.
// With one or two experts a token, or with narrow rows, it gains little: only changes of the best
// plans have it then, unless it is asked for.
constexpr std::int64_t kMostExpertsWithoutGather = 2;

bool tries_gather(const ModelSpec& model, const SearchConfig& c) {
  return c.gpus > 1 && model.moe && model.moe->top_k > kMostExpertsWithoutGather &&
         !has_narrow_rows(c);
}

// The most ranks among which the gather is tried. A fused exchange sends a row for each rank that
// has some of a token's experts, so a gather sends as little only between two ranks. The all-to-all
// sends and sorts a row for each expert: beside it the gather is tried among any ranks.
int gather_within(const ModelSpec& model, const ClusterSpec& cluster) {
  return is_fused(dispatcher_for(model, cluster)) ? kRanksOfLeastGather : kAnyRanks;
}

// The innermost network domain, if the GPUs are in several; else 0.
int domain_of_several(const ClusterSpec& cluster, const SearchConfig& c) {
  const int domain = cluster.tiers.empty() ? 0 : cluster.tiers.front().size;
  return domain < c.gpus ? domain : 0;
}

std::vector<Dispatcher> dispatchers(const ModelSpec& model, const ClusterSpec& cluster,
                                    const SearchConfig& c) {
  const Dispatcher best = dispatcher_for(model, cluster);
  std::vector<Dispatcher> all{best};
  if (best != Dispatcher::alltoall) all.push_back(Dispatcher::alltoall);
  if (tries_gather(model, c)) all.push_back(Dispatcher::allgather);
  const bool two_steps = c.runtime == Runtime::pleat && domain_of_several(cluster, c) > 0;
  if (model.moe && two_steps) all.push_back(Dispatcher::hierarchical);
  if (!c.pin<"dispatcher">()) return all;
  // Fused ones (whose kernels permute the tokens) first: least_work relies on that.
  std::vector<Dispatcher> pinned = pinned_or(c.pin<"dispatcher">(), {});
  std::ranges::stable_partition(pinned, is_fused);
  return pinned;
}

std::vector<CudaGraph> graphs(const ModelSpec& model, Dispatcher dispatcher,
                              const SearchConfig& c) {
  // Pleat's backend captures exchanges in no graph.
  if (c.runtime == Runtime::pleat) return pinned_or(c.pin<"cuda-graph">(), {CudaGraph::none});
  std::vector<CudaGraph> all{CudaGraph::none, CudaGraph::partial};
  if (!model.moe || dispatcher == Dispatcher::hybridep) all.push_back(CudaGraph::full_iteration);
  return pinned_or(c.pin<"cuda-graph">(), all);
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
  for (const CpComm comm : pinned_or(c.pin<"cp-comm">(), comms)) {
    if (comm != CpComm::a2a_p2p) {
      kinds.push_back({comm});
      continue;
    }
    for (const int size : sizes) kinds.push_back({comm, size});
  }
  return kinds;
}

// A set of shards lies within one network domain, 8 of them, 64 of them and so on, up to so many
// ranks. Collectives of a thousand ranks take long, and shards of a hundred often fit as well.
constexpr std::int64_t kDomainStep = 8, kFewRanks = 1024;

std::vector<int> shard_domains(const ClusterSpec& cluster, const SearchConfig& c,
                               Sharding sharding) {
  if (sharding == Sharding::none) return {0};
  const int domain = domain_of_several(cluster, c);
  if (domain == 0) return {0};
  if (c.hybrid_sharding) return {*c.hybrid_sharding ? domain : 0};
  std::vector<int> all{0, domain};
  for (std::int64_t ranks = domain * kDomainStep; ranks < std::min<std::int64_t>(c.gpus, kFewRanks);
       ranks *= kDomainStep) {
    all.push_back(static_cast<int>(ranks));
  }
  return all;
}

// The smallest number of shard sets such that each lies within `domain` ranks; 1 if there is none.
// Found by trying how many of the smallest possible sets make one: at most `domain`, whatever the
// number of GPUs.
int sets_within(int domain, const AttentionMapping& a, const ExpertMapping& e) {
  const std::int64_t ranks = std::int64_t{a.dp} * a.cp;
  const std::int64_t most = std::gcd(ranks, std::int64_t{e.edp});
  const std::int64_t least = (ranks * a.tp + domain - 1) / domain;
  for (std::int64_t share = most / least; share > 0; --share) {
    if (most % share == 0) return static_cast<int>(most / share);
  }
  return 1;
}

// The number of SMs is a choice for DeepEP only: NCCL takes what it takes, and HybridEP was
// measured with one.
std::vector<int> sms_choices(const SearchConfig& c, Dispatcher dispatcher) {
  const Pinned<int>& pin = c.pin<"dispatcher-sms">();
  const bool pinned = std::ranges::find(pin, 0) == pin.end();
  const bool chooses = dispatcher == Dispatcher::deepep ||
                       (dispatcher == Dispatcher::hybridep && pinned);
  return chooses && pin ? pin.values : std::vector<int>{0};
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
  for (const bool tile : c.pin<"tile-overlap">()) all.push_back(tile && model.moe);
  return all.empty() ? std::vector<bool>{false} : all;
}

}  // namespace

void put_shards(Sharding sharding, int domain, Plan& plan) {
  plan.sharding = sharding;
  plan.optimizer_instances = 1;
  plan.fsdp_group = 0;
  if (domain == 0 || sharding == Sharding::none) return;
  const int sets = sets_within(domain, plan.attention, plan.expert);
  if (sharding == Sharding::zero1) {
    plan.optimizer_instances = sets;
  } else if (sets > 1) {
    plan.fsdp_group = plan.attention.dp * plan.attention.cp / sets;
  }
}

void Setting::put_into(Plan& plan) const {
  put_shards(sharding, shard_domain, plan);
  plan.dispatcher = dispatcher;
  plan.dispatcher_sms = sms;
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
         (mesh.expert.ep == 1 && (dispatcher != first.dispatcher || sms != first.sms));
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
  return exchange_within != 0 && mesh.expert.ep * mesh.expert.etp > exchange_within;
}

bool Setting::is_tried_gather() const {
  return exchange_within != 0 && traits_of(dispatcher).gathers_tokens;
}

const char* Setting::void_on(const Mesh& mesh) const {
  const AttentionMapping& a = mesh.attention;
  if (sharding > Sharding::zero1 && a.pp > 1) return "sharding-pipeline";
  if (two_steps_beyond > 0 && two_steps_beyond % (mesh.expert.ep * mesh.expert.etp) == 0) {
    return "no-effect";  // all of it lies within a domain
  }
  if (exchanges_too_far_on(mesh)) return sms != 0 ? "dispatcher-sms" : "allgather-ranks";
  if (cp_a2a > 0 && (cp_a2a >= a.cp || a.cp % cp_a2a != 0)) return "cp-groups";
  return nullptr;
}

bool Setting::same_exchanges(const Setting& other) const {
  return dispatcher == other.dispatcher && sms == other.sms && cp_comm == other.cp_comm &&
         cp_a2a == other.cp_a2a && tried == other.tried &&
         overlap.tile_level == other.overlap.tile_level;
}

bool Setting::same_family(const Setting& other) const {
  return same_exchanges(other) && sharding == other.sharding && graph == other.graph &&
         shard_domain == other.shard_domain;
}

std::vector<Setting> settings(const ModelSpec& model, const ClusterSpec& cluster,
                              const SearchConfig& config) {
  const Pinned<int>& sms_pin = config.pin<"dispatcher-sms">();
  const bool pinned = std::ranges::find(sms_pin, 0) == sms_pin.end();
  const bool one_domain = cluster.tiers.empty() || cluster.tiers.front().size == 0;
  const int measured = pinned || one_domain ? config.gpus : cluster.tiers.front().size;
  const auto within = [&](Dispatcher dispatcher, int sms) {
    if (sms != 0) return measured;
    const bool gathers = traits_of(dispatcher).gathers_tokens;
    return gathers && !config.pin<"dispatcher">() ? gather_within(model, cluster) : 0;
  };
  const auto beyond = [&](Dispatcher dispatcher) {
    const bool tried = traits_of(dispatcher).in_two_steps && !config.pin<"dispatcher">();
    return tried ? domain_of_several(cluster, config) : 0;
  };
  const std::vector<OverlapFlags> flags = overlaps(model, config);
  const std::vector<bool> tiles = tile_overlaps(model, config);
  const std::vector<TriedValues> others = tried_values(model, config);
  std::vector<Setting> all;
  const auto add_overlaps = [&](Setting s) {
    const bool overlaps = traits_of(s.dispatcher).overlaps || config.pin<"dispatcher">();
    for (const OverlapFlags& overlap : flags) {
      if (!overlaps && (overlap.expert_parallel || overlap.shared_expert)) continue;
      const bool tile = s.overlap.tile_level;
      s.overlap = overlap;
      s.overlap.tile_level = tile;
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
      for (const Dispatcher dispatcher : dispatchers(model, cluster, config)) {
        for (const int sms : sms_choices(config, dispatcher)) {
          for (const CudaGraph graph : graphs(model, dispatcher, config)) {
            add({.sharding = sharding,
                 .dispatcher = dispatcher,
                 .graph = graph,
                 .shard_domain = domain,
                 .smaller_domain = smaller,
                 .sms = sms,
                 .exchange_within = within(dispatcher, sms),
                 .two_steps_beyond = beyond(dispatcher),
                 .overlap = {},
                 .tried = {},
                 .stash = config.paged_stash});
          }
        }
      }
      smaller = domain;
    }
  }
  return all;
}

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
    const bool gathers = traits.gathers_tokens && tries_gather(model, config);
    const int within = gathers ? gather_within(model, cluster) : 0;
    if (within == kAnyRanks) continue;
    const std::string far =
        within > 0 ? fmt::format(" among more than {} ranks", within) : std::string();
    list.push_back({fmt::format("dispatcher {}{}", name_of(other), far),
                    fmt::format(fmt::runtime(why), name_of(other))});
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

std::vector<Setting> least_work(const std::vector<Setting>& all, Runtime runtime) {
  const Setting& first = all.front();
  std::vector<Setting> least;
  CudaGraph graph = CudaGraph::none;
  bool tiles = false;
  for (const Setting& s : all) {
    graph = both_of(graph, s.graph);
    tiles = tiles || s.overlap.tile_level;
    Setting one = first;
    one.dispatcher = s.dispatcher;
    one.sms = s.sms;
    one.exchange_within = s.exchange_within;
    one.tried = s.tried.timed_as(first.tried);
    // Fused dispatchers come first; they sort and copy less. An exchange in two steps sorts and
    // copies as the one in one step does.
    const bool undercut =
        (s.dispatcher == Dispatcher::alltoall && is_fused(first.dispatcher)) ||
        s.two_steps_beyond > 0;
    const bool known = std::ranges::any_of(least, [&](const Setting& other) {
      return other.dispatcher == one.dispatcher && other.tried == one.tried;
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
