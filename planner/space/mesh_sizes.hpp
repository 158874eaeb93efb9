// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which degrees and numbers of chunks a mesh can have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/spec/model.hpp"

namespace pleat {

// The divisors of n up to the limit, in increasing order.
[[nodiscard]] std::vector<int> divisors(std::int64_t n, std::int64_t limit);

// Numbers of chunks per stage that are worth trying: powers of two, those that split the layers
// nearly evenly (93 layers on 24 virtual stages: 4 on all but three), and those that divide them
// with embedding and loss counted as one layer each.
[[nodiscard]] std::vector<int> chunk_counts(const ModelSpec&, int pp);
// The number of chunks per stage that a schedule other than 1F1B is made for.
[[nodiscard]] int chunks_of(PipelineSchedule);

// How many virtual stages a layout has, and how many chunks the pinned layouts put on each of `pp`
// ranks.
[[nodiscard]] std::int64_t stages_of_layout(const std::string& layout);
[[nodiscard]] std::vector<int> chunks_of_layouts(const std::vector<std::string>&, int pp);

}  // namespace pleat
