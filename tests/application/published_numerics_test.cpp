// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The shipped recipes of number formats: each is one that its GPUs and the runtime it ran on have.
#include "core/plan/published_numerics.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/json/text_file.hpp"
#include "core/spec/catalog.hpp"
#include "planner/space/numerics_rules.hpp"

namespace pleat {
namespace {

std::vector<ModelSpec> models() {
  std::vector<ModelSpec> all;
  for (const std::string& name : config_names(ConfigKind::model)) {
    all.push_back(load_model(name).model);
  }
  return all;
}

TEST(PublishedNumerics, EachRecipeIsOneThatItsGpusAndItsRuntimeHave) {
  const std::string file = "configs/numerics/published.json";
  const std::vector<ModelSpec> shipped = models();
  for (const NumericsRecipe& r : read_published_numerics(read_text_file(file), file).recipes) {
    SCOPED_TRACE(r.name);
    Numerics n;
    for (const NumericsValue& v : r.values) put(v, n);
    for (const std::string& gpu : r.gpus)
      EXPECT_TRUE(has_format(load_gpu(gpu), n.precision)) << gpu;
    if (!r.runtime) continue;  // another program's: what it has is judged where it is offered
    int checked = 0;
    for (const ModelSpec& model : shipped) {
      const bool own =
          r.families.empty() || std::ranges::find(r.families, model.model_type) != r.families.end();
      if (!own) continue;
      const Problem problem{model, {}, {}, {}};
      const auto refused = refused_numerics(*r.runtime, problem, n);
      EXPECT_FALSE(refused) << model.name << ": " << refused->message;
      ++checked;
    }
    EXPECT_GT(checked, 0) << "no model that ships is of its families";
  }
}

}  // namespace
}  // namespace pleat
