// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The layouts of the parity suite that are not in its quick sample.
#include "tests/backend/layouts_test.hpp"

namespace pleat::test {

INSTANTIATE_TEST_SUITE_P(Slow, LayoutSuite, testing::ValuesIn(layouts_where(false)),
                         [](const auto& info) { return info.param.name; });

}  // namespace pleat::test
