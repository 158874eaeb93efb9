// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The tables of a capacity page: every figure of every offer, and every input.
#pragma once

#include "console/tables.hpp"
#include "planner/capacity/answer.hpp"

namespace pleat::cli {

// A row an offer; those that cannot be run say why.
[[nodiscard]] Table offers_table(const CapacityAnswer&);

// A row a cluster and input, with its source.
[[nodiscard]] Table rates_table(const CapacityAnswer&);

}  // namespace pleat::cli
