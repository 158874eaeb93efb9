// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/rank_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backend/runtime/execution_error.hpp"

namespace pleat {
namespace {

// Every rank makes its groups in this order, so that making one can wait for its members.
constexpr Group kCollectiveGroups[] = {
    Group::world,        Group::tp,     Group::cp,       Group::dp,          Group::dp_cp,
    Group::ep,           Group::etp,    Group::edp,      Group::cp_heads,    Group::cp_ring,
    Group::etp_ep,       Group::dp_shard, Group::dp_replicas, Group::edp_shard, Group::edp_replicas,
    Group::copies};

std::size_t slot(Group g) { return static_cast<std::size_t>(g); }

// Lengths of the runs of tp members that some stage sums over.
std::set<int> tp_runs(const Program& program) {
  std::set<int> lengths;
  for (const StageProgram& stage : program.stages) {
    for (const Op& op : stage.epilogue) {
      if (op.group == Group::tp && op.attr.run > 0) lengths.insert(static_cast<int>(op.attr.run));
    }
  }
  return lengths;
}

}  // namespace

RankContext::RankContext(const Program& program, Transport& transport, Device* device)
    : rank_(transport.rank()),
      attention_(attention_coordinates(program.plan, transport.rank())),
      expert_(expert_coordinates(program.plan, transport.rank())) {
  const Plan& plan = program.plan;
  const auto group = [&](const std::vector<Rank>& members) {
    return device == nullptr ? transport.group(members) : transport.group_on(*device, members);
  };
  for (Group g : kCollectiveGroups) {
    const std::vector<Rank> members = group_members(plan, rank_, g);
    const bool inside = std::find(members.begin(), members.end(), rank_) != members.end();
    if (inside) groups_[slot(g)] = group(members);
  }
  const auto& table = program.stages[static_cast<std::size_t>(attention_.pp)].table;
  if (table) groups_[slot(Group::embedding)] = group(stage_members(plan, rank_, table->stages));
  const std::vector<Rank> tp = group_members(plan, rank_, Group::tp);
  for (int length : tp_runs(program)) {
    const auto first = tp.begin() + attention_.tp / length * length;
    tp_runs_[length] = group({first, first + length});
  }
  std::vector<Stage> stages;
  for (int s = 0; s < plan.attention.pp; ++s) stages.push_back(Stage{s});
  pipeline_ = group(stage_members(plan, rank_, stages));
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

Communicator& RankContext::comm(Group group, std::int64_t run) const {
  return group == Group::tp && run > 0 ? tp_run(static_cast<int>(run)) : comm(group);
}

}  // namespace pleat
