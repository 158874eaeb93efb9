// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Options of a request that contradict one another, or say something that nothing asks for.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "application/request/ineffective_options.hpp"
#include "application/request/plan_values.hpp"
#include "core/diagnostics.hpp"
#include "core/plan/dispatcher_traits.hpp"

namespace pleat {
namespace {

void refuse(Diagnostics& problems, const std::string& option, const std::string& message,
            const std::string& hint) {
  problems.error(ExitCode::bad_request, "", option, message, hint);
}

bool gives_up(const std::vector<std::string>& sets) {
  return std::ranges::any_of(sets, [](const std::string& set) { return set != "none"; });
}

void check_memory(const SearchOptions& o, Diagnostics& problems) {
  const auto& layers = o.pins.of<"recompute-layers">();
  const auto& unit = o.pins.of<"recompute-unit">();
  const auto against = [&](const char* option, const char* other) {
    refuse(problems, option, fmt::format("has no effect where {} keeps it on the GPU", other),
           fmt::format("{} or {}, not both", option, other));
  };
  if (o.no_offload) {
    if (o.optimizer_offload == "on") against("--optimizer-offload", "--no-offload");
    if (o.cpu_optimizer == "on") against("--cpu-optimizer", "--no-offload");
    if (gives_up(o.offload)) against("--offload", "--no-offload");
    const auto some = [](int n) { return n > 0; };
    if (std::ranges::any_of(o.pins.of<"offload-layers">(), some)) {
      against("--offload-layers", "--no-offload");
    }
  }
  if (o.no_recompute) {
    if (gives_up(o.recompute)) against("--recompute", "--no-recompute");
    if (!layers.empty()) against("--recompute-layers", "--no-recompute");
    if (!unit.empty()) against("--recompute-unit", "--no-recompute");
  }
  const auto is_full = [](const std::string& set) { return set == "full"; };
  if (!o.recompute.empty() && std::ranges::none_of(o.recompute, is_full)) {
    for (const auto& [option, numbers] :
         {std::pair{"--recompute-layers", &layers}, std::pair{"--recompute-unit", &unit}}) {
      if (!numbers->empty()) {
        refuse(problems, option, "has no effect: --recompute has no full", "--recompute full");
      }
    }
  }
}

void check_exchanges(const SearchOptions& o, Diagnostics& problems) {
  const auto& comms = o.pins.of<"cp-comm">();
  const auto& dispatchers = o.pins.of<"dispatcher">();
  const bool groups =
      comms.empty() || std::ranges::find(comms, std::string("a2a+p2p")) != comms.end();
  if (!o.pins.of<"cp-a2a">().empty() && !groups) {
    refuse(problems, "--cp-a2a", "has no effect: --cp-comm has no a2a+p2p", "--cp-comm a2a+p2p");
  }
  const bool sms =
      dispatchers.empty() || std::ranges::any_of(dispatchers, [](const std::string& word) {
        return is_fused(parse_dispatcher(word, "--dispatcher"));
      });
  if (!o.pins.of<"dispatcher-sms">().empty() && !sms) {
    refuse(problems, "--dispatcher-sms",
           fmt::format("has no effect with --dispatcher {}", fmt::join(dispatchers, ",")),
           "--dispatcher deepep or hybridep");
  }
}

}  // namespace

void refuse_ineffective_search_options(const FindPlanOptions& o,
                                       const std::function<bool(const std::string&)>& is_given) {
  Diagnostics problems;
  check_memory(o.search, problems);
  check_exchanges(o.search, problems);
  const std::string& objective = o.objective.objective;
  const bool sizes = objective == "time-to-train" || objective == "cost";
  if (is_given("--min-gpus") && !sizes) {
    refuse(problems, "--min-gpus", fmt::format("has no effect with --objective {}", objective),
           "--objective time-to-train or cost");
  }
  if (is_given("--slack") && objective != "memory-headroom" && !o.objective.pareto) {
    refuse(problems, "--slack", fmt::format("has no effect with --objective {}", objective),
           "--objective memory-headroom or --pareto");
  }
  problems.throw_if_errors();
}

}  // namespace pleat
