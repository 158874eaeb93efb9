// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Many more random layouts.
#include "tests/backend/random_layouts_test.hpp"

namespace pleat::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Slow, RandomLayouts, testing::Range(1000U, 1400U));

}  // namespace
}  // namespace pleat::test
