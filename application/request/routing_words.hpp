// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What is known of the router: --routing and --imbalance.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/spec/model.hpp"
#include "core/spec/workload.hpp"

namespace pleat {

struct RoutingOptions {
  std::string routing;  // a word, or a file of loads; empty: not given
  std::optional<double> imbalance;
};

// What the options say, in place of what the workload says; nothing where none is given. `assumed`
// gets what a word stands for on this model. ConfigError for options that contradict each other and
// for a wrong file.
void put_routing(const RoutingOptions&, const ModelSpec&, WorkloadSpec&,
                 std::vector<std::string>& assumed);

}  // namespace pleat
