// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The number formats that a search chooses from: those of the runtime, those of published runs, or
// all; what is given for a single field holds in every case.
#pragma once

#include <string>

#include "application/plan/numerics_answer.hpp"
#include "application/request/numerics_words.hpp"
#include "application/request/request.hpp"

namespace pleat {

struct NumericsRequest {
  std::string mode = kNumericsModes.front();
  NumericsWords fields;  // given one by one
};

// Of no more than this many sets of formats one is chosen.
inline constexpr std::size_t kMostNumerics = 64;

// ConfigError (bad_request) for words that name nothing, for fields that exclude one another or
// every recipe, and for more than kMostNumerics combinations. A precision that was not given is
// noted in `target.assumed`.
[[nodiscard]] NumericsQuestion numerics_question(const NumericsRequest&, Target&);

}  // namespace pleat
