// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/options/search_options.hpp"

#include <CLI/CLI.hpp>

#include "application/request/plan_values.hpp"
#include "cli/option_checks.hpp"
#include "cli/option_choices.hpp"
#include "cli/pin_options.hpp"

namespace pleat::cli {

void add_search_pins(CLI::App& command, SearchOptions& o) {
  add_pin_options(command, o.pins);
  const auto word = [&](const char* name, std::optional<std::string>& value, const char* what) {
    command.add_option(name, value, std::string("Only this one of ") + what)
        ->check(offers({"on", "off"}))
        ->group("Pins");
  };
  word("--hybrid-sharding", o.hybrid_sharding,
       "on and off: shards within the innermost network domain, each domain with a set of them");
  const auto share = [&](const char* name, double& value, const char* what) {
    command.add_option(name, value, what)->check(in_range(0.0, 1e6))->group("Pins");
  };
  share(
      "--paged-stash", o.paged_stash,
      "All plans with a paged stash of what experts save, of so many times the balanced mean, for "
      "example 1.1 (default: none)");
  share("--stash-capacity", o.stash_capacity,
        "With --paged-stash: rows a rank's experts compute with, over the balanced mean");
  command
      .add_option(
          "--optimizer-offload", o.optimizer_offload,
          "on, off or any: the optimizer's state in host memory between steps (default: off; of "
          "Megatron-LM its dev branch does that)")
      ->check(offers({"on", "off", "any"}))
      ->group("Pins");
  word("--cpu-optimizer", o.cpu_optimizer,
       "on and off: the state stays in host memory and the CPU makes the step");
  word("--by-stage", o.by_stage,
       "on and off: pipeline stages choose for themselves what they recompute and offload "
       "(default: on for pleat; Megatron has one choice for all)");
  const auto list = [&](const char* name, std::vector<std::string>& values, const std::string& what,
                        const std::vector<std::string>& choices) {
    command.add_option(name, values, "Only these of " + what + ", commas between")
        ->delimiter(',')
        ->check(offers(choices))
        ->group("Pins");
  };
  list("--recompute", o.recompute,
       "the sets none, full, full:4 (layers of each chunk) and modules, moe_act+layernorm",
       recompute_words());
  list("--offload", o.offload, "the sets none and activations, core_attn+attn_proj",
       offload_words());
  command.add_flag("--no-recompute", o.no_recompute, "Keep all activations")->group("Pins");
  command.add_flag("--no-offload", o.no_offload, "Keep them and the optimizer's state on the GPU")
      ->group("Pins");
}

void add_search_limits(CLI::App& command, SearchOptions& o) {
  command
      .add_option("--time-limit", o.time_limit,
                  "Stop after so many seconds with the best so far (0, the default: no limit)")
      ->check(in_range(0.0, 1e9))
      ->group("Limits");
  command
      .add_option("--max-evaluations", o.max_evaluations,
                  "Stop after so many estimates with the best so far (0, the default: no limit)")
      ->check(in_range(std::int64_t{0}, std::int64_t{1} << 40))
      ->group("Limits");
  command
      .add_option(
          "--neighbours", o.neighbours,
          "Estimates for plans outside of the space, a field or two from those found (0: none)")
      ->capture_default_str()
      ->check(in_range(std::int64_t{0}, std::int64_t{1} << 40))
      ->group("Limits");
  command.add_option("--memory-margin", o.memory_margin, "Share of the GPU's memory kept free")
      ->capture_default_str()
      ->check(in_range(0.0, 0.99))
      ->group("Limits");
  command.add_option("--threads", o.threads, "Threads of the search (default: all cores)")
      ->check(in_range(0, 1024))
      ->group("Limits");
}

}  // namespace pleat::cli
