// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a search chooses besides the mesh and memory: sharding, exchanges, overlap and CUDA graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/spec/cluster.hpp"
#include "core/spec/model.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"
#include "planner/space/dispatcher_choices.hpp"
#include "planner/space/mesh_space.hpp"
#include "planner/space/tried_values.hpp"

namespace pleat {

// The settings of a plan that are neither its mesh nor a way to save memory.
struct Setting {
  Sharding sharding = Sharding::zero1;
  DispatcherChoice exchange;
  CudaGraph graph = CudaGraph::none;
  CpComm cp_comm = CpComm::p2p;
  int cp_a2a = 0;        // a2a_p2p: ranks of a group that exchanges heads
  int shard_domain = 0;  // ranks that one set of shards lies within; 0: all
  int smaller_domain = 0;  // the next smaller one that is tried; 0: none
  OverlapFlags overlap;
  TriedValues tried;
  PagedStash stash;
  void put_into(Plan&) const;  // which must have its mesh
  // Whether the mesh makes no use of one of these settings (for example of the dispatcher, without
  // expert parallelism), so that an earlier one of `all` means the same plan.
  [[nodiscard]] bool repeats_another(const Mesh&, const std::vector<Setting>& all) const;
  // The same, `alike` being the first setting that shards in the same way.
  [[nodiscard]] bool repeats_another(const Mesh&, const Setting& alike) const;
  [[nodiscard]] const Setting& first_alike(const std::vector<Setting>& all) const;
  // Whether the mesh makes no use of the kind of CP, the dispatcher or its SMs, so that `first`,
  // the first of all settings, exchanges in the same way.
  [[nodiscard]] bool exchanges_as_another(const Mesh&, const Setting& first) const;
  // Whether the mesh's experts exchange among more ranks than this setting is tried for: numbers of
  // SMs where they were measured (without rates, fewer would seem to cost nothing), the all-gather
  // where it sends about as little as an exchange.
  [[nodiscard]] bool exchanges_too_far_on(const Mesh&) const;
  // Whether it is the all-gather, tried without having been asked for.
  [[nodiscard]] bool is_tried_gather() const;
  // Whether the mesh has the same sets of shards with another domain that is tried.
  [[nodiscard]] bool shards_as_another(const Mesh&) const;
  // A rule that every setting of this family breaks on the mesh; null: none is known.
  [[nodiscard]] const char* void_on(const Mesh&) const;
  // Whether the two differ at most in sharding, CUDA graphs, and the overlap of expert exchanges
  // and of the shared expert.
  [[nodiscard]] bool same_exchanges(const Setting&) const;
  // Whether the two differ at most in the overlap of expert exchanges and of the shared expert.
  [[nodiscard]] bool same_family(const Setting&) const;
};

// The settings that a search tries, free or as pinned, in the order that breaks ties; those of a
// family are neighbours:
//   sharding      zero1, zero2, zero3 (without data parallelism: none), over all ranks or within
//                 the innermost network domain, in which case several domains hold copies
//   exchange      the dispatcher and its SMs (dispatcher_choices)
//   CUDA graphs   of Megatron: none, partial, and the whole iteration where nothing in a layer
//                 waits for the host: dense models, and MoE with HybridEP. Of Pleat: none
//   CP            ring, gather, heads, heads in groups of 2, 4 or 8 with a ring between them
//   overlap       of expert exchanges (with and without split weight gradients), of the shared
//                 expert, tile by tile
//   others        each value of the fields whose row of plan_table.hpp says so: the overlap of
//                 tensor-parallel exchanges
// Not searched, but as a Plan has them by default: sequence parallelism (always on; without it each
// of the TP ranks stores and sends all of it), attention that stores its scores, other numbers of
// shard sets. Throws ConfigError where pins ask for more than kMostSettings of them.
inline constexpr std::size_t kMostSettings = std::numeric_limits<std::int16_t>::max();
[[nodiscard]] std::vector<Setting> settings(const ModelSpec&, const ClusterSpec&,
                                            const SearchConfig&);

// Settings with the least arithmetic and memory-bound work: on every mesh, one of them has no more
// of it than any setting. They capture the whole iteration, overlap and shard nothing, and use
// fused dispatch; where other dispatchers are pinned, there is one for each, and so there is for
// each value of the fields that may change the work in a way of their own (TriedAs::each_value). Of
// the runtime Pleat there is one for the ring and one for the gather of keys and values.
[[nodiscard]] std::vector<Setting> least_work(const std::vector<Setting>&, Runtime);

}  // namespace pleat
