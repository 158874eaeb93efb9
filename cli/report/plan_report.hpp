// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A plan in a few lines: parallel degrees, experts, batch, formats, exchange, memory.
#pragma once

#include <string>
#include <vector>

#include "console/wrap.hpp"
#include "core/plan/plan.hpp"
#include "core/spec/model.hpp"
#include "core/spec/workload.hpp"

namespace pleat::cli {

// A line a topic, in the words of the plan's summary; of a model without experts nothing that is
// theirs.
[[nodiscard]] std::vector<Fact> plan_facts(const Plan&, const ModelSpec&, const WorkloadSpec&);

// The words that all plans have beside their degrees: "mxfp8 zero1 hybridep".
[[nodiscard]] std::vector<std::string> common_words(const std::vector<const Plan*>&);
// Those of them that say nothing of a model without experts; none of one that has any.
[[nodiscard]] std::vector<std::string> words_of_experts(const Plan&, const ModelSpec&);
// "the 5 best plans; all of them mxfp8 zero1 hybridep": the title of a table of such plans.
[[nodiscard]] std::string with_common_words(const std::string& title,
                                            const std::vector<std::string>& words,
                                            std::size_t columns);
// The plan's summary without them.
[[nodiscard]] std::string summary_without(const Plan&, const std::vector<std::string>& words);

}  // namespace pleat::cli
