// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a search leaves out, and why.
#pragma once

#include <vector>

#include "core/spec/cluster.hpp"
#include "core/spec/model.hpp"
#include "planner/search_config.hpp"
#include "planner/search_result.hpp"

namespace pleat {

// What a search leaves out unless it is asked for, and why.
[[nodiscard]] std::vector<NotTried> not_tried(const ModelSpec&, const ClusterSpec&,
                                              const SearchConfig&);

}  // namespace pleat
