// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/rank_context.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backend/runtime/execution_error.hpp"

namespace pleat {
namespace {

// Every rank makes its groups in this order, so that making one can wait for its members.
constexpr Group kCollectiveGroups[] = {
    Group::world,        Group::tp,     Group::cp,       Group::dp,          Group::dp_cp,
    Group::ep,           Group::etp,    Group::edp,      Group::embedding,   Group::cp_heads,
    Group::cp_ring,      Group::etp_ep, Group::dp_shard, Group::dp_replicas, Group::edp_shard,
    Group::edp_replicas, Group::copies};

std::size_t slot(Group g) { return static_cast<std::size_t>(g); }

}  // namespace

RankContext::RankContext(const Plan& plan, Transport& transport, const std::set<int>& tp_runs,
                         Device* device)
    : rank_(transport.rank()),
      attention_(attention_coordinates(plan, transport.rank())),
      expert_(expert_coordinates(plan, transport.rank())) {
  const auto group = [&](const std::vector<Rank>& members) {
    return device == nullptr ? transport.group(members) : transport.group_on(*device, members);
  };
  for (Group g : kCollectiveGroups) {
    const std::vector<Rank> members = group_members(plan, rank_, g);
    const bool inside = std::find(members.begin(), members.end(), rank_) != members.end();
    if (inside) groups_[slot(g)] = group(members);
  }
  const std::vector<Rank> tp = group_members(plan, rank_, Group::tp);
  for (int length : tp_runs) {
    const auto first = tp.begin() + attention_.tp / length * length;
    tp_runs_[length] = group({first, first + length});
  }
  const int stages = plan.attention.pp, block = plan.world() / stages;
  std::vector<Rank> pipeline;
  for (int s = 0; s < stages; ++s) pipeline.push_back(Rank{rank_.value % block + s * block});
  pipeline_ = group(pipeline);
}

Communicator& RankContext::comm(Group g) const {
  Communicator* c = groups_[slot(g)].get();
  if (c == nullptr) {
    throw ExecutionError(fmt::format("rank {} has no group {}", rank_.value, name_of(g)));
  }
  return *c;
}

Communicator& RankContext::tp_run(int length) const {
  const auto found = tp_runs_.find(length);
  if (found == tp_runs_.end()) {
    throw ExecutionError(fmt::format("rank {} has no run of {} tp ranks", rank_.value, length));
  }
  return *found->second;
}

std::set<int> tp_runs(const Program& program) {
  std::set<int> lengths;
  for (const StageProgram& stage : program.stages) {
    for (const Op& op : stage.epilogue) {
      if (op.attr.run > 0) lengths.insert(static_cast<int>(op.attr.run));
    }
  }
  return lengths;
}

}  // namespace pleat
