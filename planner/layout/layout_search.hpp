// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The fastest of all contiguous layouts of a plan whose pipeline ranks hold one chunk each.
//
// The time and memory of a stage depend only on its own layers (stage_rows.hpp), and more layers
// never need less. A layout is a path through the graph whose nodes are cuts between layers and
// whose edges are stages. Only stages that fit and are shorter than the best known step are edges.
// Dynamic programming finds the cuts from which the last cut can be reached; only paths through
// those are timed.
#pragma once

#include <cstdint>

#include "planner/problem.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"
#include "simulator/estimator.hpp"

namespace pleat {

struct FoundLayout {
  Candidate best;      // the given plan, if no layout is better
  bool every = false;  // proven: no layout of the plan that fits is faster at the burst clock
};

// The bytes that a plan may use: of a GPU, and of the host memory of a node (0: unlimited).
struct MemoryLimits {
  std::int64_t usable = 0, host = 0;
  int gpus_per_node = 1;
};
[[nodiscard]] inline MemoryLimits memory_limits(const ClusterSpec& cluster,
                                                const SearchConfig& config) {
  return {.usable = usable_bytes(cluster, config),
          .host = static_cast<std::int64_t>(cluster.host_memory.base()),
          .gpus_per_node = cluster.gpus_per_node};
}

// `from` must be valid and fit. Plans with several chunks a rank are returned unchanged, with
// `every` false. The problem must be the one that the estimator was made for.
[[nodiscard]] FoundLayout best_layout(const Estimator&, const Problem&,
                                      const SearchConfig&, const MemoryLimits&, Candidate from);

}  // namespace pleat
