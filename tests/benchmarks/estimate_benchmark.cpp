// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What an estimate costs: from nothing, in a search that knows the layers already, and warm; then
// against layers, microbatches and stages. `pleat_benchmarks --benchmark_filter=...`.
#include <benchmark/benchmark.h>

#include <unistd.h>

#include <filesystem>
#include <memory>

#include "core/json/text_file.hpp"
#include "core/plan/layout.hpp"
#include "core/spec/catalog.hpp"
#include "simulator/estimator.hpp"

namespace pleat {
namespace {

struct Case {
  ModelSpec model = load_model("deepseek-v3").model;
  ClusterSpec cluster = load_cluster("gb300-nvl72");
  Profile profile = load_profile("gb300-nvl72-megatron");
  WorkloadSpec workload{.seq_len = 4096, .global_batch = 4096};
  Plan plan;

  // Megatron-Bridge's recipe for 256 GB300, but for its CUDA graphs.
  Case() {
    plan.attention = {.tp = 1, .cp = 1, .dp = 128, .pp = 2};
    plan.expert = {.etp = 1, .ep = 32, .edp = 4};
    plan.vpp = 8;
    plan.layout = "Et*4|(t*4|)*14tmL";
    plan.precision = Precision::mxfp8;
    plan.dispatcher = Dispatcher::hybridep;
    plan.overlap.expert_parallel = true;
    plan.overlap.delay_wgrad = true;
  }
  // 256 GPUs as `pp` stages of `vpp` chunks with this many microbatches.
  Case(int pp, int vpp, int microbatches) : Case() {
    plan.attention.pp = pp;
    plan.attention.dp = 256 / pp;
    plan.expert.edp = plan.attention.dp / plan.expert.ep;
    if (plan.expert.edp == 0) plan.expert = {.etp = 1, .ep = plan.attention.dp, .edp = 1};
    plan.vpp = vpp;
    plan.layout.clear();
    plan.overlap = {};
    workload.global_batch = std::int64_t{plan.attention.dp} * microbatches;
    model.mtp_layers = 0;
  }
};

void cold(benchmark::State& state) {
  const Case c;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        estimate(compile(c.model, c.workload, c.plan, Runtime::megatron), c.cluster, c.profile));
  }
}
BENCHMARK(cold)->Unit(benchmark::kMicrosecond);

// Layouts of the plan with one layer moved from one virtual stage to another.
std::vector<std::string> moved_layers(const Case& c) {
  const std::vector<VirtualStage> stages = stage_layout(c.plan, c.model);
  std::vector<std::string> layouts;
  for (std::size_t from = 0; from < stages.size(); ++from) {
    for (std::size_t to = 0; to < stages.size(); ++to) {
      std::vector<VirtualStage> moved = stages;
      if (from == to || moved[from].layers == 0) continue;
      --moved[from].layers;
      ++moved[to].layers;
      layouts.push_back(to_layout_string(moved));
    }
  }
  return layouts;
}

// A plan never seen, of layers that are known: what most plans of a search are.
void new_plan_of_known_layers(benchmark::State& state) {
  Case c;
  const std::vector<std::string> layouts = moved_layers(c);
  std::unique_ptr<Estimator> estimator;
  std::size_t next = layouts.size();
  const Plan first = c.plan;
  for (auto _ : state) {
    if (next == layouts.size()) {
      state.PauseTiming();
      estimator = std::make_unique<Estimator>(c.model, c.workload, c.cluster, c.profile,
                                              Runtime::megatron);
      benchmark::DoNotOptimize((*estimator)(first));
      next = 0;
      state.ResumeTiming();
    }
    c.plan.layout = layouts[next++];
    benchmark::DoNotOptimize((*estimator)(c.plan));
  }
}
BENCHMARK(new_plan_of_known_layers)->Unit(benchmark::kMicrosecond);

void warm(benchmark::State& state) {
  const Case c;
  const Estimator estimator(c.model, c.workload, c.cluster, c.profile, Runtime::megatron);
  benchmark::DoNotOptimize(estimator(c.plan));
  for (auto _ : state) benchmark::DoNotOptimize(estimator(c.plan));
}
BENCHMARK(warm)->Unit(benchmark::kMicrosecond);

// Stages, chunks a stage, microbatches.
void warm_by_schedule(benchmark::State& state) {
  const Case c(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)),
               static_cast<int>(state.range(2)));
  const Estimator estimator(c.model, c.workload, c.cluster, c.profile, Runtime::megatron);
  benchmark::DoNotOptimize(estimator(c.plan));
  for (auto _ : state) benchmark::DoNotOptimize(estimator(c.plan));
}
BENCHMARK(warm_by_schedule)
    ->Unit(benchmark::kMicrosecond)
    ->ArgNames({"pp", "vpp", "microbatches"})
    ->ArgsProduct({{2, 4, 8, 16}, {1}, {32}})
    ->ArgsProduct({{8}, {1, 2, 4}, {32}})
    ->ArgsProduct({{8}, {1}, {16, 64, 128, 256}});

void cold_by_layers(benchmark::State& state) {
  Case c(4, 1, 32);
  c.model.layers = state.range(0);
  c.model.moe_layer.resize(static_cast<std::size_t>(c.model.layers), true);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        estimate(compile(c.model, c.workload, c.plan, Runtime::megatron), c.cluster, c.profile));
  }
}
// The timeline of every operation and its Perfetto file, in memory and written.
void trace(benchmark::State& state) {
  Case c(8, 1, 32);
  c.plan.layout = to_layout_string(even_layout(c.model.layers, false, 8, 1));
  const Program program = compile(c.model, c.workload, c.plan, Runtime::megatron);
  const std::string path =
      (std::filesystem::temp_directory_path() / ("pleat-trace-" + std::to_string(::getpid())))
          .string();
  for (auto _ : state) {
    const std::string text = write_trace(predicted_trace(program, c.cluster, c.profile));
    if (state.range(0) == 1) write_text_file(path, text);
    state.counters["MB"] = static_cast<double>(text.size()) / 1e6;
  }
  std::filesystem::remove(path);
}
BENCHMARK(trace)->Unit(benchmark::kMillisecond)->ArgName("written")->Arg(0)->Arg(1);

BENCHMARK(cold_by_layers)
    ->Unit(benchmark::kMicrosecond)
    ->ArgName("layers")
    ->Arg(16)
    ->Arg(64)
    ->Arg(256);

}  // namespace
}  // namespace pleat

BENCHMARK_MAIN();
