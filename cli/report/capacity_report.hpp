// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A capacity answer for people.
#pragma once

#include <string>
#include <vector>

#include "console/terminal.hpp"
#include "console/wrap.hpp"
#include "planner/capacity/answer.hpp"

namespace pleat::cli {

// "tuning: typical, …".
[[nodiscard]] std::string tuning_text(Tuning);
// Model, tokens, goals, batch and tuning; three lines, no final newline.
[[nodiscard]] std::string question_text(const CapacityAnswer&);

// What an offer that can be run takes: time and cost first, each in words.
[[nodiscard]] std::vector<Fact> offer_facts(const Offer&);
[[nodiscard]] std::string spares_text(const Placement&, int gpus);

// The recommended offers in detail, all in a table, what matters most, prices and assumptions.
// `model`: as it was asked for, of the command that plans the recommended one.
[[nodiscard]] std::string capacity_text(const CapacityAnswer&, const std::string& model,
                                        const Terminal&);

// What there is while the search goes on: the question and the table.
[[nodiscard]] std::string first_text(const CapacityAnswer&, const Terminal&);

// `pleat plan` with what the offer was found by; `model` as above.
[[nodiscard]] std::string plan_command(const CapacityAnswer&, const std::string& model,
                                       const Offer&);

// One paragraph: what misses the goals by how much, and what would do.
[[nodiscard]] std::string misses_text(const CapacityAnswer&);

}  // namespace pleat::cli
