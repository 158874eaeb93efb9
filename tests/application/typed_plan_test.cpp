// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A plan typed as options is the same plan again.
#include "application/request/typed_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "application/request/request.hpp"
#include "core/diagnostics.hpp"
#include "core/spec/catalog.hpp"
#include "tests/interop/random_plans.hpp"

namespace pleat {
namespace {

// As the command line puts words into options.
ShapeOptions given(const std::vector<std::string>& words) {
  ShapeOptions shape;
  const std::vector<ShapeOption> options = shape_options(shape);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto option = std::ranges::find(options, words[i].substr(2), &ShapeOption::name);
    EXPECT_NE(option, options.end()) << words[i];
    if (option == options.end()) return shape;
    std::visit(
        [&](auto* value) {
          using Value = std::remove_pointer_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, bool>)
            *value = true;
          else if constexpr (std::is_same_v<Value, std::optional<int>>)
            *value = std::stoi(words[++i]);
          else if constexpr (std::is_same_v<Value, std::optional<double>>)
            *value = std::stod(words[++i]);
          else
            *value = words[++i];
        },
        option->value);
  }
  return shape;
}

TEST(TypedPlan, IsTheSameAgain) {
  int tried = 0;
  for (const PlanDocument& d : interop_test::random_documents(6, 11)) {
    if (!can_be_typed(d.plan)) continue;
    Target target;
    target.model = d.model;
    target.cluster = load_cluster(d.cluster);
    target.workload = d.workload;
    target.accept_mismatch = true;  // formats that the GPU does not compute
    Plan plan = d.plan;
    plan.sequence_parallel = plan.sequence_parallel && plan.attention.tp > 1;  // nothing else is
    target.gpus = d.gpus;
    target.runtime = d.runtime;
    const std::vector<std::string> words = typed_shape(d.plan);
    std::vector<std::string> assumed;
    try {
      EXPECT_EQ(resolve_shape(given(words), target, "", assumed), plan)
          << ::testing::PrintToString(words);
    } catch (const ConfigError& e) {  // random plans have fields that do nothing
      EXPECT_THAT(e.what(), ::testing::HasSubstr("has no effect"));
      continue;
    }
    ++tried;
  }
  EXPECT_GT(tried, 250);
}

}  // namespace
}  // namespace pleat
