// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/technique.hpp"

namespace pleat {
namespace {

// Whether the runtime is one whose techniques the search may choose.
bool chooses(const SearchConfig& config) { return config.runtime == Runtime::megatron; }

template <class T>
std::vector<T> pinned_or(const std::optional<T>& pin, std::vector<T> all) {
  return pin ? std::vector<T>{*pin} : all;
}

std::vector<Sharding> shardings(const SearchConfig& c) {
  if (c.sharding) return {*c.sharding};
  if (c.gpus == 1) return {Sharding::none};
  if (!chooses(c)) return {Sharding::zero1};
  return {Sharding::zero1, Sharding::zero2, Sharding::zero3};
}

std::vector<Dispatcher> dispatchers(const ModelSpec& model, const ClusterSpec& cluster,
                                    const SearchConfig& c) {
  const Dispatcher best = dispatcher_for(model, cluster, c.runtime);
  std::vector<Dispatcher> all{best};
  if (best != Dispatcher::alltoall) all.push_back(Dispatcher::alltoall);
  return pinned_or(c.dispatcher, all);
}

std::vector<CudaGraph> graphs(const ModelSpec& model, Dispatcher dispatcher,
                              const SearchConfig& c) {
  if (!chooses(c)) return {CudaGraph::none};
  std::vector<CudaGraph> all{CudaGraph::none, CudaGraph::partial};
  if (!model.moe || dispatcher == Dispatcher::hybridep) all.push_back(CudaGraph::full_iteration);
  return pinned_or(c.cuda_graph, all);
}

std::vector<CpComm> cp_kinds(const SearchConfig& c) {
  if (!chooses(c)) return {c.cp_comm.value_or(CpComm::p2p)};
  return pinned_or(c.cp_comm, {CpComm::p2p, CpComm::all_gather, CpComm::all_to_all});
}

std::vector<OverlapFlags> overlaps(const ModelSpec& model, const SearchConfig& c) {
  std::vector<OverlapFlags> all;
  const auto flags = [&](const std::optional<bool>& pin, bool possible) {
    if (!possible || !chooses(c)) return std::vector<bool>{pin.value_or(false)};
    return pinned_or(pin, {false, true});
  };
  for (const bool tensor : flags(c.tp_overlap, true)) {
    for (const bool expert : flags(c.ep_overlap, model.moe.has_value())) {
      for (const bool wgrad : flags(c.delay_wgrad, expert)) {
        for (const bool shared : flags(c.shared_overlap, model.moe && model.moe->shared_ffn > 0)) {
          OverlapFlags f;
          f.expert_parallel = expert;
          f.delay_wgrad = wgrad;
          f.tensor_parallel = tensor;
          f.shared_expert = shared;
          all.push_back(f);
        }
      }
    }
  }
  return all;
}

}  // namespace

void Setting::put_into(Plan& plan) const {
  plan.sharding = sharding;
  plan.dispatcher = dispatcher;
  plan.cuda_graph = graph;
  plan.cp_comm = cp_comm;
  plan.overlap = overlap;
}

bool Setting::moot(const Mesh& mesh, const Setting& first) const {
  const int replicas = mesh.attention.dp * mesh.attention.cp;
  return (mesh.attention.cp == 1 && cp_comm != first.cp_comm) ||
         (mesh.expert.ep == 1 && dispatcher != first.dispatcher) ||
         (replicas == 1 && mesh.expert.edp == 1 && sharding != first.sharding);
}

bool Setting::same_family(const Setting& other) const {
  return sharding == other.sharding && dispatcher == other.dispatcher && graph == other.graph &&
         cp_comm == other.cp_comm &&
         overlap.tensor_parallel == other.overlap.tensor_parallel;
}

std::vector<Setting> settings(const ModelSpec& model, const ClusterSpec& cluster,
                              const SearchConfig& config) {
  std::vector<Setting> all;
  for (const Sharding sharding : shardings(config)) {
    for (const Dispatcher dispatcher : dispatchers(model, cluster, config)) {
      for (const CudaGraph graph : graphs(model, dispatcher, config)) {
        for (const CpComm cp : cp_kinds(config)) {
          for (const OverlapFlags& overlap : overlaps(model, config)) {
            all.push_back({sharding, dispatcher, graph, cp, overlap});
          }
        }
      }
    }
  }
  return all;
}

std::vector<NotTried> not_tried(const SearchConfig& config) {
  std::vector<NotTried> list;
  if (config.schedule.empty() && config.runtime == Runtime::megatron) {
    list.push_back({"schedule zb-h1, zb-v, dualpipe, dualpipe-v",
                    "Megatron's pipelines run 1F1B, interleaved or not (--schedule prices them all "
                    "the same)"});
  }
  return list;
}

Setting least_work(const std::vector<Setting>& all) {
  Setting least = all.front();  // the hardware's dispatcher comes first
  for (const Setting& s : all) least.graph = std::max(least.graph, s.graph);
  return least;
}

Dispatcher dispatcher_for(const ModelSpec& model, const ClusterSpec& cluster, Runtime runtime) {
  if (!model.moe) return Dispatcher::alltoall;  // nothing is dispatched
  if (runtime != Runtime::megatron || cluster.shared_cores > 0) return Dispatcher::alltoall;
  if (cluster.tiers.empty()) return Dispatcher::alltoall;
  // An NVLink domain of more than 8 GPUs is a rack (NVL72); DeepEP's kernels need Hopper (fp8).
  if (cluster.tiers.front().size > 8) return Dispatcher::hybridep;
  return cluster.gpu.peak_fp8.base() > 0 ? Dispatcher::deepep : Dispatcher::alltoall;
}

}  // namespace pleat
