// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which GPUs are paid for: whole racks or nodes, spares among them.
#pragma once

#include <vector>

#include "planner/capacity/booking.hpp"

namespace pleat {

// How a job lies on network domains (nodes or racks), and which GPUs are paid for.
//
// Spares. A domain's GPUs that the plan leaves unused are its spares if they make up a whole node.
// Otherwise spares are bought: nodes, or whole domains where a domain has several nodes.
//
// Choice. Often a job can fill its domains in several ways without changing its step time: with all
// GPUs of a domain that it may use, or with whole pipeline stages fewer, and with some nodes of
// each domain kept idle as spares. The way that pays for the fewest GPUs is taken, and among equals
// the one that fills domains most.
//
// Waiting. Sometimes more nodes are in repair than there are spares, and the job waits. That is
// charged as if it had the highest probability that is allowed (1 - spare_target). The true one is
// lower and jumps with the number of spares; the price would jump with it.
//
// `problem` says why there is no placement: less than half of each domain would be used.
struct PlacementResult {
  Placement placement;
  std::string problem;
};
[[nodiscard]] PlacementResult place_job(const Job&, const Rates&);

// The numbers of pipeline stages with which a job of `gpus` GPUs fills every domain but the last.
// Empty if that takes no fewer domains than using `used` GPUs of each.
[[nodiscard]] std::vector<int> stages_that_fill(int gpus, int domain, int used);

}  // namespace pleat
