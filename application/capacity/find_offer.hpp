// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What so many GPUs of a cluster offer: the best plan for them, and what a run of it takes.
#pragma once

#include <functional>
#include <optional>

#include "application/capacity/capacity_question.hpp"
#include "application/work_hooks.hpp"
#include "planner/capacity/answer.hpp"
#include "planner/search_config.hpp"

namespace pleat {

using KeepSearching = std::function<bool(const SearchProgress&)>;  // false ends the search

// `whole`: not only a first look, a few estimates of a small space.
// Nothing if it was interrupted before there was a plan; an offer that cannot be has a `problem`.
[[nodiscard]] std::optional<Offer> find_offer(const CapacityQuestion&, const CapacitySite&,
                                              int gpus, int threads, const WorkHooks&,
                                              const KeepSearching&, bool whole = true);

}  // namespace pleat
