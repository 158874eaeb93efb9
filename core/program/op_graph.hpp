// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The dependency graph of an operation list (Boost.Graph inside).
#pragma once

#include <span>
#include <vector>

#include "core/program/op.hpp"

namespace pleat {

// deps[i]: earlier operations that operation i must follow: it reads what they wrote, or overwrites
// what they read or wrote.
[[nodiscard]] std::vector<std::vector<int>> dependencies(std::span<const Op> ops);

// Longest chain of `durations` along the dependencies: no schedule is shorter.
[[nodiscard]] double critical_path(std::span<const Op> ops, std::span<const double> durations);

// A topological order exists and the list is one (always, unless a pass broke it).
[[nodiscard]] bool is_topological(std::span<const Op> ops);

}  // namespace pleat
