// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The best plans of jobs that may leave GPUs unused.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/search/search.hpp"

namespace pleat {

struct SizeResult {
  int gpus = 1;
  SearchResult result;  // empty with a problem
  std::string problem;  // why there is no plan
};

// `gpus`, half of it, a quarter … down to `smallest`, and after each of them that does not divide the
// batch the next smaller number of whole nodes whose odd factors do: 120 after 128 for a batch of 480.
[[nodiscard]] std::vector<int> sizes_down(int gpus, int smallest, std::int64_t batch,
                                          int gpus_per_node);

// One search for each of sizes_down(config.gpus, …).
// Limits hold for all together: sizes behind one that a limit ended are "not reached", with no bound.
// ConfigError as search for the first size.
[[nodiscard]] std::vector<SizeResult> search_sizes(const ModelSpec&, const ClusterSpec&,
                                                   const WorkloadSpec&, const Profile&,
                                                   SearchConfig, int smallest);

// The next smaller size that suits the batch (sizes_down), where config.gpus does not divide it and the
// best plan there has a smaller value (value_of) than `value`: the search is for such plans alone.
[[nodiscard]] std::optional<SizeResult> faster_on_fewer(const ModelSpec&, const ClusterSpec&,
                                                        const WorkloadSpec&, const Profile&,
                                                        SearchConfig, Seconds value);

// The certificate of `best`, the result of the size with so many GPUs, over all sizes. The bound of GPU
// time is the step that these GPUs would have to have.
void certify_sizes(const std::vector<SizeResult>&, Objective, int gpus, SearchResult& best);

// GPU-seconds of a step.
[[nodiscard]] double gpu_seconds(const SizeResult&, bool robust);

// The size with the shortest step, or with the fewest GPU-seconds; nothing if no size has a plan. Of equal
// ones the smaller.
[[nodiscard]] const SizeResult* fastest_size(const std::vector<SizeResult>&, bool robust);
[[nodiscard]] const SizeResult* cheapest_size(const std::vector<SizeResult>&, bool robust);

}  // namespace pleat
