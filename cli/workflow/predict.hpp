// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One plan priced: the report, and on demand its trace and its plan file.
#pragma once

#include <string>

#include "cli/plan_options.hpp"

namespace pleat::cli {

struct PredictOptions {
  PlanOptions plan;
  std::string trace_file, out_file;  // empty: none
  bool json = false;
};

// `pleat predict`.
void predict(const PredictOptions&);

}  // namespace pleat::cli
