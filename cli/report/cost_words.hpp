// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a step's time goes to, in words: JSON names the same parts by one word each.
#pragma once

#include "simulator/layer_costs.hpp"

namespace pleat::cli {

// "expert matrix products", "the experts' all-to-all that nothing hides".
[[nodiscard]] const char* words_for(CostClass);
// "expert products", "exposed expert exchange": where there is less room.
[[nodiscard]] const char* short_words_for(CostClass);

}  // namespace pleat::cli
