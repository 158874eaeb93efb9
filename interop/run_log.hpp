// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The log of a training run, whoever wrote it: Megatron-LM's text, the lines of `pleat train`, or
// its --log-json. What `pleat watch` looks at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "interop/flag_table.hpp"

namespace pleat::interop {

struct RunStep {
  std::int64_t number = 0;
  double seconds = 0;
  std::optional<double> loss;  // none: not said; it may be NaN
};

// A timer that ranks keep (Megatron-LM's --timing-log-level), as the log has it last.
struct RunTimer {
  std::string name;            // "forward-backward"
  double least = 0, most = 0;  // seconds, over the ranks
};

struct RunLog {
  std::string writer;              // "Megatron-LM", "pleat train"
  std::vector<RunStep> steps;      // by number, each once
  std::int64_t planned_steps = 0;  // 0: not said
  Arguments arguments;             // of Megatron-LM; may be empty
  std::vector<RunTimer> timers;
};

// An unfinished last line is left out. A step that stands there twice, because a run went on from
// a checkpoint, counts as it was last; one that several ranks print counts once. A log without a
// step is no error: the run may not have come so far.
[[nodiscard]] RunLog read_run_log(const std::string& text);

}  // namespace pleat::interop
