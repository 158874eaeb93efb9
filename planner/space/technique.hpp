// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a search chooses beside the mesh and memory: how exchanges and launches run.
#pragma once

#include <string>
#include <vector>

#include "planner/space/memory_choice.hpp"
#include "planner/space/mesh_space.hpp"

namespace pleat {

// Flags that change how a mesh runs, not what it keeps in memory for the sake of it.
struct Setting {
  Sharding sharding = Sharding::zero1;
  Dispatcher dispatcher = Dispatcher::alltoall;
  CudaGraph graph = CudaGraph::none;
  CpComm cp_comm = CpComm::p2p;
  int cp_a2a = 0;        // a2a_p2p: ranks of a group that exchanges heads
  int shard_domain = 0;  // ranks that one set of shards lies within; 0: all
  int sms = 0;           // Plan::dispatcher_sms
  int sms_within = 0;    // the most ranks of an exchange that may take other SMs than the profile's
  OverlapFlags overlap;
  PagedStash stash;
  void put_into(Plan&) const;  // which must have its mesh
  // Whether it says something about exchanges that the mesh does not make: another setting says the
  // same, the first one of `all` (plan order) that keeps state in the same way.
  [[nodiscard]] bool moot(const Mesh&, const std::vector<Setting>& all) const;
  // Whether its exchanges leave the ranks that rates for so many SMs were measured of: there fewer
  // SMs would seem to cost nothing.
  [[nodiscard]] bool unmeasured_on(const Mesh&) const;
  // The rule that every setting of this family breaks on the mesh; null: none of those looked at.
  [[nodiscard]] const char* void_on(const Mesh&) const;
  // Whether they differ in the overlap of expert exchanges and of the shared expert alone.
  [[nodiscard]] bool same_family(const Setting&) const;
};

// The settings a search considers, in plan order, families together, free or as pinned:
//   sharding      zero1, zero2, zero3 (without data parallelism: none), over all ranks or within the
//                 innermost network domain, in which case several domains hold copies
//   dispatcher    all-to-all, and DeepEP or HybridEP where the hardware has it (dispatcher_for), with
//                 each number of SMs of the config
//   CUDA graphs   none, partial, and the whole iteration where nothing in a layer waits for the host:
//                 dense models, and MoE with HybridEP
//   CP            ring, gather, heads, heads in groups of 2, 4 or 8 with a ring between them
//   overlap       of expert exchanges (with and without split weight gradients), of tensor-parallel
//                 exchanges, of the shared expert, tile by tile
// Not searched, as a Plan has them by default: sequence parallelism (always on: without it everything
// is held and moved t times), attention that stores its scores, other numbers of shard sets.
[[nodiscard]] std::vector<Setting> settings(const ModelSpec&, const ClusterSpec&,
                                            const SearchConfig&);

// What the search could choose but does not, for want of the runtime or the hardware.
[[nodiscard]] std::vector<NotTried> not_tried(const ModelSpec&, const SearchConfig&);

// The settings of which one is undercut by no other in arithmetic and memory-bound work: the whole
// iteration captured, nothing overlapped or sharded; fused dispatch, but where others than the
// hardware's and all-to-all are pinned, one of each dispatcher.
[[nodiscard]] std::vector<Setting> least_work(const std::vector<Setting>&);

// Shards of the plan's mesh, within `domain` ranks or (0) over all.
void put_shards(Sharding, int domain, Plan&);

// Where a mesh may keep its state.
struct StateChoices {
  std::vector<Sharding> shardings;  // the one with the least state last
  std::vector<int> domains{0};      // of shards, as Setting::shard_domain
  StatePlace place = StatePlace::device;  // of the optimizer's state, the one that leaves least
};

// The dispatcher a runtime would use on this hardware: HybridEP where more than 8 GPUs share an
// NVLink domain (NVL72), DeepEP on other GPUs with fp8 (Hopper and later), else all-to-all.
[[nodiscard]] Dispatcher dispatcher_for(const ModelSpec&, const ClusterSpec&, Runtime);

}  // namespace pleat
