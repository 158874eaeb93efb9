// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How many tokens the routers gave each expert in a step.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "core/spec/workload.hpp"

namespace pleat {

class ExpertLoad {
 public:
  void clear();
  // Tokens of one microbatch for each expert of a layer, from one rank's tokens.
  void add(int layer, std::span<const std::int32_t> counts);
  // Over all ranks' tokens, of every layer that routed some, by layer. Ranks that share tokens each
  // count them. Called by every rank; `layers` is the model's.
  [[nodiscard]] std::vector<ExpertLoads> of_all(Communicator& world, std::int64_t layers,
                                                std::int64_t experts) const;

 private:
  std::map<int, std::vector<std::int64_t>> counts_;  // by layer
};

// Busiest expert over the mean one, the largest of all layers; 0 without any.
[[nodiscard]] double max_over_mean(const std::vector<ExpertLoads>&);

}  // namespace pleat
