// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The parts of a rank's shard that an operation of the optimizer steps at once: stretches of
// elements with the same settings, and where their gradients, state and weights lie.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "backend/execute/call.hpp"
#include "core/program/program.hpp"

namespace pleat::execute {

struct Execution;

struct Stretch {
  std::int64_t whole = 0, shard = 0, state = 0;  // its first element in bucket, shard, state
  std::int64_t elements = 0;
  bool decays = true;  // has weight decay
};

// Of the part of the shard that the operation steps, in order.
[[nodiscard]] std::vector<Stretch> stretches(const Op&, const Execution&, Bucket);
// In the bucket's tensors, or in those of a part that the host steps.
[[nodiscard]] View gradients_of(const Op&, const Execution&, const Stretch&, View tensor);
// The main parameters, or the weights where they are these.
[[nodiscard]] View weights_of(const Op&, const Execution&, const Stretch&, View tensor,
                              const BucketState&);
// For tests that compare what the optimizer saw.
void keep_gradients(Execution&, Bucket, const Stretch&, View gradients);

// Visits what the rank steps parameter by parameter: visit(number, stretch).
void for_each_parameter(const Op&, const Execution&, Bucket,
                        const std::function<void(std::size_t, const Stretch&)>& visit);

}  // namespace pleat::execute
