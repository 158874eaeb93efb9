// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "planner/search_result.hpp"

namespace pleat {

void keep_first(std::size_t most, SearchResult& result) {
  if (result.best.size() <= most) return;
  result.rejected["slower"] += static_cast<std::int64_t>(result.best.size() - most);
  result.best.resize(most);
  if (result.best_of_layouts.size() > most) result.best_of_layouts.resize(most);
}

}  // namespace pleat
