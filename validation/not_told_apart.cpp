// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "validation/not_told_apart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace pleat {

std::vector<std::vector<std::size_t>> not_told_apart(const std::vector<ComparedRun>& rows) {
  std::map<std::string, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ComparedRun& row = rows[i];
    if (!row.prediction || !row.step) continue;
    const MeasuredRun& r = row.run;
    alike[fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", r.era, r.cluster, r.model_name, r.gpus, r.seq_len,
                      r.global_batch, summary(row.prediction->plan),
                      row.prediction->estimate.step.base())]
        .push_back(i);
  }
  std::vector<std::vector<std::size_t>> sets;
  for (auto& [key, set] : alike) {
    const auto differs = [&](std::size_t i) {
      return rows[i].run.settings != rows[set.front()].run.settings;
    };
    if (std::ranges::any_of(set, differs)) sets.push_back(std::move(set));
  }
  std::ranges::sort(sets, {}, [](const auto& set) { return set.front(); });
  return sets;
}

}  // namespace pleat
