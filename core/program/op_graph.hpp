// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The dependency graph of an operation list.
#pragma once

#include <span>
#include <vector>

#include "core/program/op.hpp"

namespace pleat {

// deps[i]: earlier operations that operation i must follow: it reads what they wrote, or overwrites
// what they read or wrote.
[[nodiscard]] std::vector<std::vector<int>> dependencies(std::span<const Op> ops);

}  // namespace pleat
