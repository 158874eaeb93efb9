// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The optimizers on the layouts that the quick suite leaves out.
#include "tests/backend/optimizer/optimizers_suite.hpp"

namespace pleat::test {

INSTANTIATE_TEST_SUITE_P(Slow, Optimizers, testing::ValuesIn(optimizer_cases(false)),
                         [](const auto& info) { return info.param.name; });

}  // namespace pleat::test
