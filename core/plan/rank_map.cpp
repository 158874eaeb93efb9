// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Group membership by arithmetic on the rank: every group is an axis of one of the two grids, a
// size and a stride. A stage is a block of world/pp consecutive ranks in both grids.
#include "core/plan/rank_map.hpp"

#include <algorithm>

#include "core/diagnostics.hpp"

namespace pleat {
namespace {

struct Axis {
  int size = 1, stride = 1;
};

int stage_block(const Plan& plan) {
  return plan.attention.tp * plan.attention.cp * plan.attention.dp;
}

Axis axis(const Plan& plan, Group kind) {
  const AttentionMapping& a = plan.attention;
  const ExpertMapping& e = plan.expert;
  switch (kind) {
    case Group::none: return {1, 0};
    case Group::tp: return {a.tp, 1};
    case Group::cp: return {a.cp, a.tp};
    case Group::dp: return {a.dp, a.tp * a.cp};
    case Group::dp_cp: return {a.dp * a.cp, a.tp};
    case Group::etp: return {e.etp, 1};
    case Group::ep: return {e.ep, e.etp};
    case Group::edp: return {e.edp, e.etp * e.ep};
    case Group::pp_next:
    case Group::pp_prev: return {a.pp > 1 ? 2 : 1, stage_block(plan)};
    case Group::embedding: return {a.pp > 1 ? 2 : 1, (a.pp - 1) * stage_block(plan)};
    case Group::world: return {plan.world(), 1};
    case Group::cp_heads: return {std::max(1, plan.cp_a2a), a.tp};
    case Group::cp_ring: return {a.cp / std::max(1, plan.cp_a2a), a.tp * std::max(1, plan.cp_a2a)};
    case Group::etp_ep: return {e.etp * e.ep, 1};
    case Group::dp_shard: return {a.dp * a.cp / plan.shard_instances(), a.tp};
    case Group::dp_replicas: {
      const int instances = plan.shard_instances();
      return {instances, a.tp * (a.dp * a.cp / instances)};
    }
    case Group::edp_shard: return {e.edp / plan.expert_instances(), e.etp * e.ep};
    case Group::edp_replicas: {
      const int instances = plan.expert_instances();
      return {instances, e.etp * e.ep * (e.edp / instances)};
    }
    case Group::copies:
      return {plan.schedule == PipelineSchedule::dualpipe ? 2 : 1, stage_block(plan)};
  }
  return {};
}

void check(const Plan& plan, Rank rank) {
  PLEAT_ASSERT(rank.value >= 0 && rank.value < plan.world());
}

}  // namespace

AttentionCoordinates attention_coordinates(const Plan& plan, Rank rank) {
  check(plan, rank);
  const AttentionMapping& a = plan.attention;
  const int r = rank.value;
  return {.tp = r % a.tp,
          .cp = r / a.tp % a.cp,
          .dp = r / (a.tp * a.cp) % a.dp,
          .pp = r / stage_block(plan)};
}

ExpertCoordinates expert_coordinates(const Plan& plan, Rank rank) {
  check(plan, rank);
  const ExpertMapping& e = plan.expert;
  const int r = rank.value % stage_block(plan);
  return {.etp = r % e.etp,
          .ep = r / e.etp % e.ep,
          .edp = r / (e.etp * e.ep) % e.edp,
          .pp = rank.value / stage_block(plan)};
}

std::vector<Rank> group_members(const Plan& plan, Rank rank, Group kind) {
  check(plan, rank);
  const int world = plan.world();
  const int block = stage_block(plan);
  const Axis ax = axis(plan, kind);
  if (kind == Group::pp_next || kind == Group::pp_prev) {
    if (ax.size == 1) return {rank};
    const int step = kind == Group::pp_next ? block : world - block;
    return {rank, Rank{(rank.value + step) % world}};
  }
  if (kind == Group::copies && ax.size > 1) {
    const int stage = rank.value / block;
    const Rank other{rank.value + (plan.attention.pp - 1 - 2 * stage) * block};
    return rank.value < other.value ? std::vector<Rank>{rank, other}
                                    : std::vector<Rank>{other, rank};
  }
  PLEAT_ASSERT(kind != Group::embedding);  // the program knows its stages
  if (ax.size == 1) return {rank};
  const int within = kind == Group::world ? rank.value : rank.value % block;
  const int coordinate = within / ax.stride % ax.size;
  std::vector<Rank> members;
  members.reserve(static_cast<std::size_t>(ax.size));
  for (int i = 0; i < ax.size; ++i) {
    members.push_back(Rank{rank.value + (i - coordinate) * ax.stride});
  }
  return members;
}

std::vector<Rank> stage_members(const Plan& plan, Rank rank, std::span<const Stage> stages) {
  check(plan, rank);
  const int block = stage_block(plan);
  std::vector<Rank> members;
  for (const Stage s : stages) members.push_back(Rank{rank.value % block + s.value * block});
  return members;
}

ShardGroups shard_groups(const Plan& plan, bool experts) {
  if (experts) {
    return {plan.expert_instances() > 1 ? Group::edp_shard : Group::edp, Group::edp_replicas};
  }
  return {plan.shard_instances() > 1 ? Group::dp_shard : Group::dp_cp, Group::dp_replicas};
}

int group_size(const Plan& plan, Group kind) { return axis(plan, kind).size; }

int group_stride(const Plan& plan, Group kind) { return axis(plan, kind).stride; }

}  // namespace pleat
