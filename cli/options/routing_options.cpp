// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/options/routing_options.hpp"

#include "cli/option_checks.hpp"
#include "cli/option_choices.hpp"

namespace pleat::cli {

void add_routing_options(CLI::App& app, RoutingOptions& o, const char* group) {
  app.add_option(
         "--routing", o.routing,
         "How tokens spread over experts: balanced; natural, as the model's router is trained, or "
         "aux-loss, aux-loss-free, untrained; or a file of loads by layer and expert, for "
         "example a log of `pleat train --log-json` (default: balanced)")
      ->check(offers({"balanced", "natural", "aux-loss", "aux-loss-free", "untrained"}))
      ->group(group);
  app.add_option(
         "--imbalance", o.imbalance,
         "Tokens of the busiest rank of an expert-parallel group over the mean, for example 1.3")
      ->check(in_range(1.0, 1e6))
      ->group(group);
}

}  // namespace pleat::cli
