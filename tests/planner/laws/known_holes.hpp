// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What the search still misses, in one table: which fields a faster plan then differs in, and by
// how much it was faster at most. Whoever closes one of these removes its line. Anything else that
// is faster, or faster by more, fails the laws.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/plan/plan.hpp"
#include "tests/planner/laws/plan_changer.hpp"

namespace pleat::test {

struct KnownHole {
  std::string_view what;
  std::vector<std::string_view> fields;  // some of them differ, and no others
  double most_gain;                      // of the step
  bool of_shares = false;  // only where some of the optimizer's state is in host memory, not all
};

inline const std::vector<KnownHole>& known_holes() {
  static const std::vector<KnownHole> list{
      {"another microbatch with another group of them, of layers and of recompute: neighbours "
       "start from listed plans",
       {"micro_batch", "microbatch_group", "recompute", "layout"},
       0.02},
      {"meshes are ranked before layers are laid out anew, and large microbatches gain most by "
       "that",
       {"expert.ep", "expert.edp", "vpp", "micro_batch", "microbatch_group", "layout", "cuda_graph",
        "recompute", "offload", "overlap.tensor_parallel", "overlap.shared_expert", "dispatcher",
        "optimizer.cpu_offload", "optimizer.cpu_offload_overlapped"},
       0.015},
      {"the same where the other mesh has another schedule, or other ranks for a sequence",
       {"attention.tp", "attention.cp", "attention.dp", "schedule", "vpp", "cp_comm",
        "microbatch_group", "layout", "sequence_parallel", "overlap.expert_parallel", "cuda_graph",
        "overlap.tensor_parallel"},
       0.01},
      {"the share of the optimizer's state on the host is chosen for one memory choice of a mesh",
       {"recompute", "offload", "cuda_graph", "optimizer.cpu_offload"},
       0.002},
      {"offload beside a graph of the whole iteration", {"offload"}, 0.0012},
      {"a larger microbatch that fits only with other sharding and more that is sent away",
       {"micro_batch", "sharding", "offload"},
       0.004},
      {"another expert parallel size with another dispatcher and other memory choices",
       {"expert.ep", "expert.edp", "dispatcher", "recompute", "offload"},
       0.001},
      {"other chunks with offload and another layout", {"vpp", "cp_comm", "offload", "layout"},
       0.0002},
      {"a change that gains less than 0.01% is no step", {"overlap.delay_wgrad"}, 0.0001},
      {"the effort for changes ends where the best plan of the space has all of the state on the "
       "CPU (Llama-4-Scout on 8 B200)",
       {"overlap.expert_parallel", "recompute", "optimizer.state_offload"},
       0.013, true},
      {"searches with a share of the optimizer's state on the host end after a few rounds, and a "
       "share must gain something",
       {"attention.tp", "attention.cp", "attention.dp", "attention.pp", "expert.etp", "expert.ep",
        "expert.edp", "vpp", "micro_batch", "microbatch_group", "layout", "recompute", "offload",
        "cuda_graph", "sharding", "dispatcher", "dispatcher_sms", "optimizer.cpu_offload",
        "optimizer.state_offload"},
       0.0005, true}};
  return list;
}

// Some of the optimizer's state in host memory, and not all.
inline bool has_share(const Plan& plan) {
  const double share = plan.optimizer.cpu_offload + plan.optimizer.state_offload;
  return share > 0 && share < 1;
}

// Whether a plan that is faster by `gain` fell through a hole that is known. Says so: a hole that
// no run of every case meets any more is closed.
inline bool is_known_hole(const Plan& answer, const Plan& faster, double gain) {
  const auto covers = [&](const KnownHole& hole) {
    if (gain > hole.most_gain || (hole.of_shares && !has_share(faster))) return false;
    return std::ranges::all_of(PlanChanger::rows(), [&](std::size_t row) {
      return PlanChanger::same(row, answer, faster) ||
             std::ranges::find(hole.fields, PlanChanger::name(row)) != hole.fields.end();
    });
  };
  const auto found = std::ranges::find_if(known_holes(), covers);
  if (found == known_holes().end()) return false;
  fmt::print("{:.3f}% faster, as known: {}\n", 100 * gain, found->what);
  return true;
}

}  // namespace pleat::test
