// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which global ranks form which group. Megatron's order tp-cp-ep-dp-pp, left fastest: the attention
// grid is (tp, cp, dp, pp), the expert grid (etp, ep, edp, pp); both share pp.
#pragma once

#include <span>
#include <vector>

#include "core/ids.hpp"
#include "core/plan/plan.hpp"
#include "core/program/op.hpp"

namespace pleat {

struct AttentionCoordinates {
  int tp = 0, cp = 0, dp = 0, pp = 0;
  bool operator==(const AttentionCoordinates&) const = default;
};
struct ExpertCoordinates {
  int etp = 0, ep = 0, edp = 0, pp = 0;
  bool operator==(const ExpertCoordinates&) const = default;
};

[[nodiscard]] AttentionCoordinates attention_coordinates(const Plan&, Rank);
[[nodiscard]] ExpertCoordinates expert_coordinates(const Plan&, Rank);

// Ordered members of the group of `kind` that contains `rank`. pp_next/pp_prev: [rank, neighbour],
// cyclic; [rank] when pp is 1. copies: with DualPipe the same rank of the mirrored stage.
// Not embedding, whose stages depend on the model: stage_members of SharedTable::stages.
[[nodiscard]] std::vector<Rank> group_members(const Plan&, Rank, Group kind);
// The ranks at this rank's place in the given stages, in their order.
[[nodiscard]] std::vector<Rank> stage_members(const Plan&, Rank, std::span<const Stage>);
// embedding: of the first and the last stage, which mostly are the two that hold a table.
[[nodiscard]] int group_size(const Plan&, Group kind);

// The ranks that one set of gradient and optimizer shards lies on, and those that hold the same
// shard (one: no second set). Without instances the first are all data-parallel ranks.
struct ShardGroups {
  Group shard = Group::dp_cp, replicas = Group::dp_replicas;
};
[[nodiscard]] ShardGroups shard_groups(const Plan&, bool experts);

// Distance between consecutive members of the group, in ranks: how far apart they lie decides the
// links they use.
[[nodiscard]] int group_stride(const Plan&, Group kind);

}  // namespace pleat
