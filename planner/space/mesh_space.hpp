// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The meshes that a search considers. Each field has finitely many values:
//   TP, CP, PP       divisors; TP at most the GPUs of the innermost network domain
//   VPP              chunk_counts (mesh_sizes.hpp)
//   EP               divisors of the number of experts
//   ETP              divisors of TP, or of the stage's GPUs where there are few experts
//   placement        of experts, and copies of busy ones: placement_choices.hpp
//   microbatch       sizes that divide the batch, up to the caps below
//   layout           those of layout_choices
//   schedule         those that the runtime has (schedules_of)
//   group            of interleaved schedules: PP, 2 PP or 4 PP microbatches, where these are full
// Pinned values are taken as they are. The named constraints decide which meshes are valid.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/plan/constraints.hpp"
#include "planner/problem.hpp"
#include "planner/search_config.hpp"

namespace pleat {

struct Mesh {
  AttentionMapping attention;
  ExpertMapping expert;
  int vpp = 1, micro_batch = 1;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int group = 0;   // Plan::microbatch_group
  int layout = 0;  // index into MeshSpace::layouts
};

// The caps of the space, where it is not pinned. Beyond these a search takes longer, and better
// plans are not expected: products of so many rows have their full speed.
inline constexpr std::int64_t kMicroBatch = 8;            // sequences, or more if they have fewer
inline constexpr std::int64_t kMicroBatchTokens = 32768;  // tokens of a context-parallel rank
// The larger of the two, in sequences.
[[nodiscard]] constexpr std::int64_t most_micro_batch(int cp, std::int64_t seq_len) {
  return std::max(kMicroBatch, kMicroBatchTokens * cp / seq_len);
}
inline constexpr std::int64_t kFewExperts = 16;  // up to so many, ETP need not divide TP

// In MeshSpace::example, with no count in `rejected`: what a pin of DP or of layouts leaves out.
constexpr const char* kLeftOut = "pin";

struct MeshSpace {
  std::vector<Mesh> meshes;  // valid ones, in plan order: the order that breaks ties
  std::vector<std::string> layouts;
  std::vector<int> most_layers;  // by layout: decoder layers of the largest virtual stage
  std::int64_t tried = 0;                        // valid or not
  std::map<std::string, std::int64_t> rejected;  // by rule
  std::map<std::string, Violation> example;      // the first violation of each rule
  [[nodiscard]] Plan plan(const Mesh&, const SearchConfig&) const;  // first numerics and mesh
};

// Orders of the pipeline to try: of Megatron 1F1B, which is all that its pipelines run; of Pleat's
// own runtime all. Pinned ones whatever the runtime.
[[nodiscard]] std::vector<PipelineSchedule> schedules_of(const SearchConfig&);

// Layouts for pp * vpp virtual stages: the even one ("" where the layers divide, else written out);
// that of stage_balance.hpp, if its largest stage is smaller; and that of rank_balance.hpp, if its
// busiest rank has fewer FLOPs than with both.
[[nodiscard]] std::vector<std::string> layout_choices(
    const ModelSpec&, std::int64_t seq_len, int pp, int vpp,
    PipelineSchedule = PipelineSchedule::one_f_one_b);

// With the first numerics of the config.
[[nodiscard]] MeshSpace enumerate_meshes(const Problem&,
                                         const SearchConfig&);

// As above; throws ConfigError naming the pin at fault when pins leave nothing, with a rule about
// it if one is broken, or the rule that rejects most when the space is empty without pins.
[[nodiscard]] MeshSpace non_empty_meshes(const Problem&,
                                         const SearchConfig&);

}  // namespace pleat
