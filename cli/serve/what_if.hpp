// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the page of `pleat serve` asks and is answered, as JSON. A question is a list of words as
// they would be typed after `pleat predict` or `pleat plan`: each state of the page is a command.
#pragma once

#include <string>
#include <vector>

#include "application/plan/search_plans.hpp"
#include "core/json/json_value.hpp"

namespace pleat::cli {

using Words = std::vector<std::string>;

// {"models": […], "clusters": […], "options": [{"name", "help", "kind", "words"}]}: what it
// offers; kinds are number, share, words and switch.
[[nodiscard]] JsonValue what_if_choices();

// {"command", "summary", "facts": [{"name", "value"}], "fits", "refusal", "assumed", "step_s",
// "figures": {"memory", "breakdown"}}. ConfigError for wrong words.
[[nodiscard]] JsonValue predicted_what_if(const Words&);

// What takes longer: {"bound", "timeline": figure, "stages", "timeline_note", "changes": [{"text",
// "step", "gain", "more_memory", "fits", "arithmetic", "words"}]}; changes that keep the number
// formats first, then those that fit, then those that gain most.
[[nodiscard]] JsonValue detailed_what_if(const Words&);

// {"command", "best": [{"summary", "step", "mfu", "memory", "words"}], "proof", "front": figure}.
// ConfigError (nothing_fits) where nothing does.
[[nodiscard]] JsonValue searched_what_if(const Words&, const SearchHooks&);

}  // namespace pleat::cli
