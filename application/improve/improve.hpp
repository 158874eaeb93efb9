// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A job as it is, and the few flags or keys to change: from its script (Megatron-LM) or its
// configuration (torchtitan, DeepSpeed, NeMo, Megatron-Bridge), what each change would gain, what
// it needs and what it risks, beside what a search finds in the time that is left.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "application/exchange/bridge_recipe.hpp"
#include "application/exchange/megatron_job.hpp"
#include "application/improve/flag_changes.hpp"
#include "application/target.hpp"
#include "core/json/json_value.hpp"
#include "planner/search_config.hpp"
#include "simulator/estimate.hpp"

namespace pleat {

struct ImproveOptions {
  JobFiles job;                         // scripts and YAML, or one configuration or plan file
  std::optional<std::int64_t> seq_len;  // of DeepSpeed's files, which do not say it
  std::string cluster, profile, log;
  RecipeOptions recipe;   // of Megatron-Bridge in Python
  double seconds = 10;    // for all of it
  int changes = 6;        // at most, one after the other
  bool numerics = false;  // also other number formats
  int threads = 0;
};

// The plan after one more change.
struct Improvement {
  std::string what;  // "micro-batch 1 -> 2"
  Plan plan;
  StepEstimate estimate;
  double gain = 0;  // of the step before it, 0.1: 10%
  std::int64_t more_bytes = 0;
  std::vector<std::string> risks;
  std::vector<FlagChange> flags;  // against the plan before it
};

struct ImprovedJob {
  Target target;
  Plan plan;  // as it is
  StepEstimate estimate;
  std::vector<std::string> notes;
  std::string framework = "Megatron-LM";
  interop::Target words = interop::Target::megatron;  // whose flags the changes are
  std::string refusal;             // why the framework does not run it as it is; empty: it does
  std::optional<double> measured;  // seconds of a step, the median of the log
  std::vector<Improvement> steps;
  std::vector<FlagChange> flags;    // of all steps together
  std::optional<Improvement> best;  // what a search found, if it is faster than all steps
  bool searched_all = false;        // the search was finished
  double seconds = 0;
  std::string patch;                   // unified diff of the file, empty where there is none
  std::vector<std::string> unpatched;  // flags that the patched file would still lack
};

// `early`: called when the steps are known, before the search; `show`: between rounds of the
// search. ConfigError: a job that cannot be read or predicted, a log of another run (verification).
[[nodiscard]] ImprovedJob improve_job(const ImproveOptions&,
                                      const std::function<void(const ImprovedJob&)>& early,
                                      const std::function<void(const SearchProgress&)>& show = {});

[[nodiscard]] std::string improve_text(const ImprovedJob&, std::size_t columns);
[[nodiscard]] std::string search_text(const ImprovedJob&, std::size_t columns);
[[nodiscard]] JsonValue improve_json(const ImprovedJob&);

}  // namespace pleat
