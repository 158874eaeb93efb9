// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which plans deserve a place in a list of the best: those that really differ from the better ones.
#pragma once

#include "planner/search_result.hpp"

namespace pleat {

// Two plans of one mesh and microbatch are close if their times differ by at most this part, and
// their memory by less than this part of a GPU's. Of close plans only the best is listed.
inline constexpr double kCloseValue = 0.005, kCloseMemory = 0.05;

// Whether the plans have the same degrees, chunks a rank, order of the pipeline and microbatch.
[[nodiscard]] bool same_mesh(const Plan&, const Plan&);
// Whether the plans differ at most in the optimizer's formats, in flags and in the layout.
[[nodiscard]] bool variants(const Plan&, const Plan&);

// Of plans sorted by value (value_of), at most `most`: a plan is left out if it is a variant of, or
// close to, one that is taken already. What is left out is counted in `rejected`. `gpu_bytes` is a
// GPU's memory.
[[nodiscard]] std::vector<Candidate> different_plans(std::vector<Candidate>, std::size_t most,
                                                     bool robust, double gpu_bytes,
                                                     std::map<std::string, std::int64_t>& rejected);

}  // namespace pleat
