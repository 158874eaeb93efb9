// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How many of which GPUs to book: the best plan of every cluster and size, and what it takes.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pleat::cli {

// As typed; cli/workflow/capacity_request.hpp checks it.
struct CapacityOptions {
  std::string model, tokens, deadline, budget;
  std::vector<std::string> clusters;
  std::string gpus;
  std::optional<int> gpu_step;
  std::vector<std::string> price, mtbf, precision;  // "2.5$" or "h100-sxm=2.5$"
  std::vector<std::string> rates;                   // "restart_minutes=15", "h100-sxm:pue=1.3"
  std::string rates_file;
  std::optional<std::int64_t> seq_len, global_batch;
  std::string batch_rule = "constant", critical_batch;
  std::string confidence = "p90";
  std::string html_file;                            // the report as a page; empty: none
  bool force = false;                               // that file may be there already
  int threads = 0;
  bool json = false, csv = false;
};

// `pleat capacity`. Nothing meets the goals: ConfigError (nothing_fits), after the table, with what
// misses and what would do. Ctrl-C: what is done is printed, with the best plans so far, exit code
// 130; SIGTERM likewise, 75.
void capacity(const CapacityOptions&);

}  // namespace pleat::cli
