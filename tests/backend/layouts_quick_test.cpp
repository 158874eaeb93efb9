// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A sample of the parity suite, and what the whole of it covers.
#include "tests/backend/layouts_test.hpp"

namespace pleat::test {

INSTANTIATE_TEST_SUITE_P(Quick, LayoutSuite, testing::ValuesIn(layouts_where(true)),
                         [](const auto& info) { return info.param.name; });

// Every pair of axes, each above 1.
TEST(LayoutList, CoversEveryPairOfAxes) {
  const std::vector<SuiteLayout> all = suite_layouts();
  EXPECT_GE(all.size(), 60U);
  const std::size_t quick = layouts_where(true).size();
  EXPECT_GE(quick, 24U);
  const auto axes = [](const Plan& p) {
    return std::map<std::string, bool>{{"tp", p.attention.tp > 1},
                                       {"dp", p.attention.dp > 1},
                                       {"pp", p.attention.pp > 1},
                                       {"vpp", p.vpp > 1},
                                       {"etp", p.expert.etp > 1},
                                       {"ep", p.expert.ep > 1},
                                       {"edp", p.expert.edp > 1},
                                       {"allgather", p.dispatcher == Dispatcher::allgather},
                                       {"unsharded", p.sharding == Sharding::none},
                                       {"recomputed", p.recompute_full}};
  };
  std::set<std::pair<std::string, std::string>> pairs;
  for (const SuiteLayout& l : all) {
    if (l.architecture == Architecture::dense) continue;
    for (const auto& [a, first] : axes(l.plan)) {
      for (const auto& [b, second] : axes(l.plan)) {
        if (first && second) pairs.insert({a, b});
      }
    }
  }
  const auto names = axes({});
  for (const auto& [a, first] : names) {
    for (const auto& [b, second] : names) EXPECT_TRUE(pairs.contains({a, b})) << a << " with " << b;
  }
}

}  // namespace pleat::test
