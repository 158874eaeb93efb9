// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/rank_context.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backend/runtime/execution_error.hpp"

namespace pleat {
namespace {

// Every rank makes its groups in this order, so that making one can wait for its members.
constexpr Group kCollectiveGroups[] = {Group::world, Group::tp,    Group::cp,
                                       Group::dp,    Group::dp_cp, Group::ep,
                                       Group::etp,   Group::edp,   Group::embedding};

std::size_t slot(Group g) { return static_cast<std::size_t>(g); }

}  // namespace

RankContext::RankContext(const Plan& plan, Transport& transport)
    : rank_(transport.rank()),
      attention_(attention_coordinates(plan, transport.rank())),
      expert_(expert_coordinates(plan, transport.rank())) {
  for (Group g : kCollectiveGroups) {
    const std::vector<Rank> members = group_members(plan, rank_, g);
    const bool inside = std::find(members.begin(), members.end(), rank_) != members.end();
    if (inside) groups_[slot(g)] = transport.group(members);
  }
  // A pair has one order for both ends: the earlier stage first.
  const auto pair = [&](Group g) {
    std::vector<Rank> members = group_members(plan, rank_, g);
    std::sort(members.begin(), members.end());
    groups_[slot(g)] = transport.group(members);
  };
  if (attention_.pp > 0) pair(Group::pp_prev);
  if (attention_.pp + 1 < plan.attention.pp) pair(Group::pp_next);
}

Communicator& RankContext::comm(Group g) const {
  Communicator* c = groups_[slot(g)].get();
  if (c == nullptr) {
    throw ExecutionError(fmt::format("rank {} has no group {}", rank_.value, name_of(g)));
  }
  return *c;
}

int RankContext::neighbour(Group g) const {
  const Communicator& c = comm(g);
  if ((g != Group::pp_next && g != Group::pp_prev) || c.size() != 2) {
    throw ExecutionError(fmt::format("group {} is not a pair of stages", name_of(g)));
  }
  return 1 - c.rank();
}

}  // namespace pleat
