// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which plans are listed beside one another.
#pragma once

#include "planner/search/search.hpp"

namespace pleat {

// A plan is not listed beside a faster one of its mesh and microbatch that takes at most so much
// less time and whose memory differs by less than so much of a GPU's.
inline constexpr double kNearValue = 0.005, kNearMemory = 0.05;

// Differ in the optimizer's numbers, flags and layout alone.
[[nodiscard]] bool variants(const Plan&, const Plan&);

// Of plans, least value (value_of) first, at most so many that neither are variants of nor near one
// that is listed already; what is left out is counted in `rejected`. `gpu_bytes`: of a GPU's memory.
[[nodiscard]] std::vector<Candidate> different_plans(std::vector<Candidate>, std::size_t most,
                                                     bool robust, double gpu_bytes,
                                                     std::map<std::string, std::int64_t>& rejected);

}  // namespace pleat
