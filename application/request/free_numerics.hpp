// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The values of number formats that a search may choose from for itself.
#pragma once

#include <string>
#include <vector>

#include "application/request/numerics_words.hpp"
#include "application/request/request.hpp"
#include "planner/space/numerics_rules.hpp"

namespace pleat {

// Whether the runtime has the value with some precision that the GPU has, the weights kept narrow
// or not, and all else as in `plain`. `told`: as of refused_numerics.
[[nodiscard]] bool is_possible(const NumericsValue&, const Numerics& plain, const Target&,
                               const ToldRows& told = {});

// Every possible value of fields that were not given, and the given ones where there are several,
// row by row. `plain`: the runtime's formats with what was given. `not_chosen` gets what is left as
// it is.
[[nodiscard]] std::vector<NumericsValue> free_values(const NumericsWords& given,
                                                     const std::vector<Numerics>& plain,
                                                     const Target&, const ToldRows& told,
                                                     std::vector<std::string>& not_chosen);

}  // namespace pleat
