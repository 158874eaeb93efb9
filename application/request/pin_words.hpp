// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The pins of a search as they are given: one for each field of a plan that may be pinned.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "core/plan/pinned_fields.hpp"
#include "planner/plan_pins.hpp"

namespace pleat {

// As typed: numbers with their ranges written out, all else as words.
template <class Value>
using PinWordsOf = std::vector<std::conditional_t<std::is_same_v<Value, int>, int, std::string>>;
using PinWords = PinsOf<PinWordsOf>;

// ConfigError (bad_request) for words that name nothing.
void read_pins(const PinWords&, PlanPins&);

}  // namespace pleat
