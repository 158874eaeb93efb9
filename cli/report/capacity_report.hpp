// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A capacity answer for people.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "planner/capacity/answer.hpp"

namespace pleat::cli {

// Model, tokens, goals and batch; two lines, no final newline.
[[nodiscard]] std::string question_text(const CapacityAnswer&);

// What an offer that can be run takes: "time", "cost", …, each in words.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> offer_facts(const Offer&);
[[nodiscard]] std::string spares_text(const Placement&, int gpus);

// The offers in a table, the recommended ones in detail, what matters most, prices and assumptions.
[[nodiscard]] std::string capacity_text(const CapacityAnswer&);

// One paragraph: what misses the goals by how much, and what would do.
[[nodiscard]] std::string misses_text(const CapacityAnswer&);

}  // namespace pleat::cli
