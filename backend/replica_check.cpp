// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/replica_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "backend/checkpoint/digest.hpp"
#include "backend/execute/executor.hpp"
#include "backend/runtime/host_access.hpp"
#include "core/diagnostics.hpp"
#include "core/plan/rank_map.hpp"

namespace pleat {
namespace {

// Ranks of this rank's group that hold other bits of the bucket's weights than most.
std::vector<int> others(const StepBoundary& b, const StateRange& weights) {
  const Group group = weights.bucket % 2 == 0 ? Group::dp_cp : Group::edp;
  const std::vector<Rank> members =
      group_members(b.executor.program().plan, b.context.rank(), group);
  const std::uint64_t mine = read_on_host(
      b.executor.device(), weights.values, [](View v) { return short_digest_of(bytes(v)); });
  std::vector<std::uint64_t> all(members.size());
  b.context.comm(group).all_gather(std::as_bytes(std::span(&mine, 1)),
                                   std::as_writable_bytes(std::span(all)));
  const std::uint64_t usual = *std::max_element(all.begin(), all.end(), [&](auto x, auto y) {
    return std::count(all.begin(), all.end(), x) < std::count(all.begin(), all.end(), y);
  });
  std::vector<int> ranks;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] != usual) ranks.push_back(members[i].value);
  }
  return ranks;
}

}  // namespace

void check_replicas(const StepBoundary& b) {
  if (b.executor.program().plan.sharding == Sharding::zero3) return;  // no rank holds them all
  std::set<int> wrong;
  for (const StateRange& range : b.executor.needed_ranges()) {
    if (std::string_view(range.kind) != "weight") continue;
    for (int rank : others(b, range)) wrong.insert(rank);
  }
  const std::int32_t here = wrong.contains(b.context.rank().value) ? 1 : 0;
  std::vector<std::int32_t> all(static_cast<std::size_t>(b.world.size()));
  b.world.all_gather(std::as_bytes(std::span(&here, 1)), std::as_writable_bytes(std::span(all)));
  std::vector<int> ranks;
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r] != 0) ranks.push_back(static_cast<int>(r));
  }
  if (ranks.empty()) return;
  throw_config_error(
      ExitCode::corruption, "", "",
      fmt::format("after {} steps the weights of rank {} are not those of its replicas",
                  b.next_step, fmt::join(ranks, ", ")),
      "check the devices of these ranks, go on from a checkpoint");
}

}  // namespace pleat
