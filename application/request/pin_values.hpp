// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Pins of a search as words: switches; sets to recompute and to offload; layouts.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/plan/plan.hpp"
#include "planner/search_config.hpp"

namespace pleat {

// On or off; an empty word, a bare flag, is on. ConfigError (bad_request) for others.
[[nodiscard]] bool parse_switch(const std::string& word, const std::string& flag);
// The values that words stand for, each once: on, off, or any for both. ConfigError for others.
[[nodiscard]] std::vector<bool> parse_switches(const std::vector<std::string>&,
                                               const std::string& flag);

// "none", "full", "full:4", "moe_act+layernorm": a set each. Where all layers are recomputed whole,
// `layers` (0: all) and `units` are tried, if there are any. ConfigError (bad_request).
[[nodiscard]] std::vector<RecomputeChoice> parse_recompute_sets(
    const std::vector<std::string>& words, const std::vector<int>& layers,
    const std::vector<int>& units);
// "none", "core_attn+attn_proj". ConfigError (bad_request).
[[nodiscard]] std::vector<std::set<Offload>> parse_offload_sets(
    const std::vector<std::string>& words);

// ConfigError (bad_request) where one does not follow the grammar of layouts.
void require_layouts(const std::vector<std::string>& layouts);

}  // namespace pleat
