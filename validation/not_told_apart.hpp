// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Published runs that differ in something a plan does not say, so that they get the same
// prediction: to compare them says nothing about it.
#pragma once

#include <cstddef>
#include <vector>

#include "validation/comparison.hpp"

namespace pleat {

// Numbers of rows, in sets of two and more: of one release, machine, model and workload, priced as
// the same plan, though their settings differ. In the order of their first rows.
[[nodiscard]] std::vector<std::vector<std::size_t>> not_told_apart(
    const std::vector<ComparedRun>&);

}  // namespace pleat
