// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A sample of random layouts, and what the sample covers.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "core/plan/layout.hpp"
#include "tests/backend/random_layouts_test.hpp"

namespace pleat::test {
namespace {

constexpr unsigned kFirst = 1, kEnd = 91;

INSTANTIATE_TEST_SUITE_P(Quick, RandomLayouts, testing::Range(kFirst, kEnd));

// A layout as it was published has the prediction block on the stage before the loss.
TEST(RandomLayout, OfAPublishedRecipe) {
  const TrainConfig config = small_config(3);
  for (const bool tied : {false, true}) {
    ModelSpec model = with_depth(small_mla());
    model.layers = 8;
    model.moe_layer.assign(8, true);
    model.tied_embeddings = tied;
    const TrainResult one = run(model, fp32_plan(), config);
    for (const char* layout : {"Etttt|tttt|mL", "Etttt|ttttm|L", "Etttttttt|m|L"}) {
      Plan plan = fp32_plan(1, 1, 3);
      plan.layout = layout;
      const TrainResult many = run(model, plan, config);
      SCOPED_TRACE(layout);
      EXPECT_NEAR(many.steps[2].loss, one.steps[2].loss, 1e-5 * one.steps[2].loss);
      expect_close(many.gradients, one.gradients, 1e-5);
    }
  }
}

// Where the prediction block stands, and what else the sample has.
TEST(RandomLayout, SampleHasEveryPlaceOfTheBlocks) {
  std::map<std::string, int> found;
  for (unsigned seed = kFirst; seed < kEnd; ++seed) {
    const RandomLayout c = LayoutMaker(seed).make();
    const std::vector<VirtualStage> stages = stage_layout(c.plan, c.model);
    const bool pipeline = c.plan.attention.pp > 1;
    for (std::size_t s = 0; s < stages.size() && pipeline; ++s) {
      const VirtualStage& v = stages[s];
      if (!v.mtp && v.layers == 0 && !v.embedding && !v.loss) ++found["empty stage"];
      if (!v.mtp) continue;
      const bool between = s > 0 && s + 1 < stages.size();
      if (between && v.layers == 0) ++found["block alone"];
      if (between && v.layers > 0) ++found["block in the middle"];
      if (between && c.model.tied_embeddings) ++found["block in the middle, tied"];
      if (v.loss && v.layers > 0) ++found["block with layers and loss"];
      if (v.loss && v.layers == 0) ++found["block with loss alone"];
      if (v.embedding) ++found["block with the embedding"];
    }
    if (pipeline) ++found[name_of(c.plan.schedule)];
    if (c.plan.vpp > 1) ++found["vpp"];
    if (c.workload.capacity_factor > 0) ++found["capacity"];
    if (c.packing.end_of_document >= 0) ++found["documents"];
    if (c.model.moe && c.model.moe->aux_loss > 0) ++found["router losses"];
    if (c.plan.optimizer.state_offload > 0) ++found["state in host memory"];
    if (c.model.mtp_layers > 1) ++found["several depths"];
  }
  for (const char* what :
       {"empty stage", "block alone", "block in the middle", "block in the middle, tied",
        "block with layers and loss", "block with loss alone", "block with the embedding", "1f1b",
        "zb-h1", "zb-v", "dualpipe", "dualpipe-v", "vpp", "capacity", "documents", "router losses",
        "state in host memory", "several depths"}) {
    EXPECT_GE(found[what], 2) << what;
  }
}

}  // namespace
}  // namespace pleat::test
