// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a booking costs.
#include "planner/capacity/rates.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace pleat::fuzz {

const Form kForm = Form::json;

void run(std::string_view input) {
  const RateFile file = read_rates(std::string(input), "rates.json");
  for (const auto& [cluster, rates] : file.clusters) (void)rates_of({file}, cluster);
}

}  // namespace pleat::fuzz
