// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A sample of the parity suite, and what the whole of it covers.
#include "core/plan/constraints.hpp"
#include "tests/backend/layouts_test.hpp"

namespace pleat::test {

INSTANTIATE_TEST_SUITE_P(Quick, LayoutSuite, testing::ValuesIn(layouts_where(true)),
                         [](const auto& info) { return info.param.name; });

TEST(LayoutList, BreaksNoRuleOfPlans) {
  for (const SuiteLayout& l : suite_layouts()) {
    const ModelSpec model = model_of(l.architecture);
    for (const Violation& v : violations({model, small_workload(), l.plan, l.plan.world()})) {
      ADD_FAILURE() << l.name << ": " << v.rule << ", " << v.message;
    }
  }
}

// Every pair of axes, each above 1.
TEST(LayoutList, CoversEveryPairOfAxes) {
  const std::vector<SuiteLayout> all = suite_layouts();
  EXPECT_GE(all.size(), 60U);
  const std::size_t quick = layouts_where(true).size();
  EXPECT_GE(quick, 24U);
  const auto axes = [](const Plan& p) {
    return std::map<std::string, bool>{{"tp", p.attention.tp > 1},
                                       {"cp", p.attention.cp > 1},
                                       {"dp", p.attention.dp > 1},
                                       {"pp", p.attention.pp > 1},
                                       {"vpp", p.vpp > 1},
                                       {"etp", p.expert.etp > 1},
                                       {"ep", p.expert.ep > 1},
                                       {"edp", p.expert.edp > 1},
                                       {"allgather", p.dispatcher == Dispatcher::allgather},
                                       {"unsharded", p.sharding == Sharding::none},
                                       {"zero2", p.sharding == Sharding::zero2},
                                       {"zero3", p.sharding == Sharding::zero3},
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
  // Never together: kinds of sharding, and of them those that reduce gradients every microbatch
  // with stages.
  const auto apart = [](const std::string& a, const std::string& b) {
    const std::set<std::string> every_microbatch{"zero2", "zero3"};
    const std::set<std::string> others{"unsharded", "zero2", "zero3", "pp", "vpp"};
    return a != b && every_microbatch.contains(a) && others.contains(b);
  };
  for (const auto& [a, first] : names) {
    for (const auto& [b, second] : names) {
      if (apart(a, b) || apart(b, a)) continue;
      EXPECT_TRUE(pairs.contains({a, b})) << a << " with " << b;
    }
  }
}

}  // namespace pleat::test
