// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The words of a capacity question, checked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "application/capacity/capacity.hpp"
#include "application/plan/numerics_answer.hpp"
#include "application/request/global_batch.hpp"
#include "application/request/routing_words.hpp"

namespace pleat {

// As typed.
struct CapacityOptions {
  std::string model, tokens, deadline, budget;
  std::vector<std::string> clusters;
  std::string gpus;
  std::optional<int> gpu_step;
  std::vector<std::string> price, mtbf, precision;  // "2.5$" or "h100-sxm=2.5$"
  std::string numerics = kNumericsModes.front();
  std::vector<std::string> rates;                   // "restart_minutes=15", "h100-sxm:pue=1.3"
  std::string rates_file;
  std::optional<std::int64_t> seq_len;
  GlobalBatch global_batch;
  RoutingOptions routing;
  std::string batch_rule = "constant", critical_batch;
  std::string confidence = "p90";
  std::string tuning = kTunings[static_cast<std::size_t>(Tuning::typical)].word;
  bool proven = false;
  std::string html_file;                            // the report as a page; empty: none
  bool force = false;                               // that file may be there already
  int threads = 0;
  bool json = false, csv = false;
};

// ConfigError names every wrong option (bad_request) or the wrong fields of a rates file.
[[nodiscard]] CapacityQuestion read_capacity_request(const CapacityOptions&);

}  // namespace pleat
