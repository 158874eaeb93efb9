// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Two plan files side by side.
#pragma once

#include <string>

namespace pleat::cli {

struct DiffOptions {
  std::string first, second, cluster, profile;  // the last two: empty for each plan's own
  bool json = false;
};

// `pleat diff`: prints the fields that differ, then both predictions by part.
void diff_plans(const DiffOptions&);

}  // namespace pleat::cli
