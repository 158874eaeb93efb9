// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which GPUs are paid for: whole racks or nodes, spares among them.
#pragma once

#include <vector>

#include "planner/capacity/booking.hpp"

namespace pleat {

// Unused GPUs of a domain serve as its spares where they make up a node. Else spares are bought:
// nodes, or whole domains where several nodes form one. Of all fillings that leave the step's price as
// it is (as many of each domain as the job may use, or whole stages fewer; nodes of each left idle as
// its spares) the one with the fewest GPUs to pay for, of equal ones the fullest. The share of the time in which repairs may
// exceed the spares is charged whole (1 - spare_target): a bound that does not jump with their number.
// `problem` is set when less than half of each domain would be used.
struct PlacementResult {
  Placement placement;
  std::string problem;
};
[[nodiscard]] PlacementResult place_job(const Job&, const Rates&);

// The numbers of pipeline stages with which `gpus` fill up all of their domains but the last, if that
// takes fewer domains than `used` of each; else none.
[[nodiscard]] std::vector<int> stages_that_fill(int gpus, int domain, int used);

}  // namespace pleat
