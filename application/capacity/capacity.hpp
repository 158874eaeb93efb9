// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// How many of which GPUs to book: the best plan of every cluster and size, and what it takes.
#pragma once

#include <functional>

#include "application/capacity/capacity_question.hpp"
#include "application/work_hooks.hpp"
#include "planner/capacity/answer.hpp"

namespace pleat {

// What there is so far: at first from searches that were cut off, then better and better.
using ShowOffers = std::function<void(const CapacityAnswer&)>;

// With `show` there is a first look at all offers within seconds, and it is called for that and for
// every offer whose search has ended, by one thread at a time. The answer is the same without it.
// Where the hooks end it early the answer has what was found until then, and is not `complete`.
[[nodiscard]] CapacityAnswer find_capacity(const CapacityQuestion&, int threads, const WorkHooks&,
                                           const ShowOffers& show = {});

}  // namespace pleat
