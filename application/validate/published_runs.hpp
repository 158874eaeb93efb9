// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Published runs predicted and compared, as they were asked for.
#pragma once

#include <string>
#include <vector>

#include "validation/comparison.hpp"

namespace pleat {

struct ValidateQuestion {
  std::vector<std::string> rows;      // files; empty: the shipped ones
  std::vector<std::string> tiers;     // only these; empty: all
  std::vector<std::string> profiles;  // files to use in place of the shipped profiles
  std::string profile_folder;         // every .json in it, likewise
  bool recipes = false;               // rows of tier A against the best of a search
  std::string know = "all";           // or tables, datasheet
  int threads = 0;                    // 0: all cores
};

// What predictions know of clusters. ConfigError for a folder that is none and for wrong profiles.
[[nodiscard]] RunCatalog run_catalog(const ValidateQuestion&);
// ConfigError for wrong rows and for tiers that none has.
[[nodiscard]] std::vector<ComparedRun> compare_published_runs(const ValidateQuestion&, RunCatalog&);
[[nodiscard]] Summary summarise_published_runs(const ValidateQuestion&,
                                               const std::vector<ComparedRun>&, RunCatalog&);

}  // namespace pleat
