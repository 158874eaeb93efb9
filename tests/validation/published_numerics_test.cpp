// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The formats of a published recipe are those that the row of its run is predicted with.
#include "core/plan/published_numerics.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/json/text_file.hpp"
#include "planner/space/runtime_rules.hpp"
#include "validation/run_request.hpp"

namespace pleat {
namespace {

// Whether weights are kept narrow has no effect with products that are not.
Numerics said_of(Plan plan) {
  Numerics n = numerics_of(plan);
  plan.fp8_params = true;
  if (!keeps_fp8_weights(plan)) n.fp8_params = true;
  return n;
}

TEST(PublishedNumerics, EachRecipeHasTheFormatsOfItsRun) {
  std::map<std::string, MeasuredRun> runs;
  const std::string rows = "configs/validation/runs.jsonl";
  for (MeasuredRun& run : read_runs(read_text_file(rows), rows)) {
    runs.emplace(run.id, std::move(run));
  }
  const std::string file = "configs/numerics/published.json";
  RunCatalog catalog({});
  int checked = 0;
  for (const NumericsRecipe& r : read_published_numerics(read_text_file(file), file).recipes) {
    if (r.run.empty()) continue;
    ASSERT_TRUE(runs.contains(r.run)) << r.name;
    const PreparedRun run = catalog.prepare(runs.at(r.run));
    ASSERT_TRUE(run.request) << r.name << ": " << run.reason;
    Numerics own;
    for (const NumericsValue& v : r.values) put(v, own);
    EXPECT_EQ(own, said_of(run.request->plan)) << r.name;
    ++checked;
  }
  EXPECT_GE(checked, 20);
}

}  // namespace
}  // namespace pleat
