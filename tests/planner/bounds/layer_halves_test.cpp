// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Bounds look at a layer's mixer and the rest of it each by itself (LayerLibrary::work): together
// they take and hold no more than the whole layer, and almost as much.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/environment.hpp"
#include "core/plan/constraints.hpp"
#include "core/spec/catalog.hpp"
#include "planner/bounds/layer_bounds.hpp"
#include "planner/space/runtime_rules.hpp"
#include "simulator/estimator.hpp"
#include "simulator/step_timeline.hpp"
#include "tests/planner/laws/plan_changer.hpp"

namespace pleat {
namespace {

constexpr double kHalvesRounded = 1 + 1e-9;

struct HalvesCompared {
  int layers = 0, as_long = 0;
  double least = 1;  // of a layer's time, what its halves take
};

class Halves {
 public:
  Halves(const std::string& model, const std::string& cluster, Runtime runtime)
      : problem_{.model = load_model(model).model,
                 .cluster = load_cluster(cluster),
                 .workload = {.seq_len = 4096, .global_batch = 128},
                 .profile = load_profile(cluster +
                                         (runtime == Runtime::pleat ? "-pleat" : "-megatron"))},
        runtime_(runtime),
        estimator_(problem_.model, problem_.workload, problem_.cluster, problem_.profile, runtime),
        layers_(problem_.model, problem_.workload) {}

  void check(int plans, HalvesCompared& all) {
    for (int i = 0; i < plans; ++i) {
      const Plan plan = draw();
      if (!legal(plan)) continue;
      SCOPED_TRACE(summary(plan));
      LayerMemo whole(problem_.model, problem_.workload, plan,
                      view_cluster(problem_.cluster, plan), runtime_);
      LayerLibrary& library = *estimator_.parts(plan).library;
      for (const LayerVariant& layer : layers_.variants()) {
        if (!is_decoder(layer)) continue;
        for (const bool with_exchanges : {false, true}) {
          compare(whole.work(layer, kClockSteps, problem_.profile, with_exchanges),
                  library.work(layer, kClockSteps, problem_.profile, with_exchanges), all);
        }
        compare(whole.weights(layer), library.least_weights(layer));
      }
    }
  }

 private:
  static constexpr int kGpus = 64;

  Plan draw() {
    Plan plan;
    plan.attention.tp = dice_.one_of<int>({1, 2, 4});
    plan.attention.cp = dice_.one_of<int>({1, 2, 4});
    plan.attention.pp = dice_.one_of<int>({1, 2});
    plan.attention.dp = kGpus / plan.attention.tp / plan.attention.cp / plan.attention.pp;
    plan.expert.ep = problem_.model.moe ? dice_.one_of<int>({1, 2, 8}) : 1;
    plan.expert.edp = kGpus / plan.attention.pp / plan.expert.ep;
    plan.sequence_parallel = plan.attention.tp > 1;
    plan.sharding = Sharding::zero1;
    plan.precision = dice_.one_of(formats());
    for (std::size_t n = dice_.below(6); n > 0; --n) {
      if (Plan other = plan; changer_.change(dice_.one_of(rows_), other, dice_)) {
        changer_.complete(other);
        if (legal(other)) plan = other;
      }
    }
    return plan;
  }

  [[nodiscard]] std::vector<Precision> formats() const {
    std::vector<Precision> list{Precision::bf16};
    const GpuSpec& gpu = problem_.cluster.gpu;
    if (gpu.peak_fp8.base() > 0) {
      list.insert(list.end(), {Precision::fp8, Precision::fp8_delayed, Precision::fp8_block});
    }
    if (gpu.peak_fp4.base() > 0) list.insert(list.end(), {Precision::mxfp8, Precision::nvfp4});
    return list;
  }

  [[nodiscard]] bool legal(const Plan& plan) const {
    return violations({problem_.model, problem_.workload, plan, kGpus}).empty() &&
           refused_by(runtime_, problem_.model, problem_.workload, plan, problem_.cluster.gpu) ==
               nullptr;
  }

  static void compare(const LayerWork& whole, const LayerWork& halves, HalvesCompared& all) {
    for (const std::size_t p : {std::size_t{0}, std::size_t{1}}) {
      EXPECT_NEAR(halves.compute[p].base(), whole.compute[p].base(),
                  1e-9 * whole.compute[p].base());
      EXPECT_NEAR(halves.busy[p].base(), whole.busy[p].base(), 1e-9 * whole.busy[p].base());
      EXPECT_LE(halves.in_order[p].base(), whole.in_order[p].base() * kHalvesRounded);
      EXPECT_LE(halves.exchanges[p].base(), whole.exchanges[p].base() * kHalvesRounded);
      EXPECT_LE(halves.copies[p].base(), whole.copies[p].base() * kHalvesRounded);
      EXPECT_LE(halves.halves[p].base(), whole.halves[p].base() * kHalvesRounded);
      if (whole.in_order[p] <= Seconds(0)) continue;
      const double share = halves.in_order[p] / whole.in_order[p];
      all.least = std::min(all.least, share);
      all.as_long += share > 1 - 1e-9 ? 1 : 0;
      ++all.layers;
    }
    EXPECT_LE(halves.matrix.base(), whole.matrix.base() * kHalvesRounded);
    EXPECT_LE(halves.send.base(), whole.send.base() * kHalvesRounded);
    EXPECT_EQ(halves.saved, whole.saved);
    EXPECT_LE(halves.beside, whole.beside);
  }

  static void compare(const LayerWeights& whole, const LayerWeights& halves) {
    EXPECT_EQ(halves.of, whole.of);
    EXPECT_EQ(halves.replicated, whole.replicated);
    EXPECT_EQ(halves.table, whole.table);
    EXPECT_LE(halves.kept_gradients, whole.kept_gradients);
  }

  Problem problem_;
  Runtime runtime_;
  Estimator estimator_;
  CountedLayers layers_;
  test::PlanChanger changer_{problem_, kGpus};
  std::vector<std::size_t> rows_ = test::PlanChanger::rows();
  test::Dice dice_{17};
};

TEST(LayerHalves, TakeAndHoldNoMoreThanTheWhole) {
  const int plans = environment_variable("PLEAT_EVERY_CASE") ? 400 : 20;
  HalvesCompared all;
  for (const std::string& model : config_names(ConfigKind::model)) {
    for (const char* cluster : {"h100-sxm", "gb200-nvl72", "a100-sxm"}) {
      SCOPED_TRACE(model + " on " + cluster);
      Halves(model, cluster, Runtime::megatron).check(plans, all);
      if (HasFailure()) return;
    }
    SCOPED_TRACE(model + " by pleat");
    Halves(model, "h100-sxm", Runtime::pleat).check(plans, all);
    if (HasFailure()) return;
  }
  EXPECT_GT(all.layers, 10'000);
  EXPECT_GT(all.as_long, all.layers * 9 / 10);
  RecordProperty("layers", all.layers);
  RecordProperty("as long", all.as_long);
  RecordProperty("least", std::to_string(all.least));
}

}  // namespace
}  // namespace pleat
