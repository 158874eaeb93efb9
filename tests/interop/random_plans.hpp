// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Plans that Pleat allows, at random over the shipped models: the same for the same seed.
#pragma once

#include <vector>

#include "core/plan/plan_document.hpp"

namespace pleat::interop_test {

// `each` legal plans for every shipped model (fewer where hardly any is legal).
[[nodiscard]] std::vector<PlanDocument> random_documents(int each, unsigned seed);

}  // namespace pleat::interop_test
