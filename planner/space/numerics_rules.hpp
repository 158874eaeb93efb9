// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which number formats a runtime has, whatever the rest of the plan. A search that chooses formats
// for itself leaves out the others; one that is told them prices them all the same.
#pragma once

#include <optional>
#include <vector>

#include "core/plan/constraints.hpp"
#include "core/plan/numerics_rows.hpp"
#include "planner/problem.hpp"

namespace pleat {

// Whether the GPU's tensor cores multiply it: fp8 since Hopper; with block scales in hardware
// (mxfp8), and nvfp4, since Blackwell.
[[nodiscard]] bool has_format(const GpuSpec&, Precision);
// And whose libraries have it.
[[nodiscard]] bool has_format(const ClusterSpec&, Precision);
// What a format needs of them; nothing for wide ones.
[[nodiscard]] std::optional<Software> software_of(Precision);

// What the runtime has not, or what breaks a rule of plans; empty: nothing. `told`: rows that
// somebody set although the runtime has them in no case, which is then no reason.
using ToldRows = std::vector<std::size_t>;
[[nodiscard]] std::optional<Violation> refused_numerics(Runtime, const Problem&, const Numerics&,
                                                        const ToldRows& told = {});

// Every set of formats that the runtime has: a value of `free` in each of its rows, in all other
// rows those of `plain`. Only counted, there are thousands.
[[nodiscard]] std::int64_t count_numerics(Runtime, const Problem&, const Numerics& plain,
                                          const std::vector<NumericsValue>& free,
                                          const ToldRows& told = {});

}  // namespace pleat
