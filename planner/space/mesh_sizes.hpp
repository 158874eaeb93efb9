// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Sizes that a mesh may have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/spec/model.hpp"

namespace pleat {

// Of n, up to the limit; increasing.
[[nodiscard]] std::vector<int> divisors(std::int64_t n, std::int64_t limit);
[[nodiscard]] std::vector<int> powers_of_two(std::int64_t limit);

// Chunks per stage worth trying: powers of two, and counts that split the layers evenly with or
// without embedding and loss counted as a layer each.
[[nodiscard]] std::vector<int> chunk_counts(const ModelSpec&, int pp);
// Chunks per stage of the other orders, which are made for so many.
[[nodiscard]] int chunks_of(PipelineSchedule);

// Virtual stages of a well-formed layout, and the chunks that layouts leave on each of pp ranks.
[[nodiscard]] std::int64_t stages_of_layout(const std::string& layout);
[[nodiscard]] std::vector<int> chunks_of_layouts(const std::vector<std::string>&, int pp);

}  // namespace pleat
