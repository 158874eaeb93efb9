// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// One plan priced: the report, and on demand its explanation, its trace, its page and its plan
// file.
#pragma once

#include <string>

#include "cli/plan_options.hpp"

namespace pleat::cli {

struct PredictOptions {
  PlanOptions plan;
  std::string trace_file, memory_file, html_file, out_file;  // empty: none
  std::string tokens;                                        // to train on, "15T"; empty: not said
  bool force = false;                                        // these files may be there already
  int trace_microbatches = 32;                               // with operations; slots are all there
  int threads = 0;                                           // of the changes that are priced
  bool explain = false, json = false;
};

// `pleat predict`.
void predict(const PredictOptions&);

}  // namespace pleat::cli
