// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The exchanges of tokens between experts that a search tries.
#pragma once

#include <limits>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/spec/cluster.hpp"
#include "core/spec/model.hpp"
#include "planner/search_config.hpp"

namespace pleat {

// Between two ranks (ETP x EP) nearly every token goes to the other one: there the all-gather sends
// no more than any exchange, and where it is tried it has the least work of all dispatchers.
inline constexpr int kRanksOfLeastGather = 2;

struct DispatcherChoice {
  Dispatcher dispatcher = Dispatcher::alltoall;
  int sms = 0;               // Plan::dispatcher_sms
  int within = 0;            // most ranks (ETP x EP) that it is tried among; 0: any
  int two_steps_beyond = 0;  // an exchange in two steps: ranks within which it has one; 0: none
  [[nodiscard]] bool same_kernel(const DispatcherChoice& other) const {
    return dispatcher == other.dispatcher && sms == other.sms;
  }
};

// All-to-all, and DeepEP or HybridEP where the hardware has it (dispatcher_for), with each number
// of SMs of the config; the all-gather (gather_within); of Pleat the exchange in two steps between
// network domains. Pinned ones as they are. Those whose kernels permute the tokens come first.
[[nodiscard]] std::vector<DispatcherChoice> dispatcher_choices(const ModelSpec&, const ClusterSpec&,
                                                               const SearchConfig&);

inline constexpr int kAnyRanks = std::numeric_limits<int>::max();

// The most ranks among which a search tries the all-gather unasked, or kAnyRanks; 0: none. A fused
// exchange sends a row for each rank that has some of a token's experts, so a gather sends as
// little only between two ranks. The all-to-all sends and sorts a row for each expert: beside it
// the gather is tried among any ranks.
[[nodiscard]] int gather_within(const ModelSpec&, const ClusterSpec&, const SearchConfig&);

// Whether rows travel to experts, or back, in fp8 with some of the numerics.
[[nodiscard]] bool has_narrow_rows(const SearchConfig&);

// Whether the hardware has the dispatcher's kernels.
[[nodiscard]] bool has_dispatcher(const ClusterSpec&, Dispatcher);

// The dispatcher a runtime would use on this hardware: HybridEP where more than 8 GPUs share an
// NVLink domain (NVL72), DeepEP on other GPUs with fp8 (Hopper and later), else all-to-all.
[[nodiscard]] Dispatcher dispatcher_for(const ModelSpec&, const ClusterSpec&);

}  // namespace pleat
