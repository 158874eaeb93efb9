// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/training/recorded_routing.hpp"

#include <gtest/gtest.h>

#include "core/spec/catalog.hpp"

namespace pleat {
namespace {

// Two ranks of an expert group in each of two replicas, one layer, one microbatch.
struct Job {
  Program program;
  TrainResult result;
  std::int64_t mean = 0;

  explicit Job(const char* model) {
    Plan plan;
    plan.attention = {.tp = 1, .cp = 1, .dp = 4, .pp = 1};
    const ModelSpec spec = load_model(model).model;
    plan.expert = {.etp = 1, .ep = spec.moe ? 2 : 1, .edp = spec.moe ? 2 : 4};
    const WorkloadSpec workload{.seq_len = 32, .global_batch = 4, .routing = Routing::natural};
    program = compile(spec, workload, plan, Runtime::pleat);
    mean = balanced_routed_tokens(spec, workload, plan);
    result.ranks.resize(4);
  }
  void routed(int rank, int layer, double share) {
    result.ranks[static_cast<std::size_t>(rank)].routed[{0, layer}].routed =
        static_cast<std::int64_t>(share * static_cast<double>(mean));
  }
};

TEST(RecordedRouting, IsTheBusiestRankOfEveryExchangeOverTheMean) {
  Job job("tiny-moe");
  ASSERT_GT(job.mean, 0);
  job.routed(0, 1, 1.5);  // replica 0: 1.5 and 0.5
  job.routed(1, 1, 0.5);
  job.routed(2, 1, 0.75);  // replica 1: 1.25
  job.routed(3, 1, 1.25);
  EXPECT_DOUBLE_EQ(recorded_imbalance(job.program, job.result), 1.375);
  // Another layer where all is even: the average moves, the largest does not count twice.
  for (int rank = 0; rank < 4; ++rank) job.routed(rank, 2, 1.0);
  EXPECT_DOUBLE_EQ(recorded_imbalance(job.program, job.result), 1.1875);
}

TEST(RecordedRouting, IsOneWithoutExpertsAndWhereNothingWasRouted) {
  EXPECT_EQ(recorded_imbalance(Job("tiny-moe").program, {}), 1);
  Job dense("megatron-gpt-1.7b");
  EXPECT_EQ(recorded_imbalance(dense.program, dense.result), 1);
}

}  // namespace
}  // namespace pleat
