// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What happens around the steps: stopping after one, saving between two, ranks that wait for each
// other, and reports that travel as bytes.
#include "backend/trainer.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <stdexcept>

#include "backend/rank_report.hpp"
#include "tests/backend/train_runs.hpp"

namespace pleat {
namespace {

using test::fp32_plan;

TEST(Stop, EndsAllRanksAfterTheSameStepAndSavesOnEach) {
  for (const Stop reason : {Stop::terminate, Stop::interrupt}) {
    TrainConfig config = test::small_config(5);
    std::atomic<int> asked = 0;
    // One of the four ranks says so in the second step.
    config.stop_requested = [&] { return ++asked == 7 ? reason : Stop::none; };
    std::mutex mutex;
    std::multiset<int> boundaries, last;
    config.after_step = [&](const StepBoundary& b) {
      const std::lock_guard lock(mutex);
      boundaries.insert(b.next_step);
      if (b.stop == reason) last.insert(b.next_step);
    };
    const TrainResult r = train(test::small_program(fp32_plan(2, 2, 2)), config);
    EXPECT_EQ(r.stop, reason);
    EXPECT_EQ(r.steps.size(), 2U);
    EXPECT_EQ(boundaries, (std::multiset<int>{1, 1, 1, 1, 2, 2, 2, 2}));
    EXPECT_EQ(last, (std::multiset<int>{2, 2, 2, 2}));
    EXPECT_EQ(r.ranks.size(), 4U);
    EXPECT_FALSE(r.weights.empty());
  }
}

TEST(Stop, AfterTheLastStepIsNone) {
  TrainConfig config = test::small_config(1);
  config.stop_requested = [] { return Stop::terminate; };
  EXPECT_EQ(train(test::small_program(fp32_plan()), config).stop, Stop::none);
}

TEST(Stall, NamesEveryRankAndTheOperationItWaitsIn) {
  Program program = test::small_program(fp32_plan(1, 1, 2));
  for (SharedLayer& shared : program.stages[0].layers) {
    LayerProgram& layer = shared.own();
    std::erase_if(layer.forward, [](const Op& op) { return op.kind == OpKind::send; });
    compute_lifetimes(layer);
  }
  TrainConfig config = test::small_config();
  config.stall_seconds = 0.3;
  try {
    static_cast<void>(train(program, config));
    FAIL();
  } catch (const ExecutionError& e) {
    EXPECT_STREQ(
        e.what(),
        "no operation finished for 0.3 s: rank 0 waits in 'recv.grad' (recv over pp_next), "
        "layer 7, microbatch 0, step 0; rank 1 waits in 'recv' (recv over pp_prev), layer "
        "6, microbatch 0, step 0");
  }
}

TEST(Where, RanksInOnePlaceStandTogether) {
  const auto at = [](int rank, const char* where) { return RankWhere{{rank}, where}; };
  EXPECT_EQ(where_all(std::vector{at(0, "waits"), at(1, "computes"), at(2, "waits"), at(3, "waits"),
                                  at(5, "waits")}),
            "rank 0, 2-3, 5 waits; rank 1 computes");
  RankProgress p;
  EXPECT_EQ(where_text(p), "waits before the first step");
  p.step = 3;
  EXPECT_EQ(where_text(p), "waits for the other ranks at the end of step 3");
  Op op;
  op.name = "fc1";
  op.kind = OpKind::gemm;
  p.running = &op;
  EXPECT_EQ(where_text(p), "computes 'fc1', step 3");
}

TEST(Report, SurvivesTheTrip) {
  RankReport r;
  r.measured = {12345, 678, 9012, 345, {{{0, 1}, {.routed = 17, .kept = 3}}, {{1, 2}, {}}}};
  r.router_margin = 0.25;
  Span span;
  span.key = {1, 2, 3, 4, Pass::backward, "fc1.dgrad"};
  span.rank = 5;
  span.stream = Stream::comm;
  span.start_s = 0.5;
  span.duration_s = 1e-9;
  span.category = "moe";
  span.bytes = 99;
  span.track = 2;
  r.spans = {span, {}};
  r.tensors.weights[Bucket::expert] = {{0, {1.5F, -2}}, {4, {}}};
  r.tensors.gradients[Bucket::dense] = {{7, {3.25F}}};
  const std::vector<std::byte> bytes = pack(r);
  const RankReport back = unpack(bytes);
  EXPECT_EQ(back.measured.peak_live_bytes, 12345);
  EXPECT_EQ(back.measured.peak_host_bytes, 678);
  EXPECT_EQ(back.measured.block_bytes, 9012);
  EXPECT_EQ(back.measured.device_bytes, 345);
  EXPECT_EQ(back.measured.routed, r.measured.routed);
  EXPECT_EQ(back.router_margin, 0.25);
  ASSERT_EQ(back.spans.size(), 2U);
  EXPECT_EQ(back.spans[0].key, span.key);
  EXPECT_EQ(back.spans[0].category, "moe");
  EXPECT_EQ(back.spans[0].duration_s, 1e-9);
  EXPECT_EQ(back.spans[0].track, 2);
  EXPECT_EQ(back.tensors.weights, r.tensors.weights);
  EXPECT_EQ(back.tensors.gradients, r.tensors.gradients);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_THROW(static_cast<void>(unpack(std::span(bytes).first(n))), std::runtime_error) << n;
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back({});
  EXPECT_THROW(static_cast<void>(unpack(longer)), std::runtime_error);
}

}  // namespace
}  // namespace pleat
