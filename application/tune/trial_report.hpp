// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The trials of a tuning as text and JSON: predicted against measured, and the winner.
#pragma once

#include <string>
#include <vector>

#include "application/tune/trial.hpp"
#include "core/json/json_value.hpp"

namespace pleat {

struct TrialsReport {
  std::vector<Trial> trials;  // all of them over, by number
  std::string why_over;       // "no other plan is expected to gain 0.5%"
  std::string trials_file;
  int winner = 0;  // its number; 0: none was measured
  std::string winner_file{}, command{}, learn_command{};
};

// "trial 3: 1.42 s a step, expected 1.38 s (+2.9 %)", or what became of it instead.
[[nodiscard]] std::string result_line(const Trial&);
[[nodiscard]] std::string trials_text(const TrialsReport&);
[[nodiscard]] JsonValue trials_json(const TrialsReport&);

// For --dry-run: trials that are known, and those that would run.
[[nodiscard]] std::string planned_text(const std::vector<Trial>& known,
                                       const std::vector<Trial>& would);
[[nodiscard]] JsonValue planned_json(const std::vector<Trial>& known,
                                     const std::vector<Trial>& would);

}  // namespace pleat
