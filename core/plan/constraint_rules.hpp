// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the files of rules share: each appends the rules of one theme. Every rule but the first one
// (positive degrees) holds vacuously when degrees are not positive, so none divides by zero.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/plan/constraints.hpp"

namespace pleat::rules {

void append_grid_rules(std::vector<Constraint>&);      // world, dense grid, expert grid
void append_model_rules(std::vector<Constraint>&);     // what the model's sizes allow
void append_pipeline_rules(std::vector<Constraint>&);  // layers over stages, microbatches
void append_schedule_rules(std::vector<Constraint>&);  // orders other than 1F1B
void append_feature_rules(std::vector<Constraint>&);   // expert overlap, recompute, sharding
void append_offload_rules(std::vector<Constraint>&);   // partial recompute, host memory
void append_stage_rules(std::vector<Constraint>&);     // what single stages recompute and offload
void append_memory_rules(std::vector<Constraint>&);    // optimizer, stash, packing
void append_exchange_rules(std::vector<Constraint>&);  // tp and shared overlap, cp, capacity
void append_data_rules(std::vector<Constraint>&);      // shard groups, narrow exchanges
void append_placement_rules(std::vector<Constraint>&);  // experts placed by load, copies

[[nodiscard]] bool degrees_positive(const PlanContext&);

// Product that stops at the largest int64 instead of overflowing.
[[nodiscard]] std::int64_t product(std::int64_t a, std::int64_t b);

// "1 2 4 8": the divisors of `value` that are <= limit.
[[nodiscard]] std::string divisors_up_to(std::int64_t value, std::int64_t limit);

// "960, 1152": the positive multiples of `step` around `value`.
[[nodiscard]] std::string nearest_multiples(std::int64_t value, std::int64_t step);

// The even layout as a string; empty when there are too many stages to print.
[[nodiscard]] std::string balanced_layout(const PlanContext&);

}  // namespace pleat::rules
