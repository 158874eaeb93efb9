// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Costs of layers, and of chunks as sums over their layers.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/program/layer_program.hpp"
#include "core/program/pair_positions.hpp"
#include "core/program/passes/pair.hpp"
#include "core/program/program.hpp"
#include "core/quantity.hpp"
#include "core/spec/cluster.hpp"
#include "core/spec/profile.hpp"
#include "simulator/layer_rows.hpp"

namespace pleat {

// What one layer costs on one rank: the record the simulator reduces a LayerProgram to. Cold and
// memoised; `evaluate` and the planner only add these up.

// Rubrics of time in every report; they add up to the end of the timeline.
enum class CostClass : std::uint8_t {
  gemm, grouped_gemm, attention, memory_bound, tp_comm, cp_comm, ep_comm, pp_comm, dp_comm,
  offload, optimizer, host, bubble
};
inline constexpr std::size_t kCostClasses = 13;
[[nodiscard]] const char* name_of(CostClass);
using CostVector = std::array<Seconds, kCostClasses>;

// Memory trajectory of one pass of one layer, relative to the live bytes when it starts.
struct MemoryDelta {
  std::int64_t peak = 0;  // highest live bytes above the start
  std::int64_t net = 0;   // live bytes at the end minus at the start
};

struct PassCost {
  Seconds time;           // end to end, streams overlapped as the program orders them
  CostVector parts{};     // sums to `time`
  Seconds streams;        // end of its streams, host time left out
  MemoryDelta memory;
  SourceClass source = SourceClass::measured;  // worst source class of its ops
};

struct LayerCosts {
  PassCost forward, backward;
  PassCost input, weight;  // the parts of a backward pass that is split, else nothing
  Flops flops;                               // executed by both passes, recompute included
};

// Where the ranks of each group lie: one tier index and size per Group.
struct GroupPlace {
  int size = 1;
  std::size_t tier = 0;      // the slowest tier it crosses
  int inside = 1;            // members within one domain of the tier below
};
struct ClusterView {
  const ClusterSpec* cluster = nullptr;
  std::array<GroupPlace, kGroups> groups{};  // by Group
  int ranks = 1;                        // of the job (localhost shares cores)
  Dispatcher dispatcher =
      Dispatcher::alltoall;  // deepep and hybridep send one copy per destination
  int dispatcher_sms = 0;                        // 0: the profile's
  CudaGraph cuda_graph = CudaGraph::none;        // ops inside a graph cost no host time
  Precision precision = Precision::bf16;         // tells fp8 scaling recipes apart
};
[[nodiscard]] ClusterView view_cluster(const ClusterSpec&, const Plan&);

struct OpCost {
  Seconds time;  // send and recv: of the transfer
  CostClass cls = CostClass::memory_bound;
  Flops flops;
  Bytes bytes;  // read and written, or on the wire
  SourceClass source = SourceClass::datasheet;
};
[[nodiscard]] OpCost price_op(const Op&, const std::vector<Tensor>& tensors, const Binding&,
                              const ClusterView&, const Profile&);

struct TimedLayer;  // priced_ops.hpp: a layer and what its ops take

// Both passes of a layer. Send and recv take no time on a stream: the transfer is an edge of the
// pipeline (estimate.hpp).
[[nodiscard]] LayerCosts price(const TimedLayer&, const Binding& capacity, const ClusterView&,
                               const Profile&);
[[nodiscard]] LayerCosts price(const LayerProgram&, const Binding& expected,
                               const Binding& capacity, const ClusterView&, const Profile&);

// Forward of one layer paired with the backward of another on two streams, in the order of the pair
// pass (core/program/passes/pair.hpp): the duration of both together. `alone`: PassCost::streams of
// the two passes, where they are known.
[[nodiscard]] PassCost price_pair(const TimedLayer& forward, const TimedLayer& backward,
                                  const PairRows&, const ClusterView&, const Profile&,
                                  bool delay_wgrad, std::optional<Seconds> alone = {});
[[nodiscard]] PassCost price_pair(const LayerProgram& forward, const LayerProgram& backward,
                                  const PairRows&, const ClusterView&, const Profile&,
                                  bool delay_wgrad = false);

// Cost of a stage's chunks: each distinct layer priced once, then added up along the chunk.

struct StageCosts {
  std::vector<PassCost> forward, backward;    // by chunk
  std::vector<PassCost> input, weight;        // by chunk, where backward passes are split
  std::vector<PassCost> pairs;                // those that differ; or empty
  std::vector<std::int32_t> pair_of;  // [forward chunk * chunks + backward chunk]: index into pairs
  [[nodiscard]] const PassCost& pass(Pass p, ChunkId c) const {
    return (p == Pass::forward ? forward : backward)[c.index()];
  }
  [[nodiscard]] const PassCost& of(const Slot& slot) const {
    if (slot.part == SlotPart::whole) return pass(slot.pass, slot.chunk);
    return (slot.part == SlotPart::input_gradients ? input : weight)[slot.chunk.index()];
  }
  [[nodiscard]] const PassCost& pair(ChunkId f, ChunkId b) const {
    return pair(f.index() * forward.size() + b.index());
  }
  [[nodiscard]] const PassCost& pair(std::size_t i) const {  // as in pair_of
    return pairs[static_cast<std::size_t>(pair_of[i])];
  }
  // visit(cost) in the order of SlotWork; `paired`: with the pairs.
  template <class Visit>
  void for_each(bool paired, const Visit& visit) const {
    for (const auto* passes : {&forward, &backward, &input, &weight}) {
      for (const PassCost& cost : *passes) visit(cost);
    }
    for (std::size_t i = 0; paired && i < pair_of.size(); ++i) visit(pair(i));
  }
};

// Price of a forward layer beside a backward one, both indices into StageProgram::layers.
// What it refers to stays.
using PairSource = std::function<const PassCost&(std::size_t forward, std::size_t backward)>;

// Adds layers up along the chunks. With `pair` also pairs of chunks, the i-th decoder layer from
// the front of one with the i-th from the back of the other; what has no partner runs alone.
// `layers`: by StageProgram::layers.
[[nodiscard]] StageCosts sum_stage(const StageProgram&, std::span<const LayerCosts* const> layers,
                                   const PairSource& pair = {});

// Total of one cost followed by another.
void append(PassCost& total, const PassCost& next);

// Live bytes along one pass of a layer, from its lifetimes.

// Bytes born before and freed after each op of a pass. The layer's output and grad_input are born
// here and freed by the neighbour; its input and grad_output the other way round.
struct OpBytes {
  std::vector<std::int64_t> born, freed;
  // A paged stash: what copies to it after the forward pass add, or those back before the backward
  // one, and their highest point.
  MemoryDelta copies;
};
[[nodiscard]] OpBytes op_bytes(const LayerProgram&, Pass, const Binding&);

// The trajectory when ops run in the order of `steps`.
[[nodiscard]] MemoryDelta memory_along(std::span<const PairStep> steps, const OpBytes& forward,
                                       const OpBytes& backward);

// What happens after `first` starts where it ended.
[[nodiscard]] MemoryDelta then(const MemoryDelta& first, const MemoryDelta& second);

}  // namespace pleat
