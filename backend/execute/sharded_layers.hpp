// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// ZeRO-2 and ZeRO-3: a layer's weights and gradients are whole only while it runs. Each rank's
// shard of a bucket is its shares of the layers, one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

void gather_weights(const Call&, Execution&);    // the layer's, from the ranks' shards
// This rank's share of the sums is added to its shard; a unit's first one in a step is written
// there.
void reduce_gradients(const Call&, Execution&);

// Where a weight or its gradient lies while the layer runs; none: in its bucket. `reads`: something
// must have been written there.
[[nodiscard]] std::optional<View> whole_operand(const Op&, const OpSite&, std::size_t weight,
                                                bool gradient, bool reads, Execution&);
// Of elements [first, first + count) of a weight that lies in shards those that this rank keeps:
// f(where, how many of them come before).
void for_each_kept(const WeightSlot&, std::int64_t first, std::int64_t count, Execution&,
                   const std::function<void(View kept, std::int64_t after)>& f);
void keep_in_shards(const WeightSlot&, View weight, Execution&);

}  // namespace pleat::execute
