// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/request/routing_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"
#include "core/spec/expert_load.hpp"
#include "interop/expert_load_file.hpp"

namespace pleat {
namespace {

constexpr const char* kWords =
    "balanced, natural, aux-loss, aux-loss-free, untrained, or a file of loads by layer and expert";

void forget_routing(WorkloadSpec& w, Routing routing) {
  w.routing = routing;
  w.imbalance = 1;
  w.expert_spread = 0;
  w.expert_loads.clear();
}

// Of a word; the model's own where it is `natural`.
const RouterTraining* training_of(const std::string& word, const MoeSpec& moe) {
  const double own = natural_spread(moe);
  const auto found = std::ranges::find_if(kRouterTrainings, [&](const RouterTraining& r) {
    return word == "natural" ? r.spread == own : word == r.word;
  });
  return found == kRouterTrainings.end() ? nullptr : &*found;
}

void refuse_routing(const char* flag, const std::string& message, const std::string& hint) {
  throw_config_error(ExitCode::bad_request, flag, "", message, hint);
}

}  // namespace

void put_routing(const RoutingOptions& o, const ModelSpec& model, WorkloadSpec& w,
                 std::vector<std::string>& assumed) {
  if (o.routing.empty() && !o.imbalance) return;
  if (!model.moe) {
    refuse_routing(o.routing.empty() ? "--imbalance" : "--routing",
                   "is without effect: the model has no experts", "leave it out");
  }
  const bool balanced = o.routing == "balanced", natural = o.routing == "natural";
  if (o.imbalance && !o.routing.empty() && !natural) {
    refuse_routing("--imbalance", fmt::format("says something else than --routing {}", o.routing),
                   "one of the two, or --routing natural");
  }
  forget_routing(w, balanced ? Routing::forced : Routing::natural);
  if (balanced) return;
  if (o.imbalance) {
    w.imbalance = *o.imbalance;
    return;
  }
  if (const RouterTraining* router = training_of(o.routing, *model.moe)) {
    w.expert_spread = router->spread;
    if (natural) assumed.push_back(fmt::format("--routing {}", router->word));
    return;
  }
  std::error_code unused;
  if (!std::filesystem::exists(o.routing, unused)) {
    refuse_routing("--routing", fmt::format("\"{}\" is neither a word nor a file", o.routing),
                   kWords);
  }
  w.expert_loads = interop::parse_expert_loads(read_text_file(o.routing), o.routing, model);
}

}  // namespace pleat
