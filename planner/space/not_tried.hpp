// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a search leaves out, and why.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/spec/cluster.hpp"
#include "core/spec/model.hpp"
#include "planner/problem.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"

namespace pleat {

// What a search leaves out unless it is asked for, and why.
[[nodiscard]] std::vector<NotTried> not_tried(const ModelSpec&, const ClusterSpec&,
                                              const SearchConfig&);

// A field of a plan that has the largest value which the search tries, where larger ones are
// possible. Of these only changes of the best plans were tried.
struct AtEdge {
  const char* field;  // "micro_batch"
  std::int64_t value = 0, next = 0;
  std::string text;
};
[[nodiscard]] std::vector<AtEdge> at_edges(const Plan&, const Problem&, const SearchConfig&);

}  // namespace pleat
