// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a trial's log says: its steps, its memory, and why it ended.
#pragma once

#include <cstdint>
#include <string>

#include "core/plan/plan_document.hpp"

namespace pleat {

struct TrialReading {
  int steps = 0;           // finished ones
  double seconds = 0;      // median of those after the first ones; 0: none
  double fastest = 0;      // of the same steps
  std::int64_t bytes = 0;  // largest peak of a rank; 0: not said
  bool out_of_memory = false;
  std::string last_words;  // the line that says best why it ended; may be empty
};

// So many steps are not counted: allocation, autotuning, the first graphs.
[[nodiscard]] int trial_warmup(int steps);

// The log of Megatron-LM or `pleat train` as it is now; a file that is not there is an empty log.
// ConfigError (verification) for the log of another plan than the document's, which stands in
// `plan_file`.
[[nodiscard]] TrialReading read_trial_log(const std::string& log_file, const PlanDocument&,
                                          const std::string& plan_file);

}  // namespace pleat
