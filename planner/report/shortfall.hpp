// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What to do when nothing fits: by how much the closest plan misses, and the smallest changes of
// the request under which a plan fits, each found by searching again.
#pragma once

#include <string>
#include <vector>

#include "planner/search/search.hpp"

namespace pleat {

struct FittingChange {
  std::string change;   // "16 GPUs instead of 8"
  Candidate candidate;  // the best one that a short search finds under it
};

// At most `count` changes: first what costs time only (recompute allowed, a pin dropped, zero1),
// then gradients and moments in bf16, shorter sequences (down to 1/64), more GPUs (powers of two up to
// 1024 times, within the cluster), half of those with shorter sequences, and twice those. The config's
// limits hold for all together.
[[nodiscard]] std::vector<FittingChange> changes_that_fit(const ModelSpec&, const ClusterSpec&,
                                                          const WorkloadSpec&, const Profile&,
                                                          const SearchConfig&,
                                                          std::size_t count = 3);

// The closest plan with its memory by component, the missing GiB and the changes, as text.
// `all_tried`: nothing stopped the search for changes.
[[nodiscard]] std::string print_shortfall(const SearchResult&, const ClusterSpec&,
                                          const SearchConfig&, const std::vector<FittingChange>&,
                                          bool all_tried = true);

}  // namespace pleat
