// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What would make a plan fit when none does: by how much the closest plan misses, and small changes
// of the request under which a plan fits, each found by another search.
#pragma once

#include <string>
#include <vector>

#include "planner/problem.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"

namespace pleat {

struct FittingChange {
  std::string change;   // "16 GPUs instead of 8"
  Candidate candidate;  // the best one that a short search finds under it
};

// At most `count` changes. First those that only cost time: allow recompute, allow host memory or
// the step on the CPU, drop a pin, shard with ZeRO-1. Then gradients and moments in bf16, shorter
// sequences (down to 1/64), more GPUs (up to 1024 times as many, within the cluster), half of those
// with shorter sequences, and twice those. The config's limits hold for all searches together.
[[nodiscard]] std::vector<FittingChange> changes_that_fit(const Problem&,
                                                          const SearchConfig&,
                                                          std::size_t count = 3);

// As text: the closest plan's memory by component, the missing GiB and the changes. `all_tried`:
// the search for changes was not interrupted.
[[nodiscard]] std::string print_what_would_fit(const SearchResult&, const ClusterSpec&,
                                          const SearchConfig&, const std::vector<FittingChange>&,
                                          bool all_tried = true);

}  // namespace pleat
