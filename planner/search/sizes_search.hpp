// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Searches over the number of GPUs, for jobs that may leave some unused.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/problem.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"

namespace pleat {

struct SizeResult {
  int gpus = 1;
  SearchResult result;  // without plans if there is a problem
  std::string problem;  // why there is no plan
};

// The sizes to try: `gpus`, half of it, a quarter … down to `smallest`. After a size that does not
// divide the batch comes the next smaller number of whole nodes that suits it (its odd factors
// divide the batch): 120 after 128 for a batch of 480.
[[nodiscard]] std::vector<int> sizes_down(int gpus, int smallest, std::int64_t batch,
                                          int gpus_per_node);

// One search for each of sizes_down(config.gpus, …). The limits hold for all of them together: once
// one is passed, the sizes after it are "not reached", without a bound. Throws as `search` for the
// first size.
[[nodiscard]] std::vector<SizeResult> search_sizes(const Problem&,
                                                   SearchConfig, int smallest);

// Where config.gpus does not divide the batch: the next smaller size that suits it (sizes_down), if
// the best plan there has a smaller value (value_of) than `value`. Looks for such plans only.
[[nodiscard]] std::optional<SizeResult> faster_on_fewer(const Problem&,
                                                        SearchConfig, Seconds value);

// Extends the certificate of `best`, the result for `gpus` GPUs, to all sizes. With
// Objective::gpu_time the bound is given as the step that `gpus` GPUs would need for that GPU time.
void certify_sizes(const std::vector<SizeResult>&, Objective, int gpus, SearchResult& best);

// GPU-seconds of a step.
[[nodiscard]] double gpu_seconds(const SizeResult&, bool robust);

// The size with the smallest step value, or with the fewest GPU-seconds; of equal ones the smaller
// size. Null if no size has a plan.
[[nodiscard]] const SizeResult* fastest_size(const std::vector<SizeResult>&, bool robust);
[[nodiscard]] const SizeResult* cheapest_size(const std::vector<SizeResult>&, bool robust);

}  // namespace pleat
