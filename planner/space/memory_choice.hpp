// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How a plan can save GPU memory at the cost of time: recompute activations, or keep activations or
// optimizer state in host memory.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "core/spec/cluster.hpp"
#include "core/spec/model.hpp"
#include "planner/search_config.hpp"

namespace pleat {

// Where the optimizer state lies between steps, and who makes the step.
enum class StatePlace : std::uint8_t {
  device,       // on the GPU
  host,         // in host memory; copied to the GPU for the step (state_offload)
  host_stepped  // in host memory; the CPU makes the step while gradients and weights travel
                // (cpu_offload)
};

inline constexpr std::size_t kStatePlaces = 3;
// `share`: of the state that is not on the GPU.
void put_state(StatePlace, double share, Plan&);

// Whether a search lets each pipeline stage choose its own recompute and offload. Megatron has one
// choice for all stages.
[[nodiscard]] bool by_stage(const SearchConfig&);

// The recompute choices of a model: every set of the modules that it has, smaller ones first, and
// whole layers. What stands for the same set (moe contains moe_act) is there once.
[[nodiscard]] std::vector<RecomputeChoice> recompute_choices(const ModelSpec&, bool allowed);

// A set in one word.
[[nodiscard]] inline std::uint32_t bits_of(const std::set<Offload>& modules) {
  std::uint32_t bits = 0;
  for (const Offload o : modules) bits |= 1U << static_cast<unsigned>(o);
  return bits;
}

// Tried only where the same mesh and setting do not fit with less.
struct MemoryChoice {
  RecomputeChoice recompute;
  std::set<Offload> offload;
  int offload_layers = 0;  // whole layers' activations in host memory
  StatePlace state = StatePlace::device;
  double share = 1;  // of the state that is there; the rest is on the GPU
  // Each stage takes one of the other choices with this `state` (stage_choice.hpp). As a plan by
  // itself it saves nothing.
  bool by_stage = false;
  // Left out by pins, so not a plan of the space; kept because it bounds the choices that save
  // more.
  bool only_bounds = false;
  void put_into(Plan&) const;
  // Whether it keeps all of the activations, on the GPU, for all stages alike.
  [[nodiscard]] bool keeps_activations() const;
  // Whether it is no plan of its own: only a bound, or the same as another choice for a pipeline of
  // `stages` stages whose chunks have at most `most_layers` layers.
  [[nodiscard]] bool repeats_another(int most_layers, int stages) const;
  bool operator==(const MemoryChoice&) const = default;
};

// Sets of modules to offload that the rules allow with this model, smaller ones first.
[[nodiscard]] std::vector<std::set<Offload>> offload_sets(const ModelSpec&);

// The set to take in place of this one beside this recompute: it sends as much, and no tensor
// later. A layer's two norms read tensors of one size, the first norm sooner. What norms make is
// not there to be sent where they run again: in most layers the first product reads nothing else.
[[nodiscard]] std::set<Offload> sent_first(std::set<Offload>, const RecomputeChoice&,
                                           const ModelSpec&);

// All choices of a search, as pinned. The first one saves nothing and is always there. Then: sets
// of modules to recompute, to offload (without those that `sent_first` replaces, unless they are
// pinned), or both; whole layers to recompute (the first 1, 2, 4 … of each chunk, or all in units
// of 1, 2 or 4); whole layers to offload (1, 2, 4 …); each of these with the optimizer state in
// every place that the runtime has; and the choices by stage.
[[nodiscard]] std::vector<MemoryChoice> memory_choices(const ModelSpec&, const ClusterSpec&,
                                                       const SearchConfig&);

}  // namespace pleat
