// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Where a training step on the CPU goes, on one rank: shares of the step's time that are matrix
// products, other kernels, and what the executor adds around them.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "backend/trainer.hpp"
#include "core/spec/catalog.hpp"

namespace pleat {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

bool is_product(OpKind kind) { return kind == OpKind::gemm || kind == OpKind::grouped_gemm; }

// Second step of a run, so that memory is warm.
void train_step(benchmark::State& state, const std::string& model, Precision precision) {
  const WorkloadSpec workload{.seq_len = 256, .global_batch = 4};
  Plan plan;
  plan.precision = precision;
  plan.sharding = Sharding::none;
  plan.micro_batch = 4;
  const Program program = compile(load_model(model).model, workload, plan, Runtime::pleat);
  TrainConfig config;
  config.steps = 2;
  for (int i = 0; i < 4096; ++i) config.text.push_back(static_cast<std::uint8_t>(i * 37 % 251));
  double products = 0, kernels = 0;
  Clock::time_point begin;
  int step = 0;
  config.before_op = [&](Rank, const Op&, int now) {
    step = now;
    begin = Clock::now();
  };
  config.after_op = [&](Rank, const Op& op, std::span<const View>) {
    if (step == 0) return;
    const double seconds = seconds_since(begin);
    kernels += seconds;
    if (is_product(op.kind)) products += seconds;
  };
  double steps = 0;
  for (auto _ : state) {
    const TrainResult result = train(program, config);
    state.SetIterationTime(result.steps[1].seconds);
    steps += result.steps[1].seconds;
  }
  state.counters["products_%"] = 100 * products / steps;
  state.counters["other_kernels_%"] = 100 * (kernels - products) / steps;
  state.counters["executor_%"] = 100 * (steps - kernels) / steps;
}
BENCHMARK_CAPTURE(train_step, small_moe_fp32, "small-moe", Precision::fp32)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);
BENCHMARK_CAPTURE(train_step, small_moe_bf16, "small-moe", Precision::bf16)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);

}  // namespace
}  // namespace pleat
