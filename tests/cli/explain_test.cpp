// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What an explanation says, word for word, and that its figures are those of separate predictions.
#include <gtest/gtest.h>

#include <set>

#include "cli/report/explain_report.hpp"
#include "tests/simulator/random_cases.hpp"

namespace pleat::cli {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

ClusterSpec hundred_gib() {
  ClusterSpec c;
  c.gpu.memory = Bytes(100.0 * kGiB);
  return c;
}

// 2 s: 1.2 s of GEMM, 0.5 s of all-to-all, 0.3 s of bubble; 60 GiB.
StepEstimate two_seconds() {
  StepEstimate e;
  e.step = Seconds(2);
  const auto part = [&](CostClass cls, double s) {
    e.parts[static_cast<std::size_t>(cls)] = Seconds(s);
  };
  part(CostClass::gemm, 1.2);
  part(CostClass::ep_comm, 0.5);
  part(CostClass::bubble, 0.3);
  e.stages = {{Stage{0}, Seconds(1.6), Seconds(0.4)}, {Stage{1}, Seconds(1.7), Seconds(0.3)}};
  StageMemory m;
  m.weights = 10 * kGiB;
  m.activations = 50 * kGiB;
  m.peak = 60 * kGiB;
  e.memory = {m};
  e.fits = true;
  return e;
}

PricedChange change(const char* text, double step, double more_gib, bool fits,
                    bool arithmetic = false) {
  const auto more = static_cast<std::int64_t>(more_gib * kGiB);
  return {{text, {}, arithmetic}, Seconds(step), Seconds(2 - step), 60 * kGiB + more, more, fits};
}

TEST(Explain, SaysWhatBoundsTheStepAndThatMemoryForbids) {
  Explanation x;
  x.stage = 1;
  x.changes = {change("micro-batch 1 -> 2", 1.5, 50, false)};
  EXPECT_EQ(
      bound_sentences(two_seconds(), hundred_gib(), x),
      "The step takes 2.000 s; the busiest stage is 1. Most of it goes to dense matrix products: "
      "1.200 s (60.0%); then the experts' all-to-all that nothing hides: 500.00 ms (25.0%), the "
      "pipeline bubble: 300.00 ms (15.0%).\n"
      "Memory: stage 0 peaks at 60.00 GiB of 100.00 GiB (60%), 40.00 GiB are left; activations "
      "hold most, 50.00 GiB.\n"
      "Memory binds: micro-batch 1 -> 2 would take 1.500 s instead of 2.000 s: 0.500 s less "
      "(25.00%), 50.00 GiB more memory, and does not fit.");
}

TEST(Explain, SaysByHowMuchAPlanDoesNotFit) {
  ClusterSpec small = hundred_gib();
  small.gpu.memory = Bytes(48.0 * kGiB);
  EXPECT_NE(bound_sentences(two_seconds(), small, {})
                .find("peaks at 60.00 GiB of 48.00 GiB (125%), 12.00 GiB too much"),
            std::string::npos);
}

TEST(Explain, SaysWhichChangeHelpsMost) {
  Explanation x;
  x.changes = {change("precision bf16 -> fp8", 1.5, -2, true, true),
               change("EP 8 -> 16", 1.8, -1.5, true), change("VPP 2 -> 4", 1.9, 0, true),
               change("TP 1 -> 2", 2.5, 0, true), change("micro-batch 1 -> 2", 1.2, 90, false)};
  EXPECT_EQ(
      change_sentences(two_seconds(), x),
      "What helps most: EP 8 -> 16 would take 1.800 s instead of 2.000 s: 0.200 s less (10.00%), "
      "1.50 GiB less memory.\n"
      "With other number formats: precision bf16 -> fp8 would take 1.500 s instead of 2.000 s: "
      "0.500 s less (25.00%), 2.00 GiB less memory.\n"
      "1 of 5 legal changes gain less than 0.1% or lose time.");
}

TEST(Explain, SaysWhenNothingHelps) {
  Explanation x;
  x.changes = {change("EP 8 -> 16", 1.9999, 0, true), change("TP 1 -> 2", 2.5, 0, true),
               change("micro-batch 1 -> 2", 1.2, 90, false)};
  EXPECT_EQ(change_sentences(two_seconds(), x),
            "Nothing helps: none of 3 single changes gains 0.1% and fits.\n"
            "2 of 3 legal changes gain less than 0.1% or lose time.");
  EXPECT_EQ(x.best(false), nullptr);
}

Request request_of(const test::RandomCase& c) {
  Request r;
  r.target.model = c.model;
  r.target.cluster = c.platform.cluster;
  r.target.profile = c.platform.profile;
  r.target.workload = c.workload;
  r.target.runtime = Runtime::megatron;
  r.target.gpus = c.plan.world();
  r.plan = c.plan;
  return r;
}

TEST(Explain, EveryChangeIsLegalAndOnTheSameGpus) {
  std::set<std::string> kinds;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    const test::RandomCase c = test::random_case(seed);
    SCOPED_TRACE(c.name());
    const Request r = request_of(c);
    std::set<std::string> texts;
    for (const SingleChange& change : single_changes(r.target, r.plan)) {
      EXPECT_TRUE(texts.insert(change.text).second) << change.text;
      EXPECT_FALSE(change.plan == r.plan) << change.text;
      EXPECT_EQ(change.plan.world(), r.target.gpus) << change.text;
      EXPECT_TRUE(violations({c.model, c.workload, change.plan, r.target.gpus}).empty())
          << change.text;
      kinds.insert(change.text.substr(0, change.text.find(' ')));
    }
  }
  for (const char* kind : {"micro-batch", "TP", "CP", "PP", "VPP", "EP", "recompute", "offload",
                           "dispatcher", "expert", "CUDA", "sharding", "precision"}) {
    EXPECT_TRUE(kinds.contains(kind)) << kind;
  }
}

TEST(Explain, FiguresAreThoseOfSeparatePredictions) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const test::RandomCase c = test::random_case(seed);
    SCOPED_TRACE(c.name());
    const StepEstimate e = c.price();
    const Explanation x = explain_plan(request_of(c), c.program(), e, 1);
    Seconds last;
    bool fits = true;
    for (const PricedChange& change : x.changes) {
      test::RandomCase other = c;
      other.plan = change.change.plan;
      const StepEstimate again = other.price();
      EXPECT_EQ(change.step, again.step) << change.change.text;
      EXPECT_EQ(change.gain, e.step - again.step);
      EXPECT_EQ(change.peak_bytes, again.peak_bytes());
      EXPECT_EQ(change.more_bytes, again.peak_bytes() - e.peak_bytes());
      EXPECT_EQ(change.fits, again.fits);
      // Those that fit come first, the fastest first.
      if (fits && !change.fits) last = Seconds(0);
      EXPECT_TRUE(fits || !change.fits);
      EXPECT_GE(change.step, last);
      last = change.step;
      fits = change.fits;
    }
    EXPECT_EQ(x.changes.size(), explain_plan(request_of(c), c.program(), e, 3).changes.size());
  }
}

// Without overlap, what the operations of the busiest stage take is what it is busy with, less the
// host's share.
TEST(Explain, OperationsAddUpToTheBusyTime) {
  int tried = 0;
  for (unsigned seed = 1; seed <= 250; ++seed) {
    test::RandomCase c = test::random_case(seed);
    c.plan.overlap = {.grad_reduce = false, .param_gather = false};
    c.plan.cuda_graph = CudaGraph::none;
    const bool hides = c.plan.attention.tp > 1 ||
                       c.plan.attention.cp > 1 ||  // exchanges beside compute
                       c.plan.sharding == Sharding::zero2 || c.plan.sharding == Sharding::zero3;
    if (!c.legal() || hides) continue;
    SCOPED_TRACE(c.name());
    const StepEstimate e = c.price();
    const Explanation x = explain_plan(request_of(c), c.program(), e, 1);
    double sum = 0;
    for (const OpTotal& op : x.ops) {
      EXPECT_GT(op.count, 0);
      if (op.cls != CostClass::pp_comm) sum += op.time.base();
    }
    const double host = e.parts[static_cast<std::size_t>(CostClass::host)].base();
    double busy = 0;
    for (const StageTime& stage : e.stages) busy = std::max(busy, stage.busy.base());
    EXPECT_NEAR(sum, busy - host, 1e-6 * busy);
    ++tried;
  }
  EXPECT_GE(tried, 30);
}

}  // namespace
}  // namespace pleat::cli
