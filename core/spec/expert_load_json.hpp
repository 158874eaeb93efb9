// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Loads of experts as JSON: {"3": [812, 790, …], …}, by layer and expert.
#pragma once

#include <vector>

#include "core/json/object_reader.hpp"
#include "core/spec/model.hpp"
#include "core/spec/workload.hpp"

namespace pleat {

[[nodiscard]] JsonValue write_expert_loads(const std::vector<ExpertLoads>&);

// By layer. Problems: a layer without experts, a number of loads that is not the model's number of
// experts, a load that is no number from 0, loads that are all 0, a decoder layer with experts that
// is not there.
[[nodiscard]] std::vector<ExpertLoads> read_expert_loads(ObjectReader, const ModelSpec&);

}  // namespace pleat
