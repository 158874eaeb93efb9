// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which GPUs are paid for: whole racks or nodes, spares among them.
#pragma once

#include <vector>

#include "planner/capacity/booking.hpp"

namespace pleat {

// How a job is placed on network domains (nodes or racks), and which GPUs are paid for.
// Unused GPUs of a domain serve as its spares if they make up a node. Otherwise spares are bought:
// nodes, or whole domains where several nodes form one. A job may fill its domains in several ways
// that leave the step's price as it is: as many GPUs of each domain as it may use, or fewer by
// whole pipeline stages, and with nodes of each domain left idle as its spares. The way with the
// fewest GPUs to pay for is taken; of equal ones the fullest. The probability that repairs exceed
// the spares is charged in full (1 - spare_target), so that the result does not jump with their
// number.
// `problem` is set when less than half of each domain would be used.
struct PlacementResult {
  Placement placement;
  std::string problem;
};
[[nodiscard]] PlacementResult place_job(const Job&, const Rates&);

// The numbers of pipeline stages with which `gpus` GPUs fill all of their domains except the last,
// if that takes fewer domains than `used` GPUs of each; otherwise empty.
[[nodiscard]] std::vector<int> stages_that_fill(int gpus, int domain, int used);

}  // namespace pleat
