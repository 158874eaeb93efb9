// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What a search costs, to proven optimality, on one thread: against GPUs, layers and axes, on the
// spaces of other planners, and beside pricing every plan. `pleat_benchmarks
// --benchmark_filter=search`. Counters: plans of the space (M), plans priced, and plans a second
// and core.
#include <benchmark/benchmark.h>

#include <numeric>

#include "core/spec/catalog.hpp"
#include "planner/search/search.hpp"
#include "simulator/estimator.hpp"
#include "tests/planner/space/every_plan.hpp"

namespace pleat {
namespace {

struct SearchCase : Problem {
  SearchConfig config;

  SearchCase(const char* model_name, const char* cluster_name, int gpus, std::int64_t global_batch,
             std::int64_t seq_len, Precision precision = Precision::bf16)
      : Problem{load_model(model_name).model, load_cluster(cluster_name),
                {.seq_len = seq_len, .global_batch = global_batch},
                load_profile(std::string(cluster_name) + "-megatron")} {
    config.gpus = gpus;
    config.threads = 1;
    config.numerics.front().precision = precision;
  }
};

void run(benchmark::State& state, const SearchCase& c) {
  SearchResult result;
  for (auto _ : state) {
    result = search(c, c.config);
    if (!result.optimal || result.best.empty()) state.SkipWithError("not solved");
  }
  const auto plans = static_cast<double>(result.enumerated);
  state.counters["plans_M"] = plans / 1e6;
  state.counters["priced"] = static_cast<double>(result.priced);
  state.counters["plans_per_s"] =
      benchmark::Counter(plans, benchmark::Counter::kIsIterationInvariantRate);
}

// DeepSeek-V3, 16 sequences a GPU, everything free.
void search_gpus(benchmark::State& state) {
  const auto gpus = static_cast<int>(state.range(0));
  run(state, {"deepseek-v3", "gb300-nvl72", gpus, std::int64_t{16} * gpus, 4096, Precision::mxfp8});
}
BENCHMARK(search_gpus)
    ->RangeMultiplier(4)
    ->Range(128, 131072)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

// One sequence a GPU: short pipelines, where exchanges of gradients decide.
void search_short_steps(benchmark::State& state) {
  const auto gpus = static_cast<int>(state.range(0));
  run(state, {"deepseek-v3", "gb300-nvl72", gpus, gpus, 4096, Precision::mxfp8});
}
BENCHMARK(search_short_steps)->Arg(1024)->Arg(131072)->Unit(benchmark::kMillisecond)->Iterations(1);

void search_mixtral(benchmark::State& state) {
  run(state, {"mixtral-8x22b", "h100-sxm", 1024, 1024, 4096});
}
BENCHMARK(search_mixtral)->Unit(benchmark::kMillisecond)->Iterations(1);

void search_layers(benchmark::State& state) {
  SearchCase c("qwen3-235b-a22b", "h100-sxm", 512, 2048, 4096);
  c.model.layers = state.range(0);
  c.model.moe_layer.assign(static_cast<std::size_t>(c.model.layers), true);
  c.model.layer_traits.clear();
  run(state, c);
}
BENCHMARK(search_layers)
    ->Arg(24)
    ->Arg(48)
    ->Arg(96)
    ->Arg(192)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

// 0: degrees, microbatch and layout; 1: with recompute; 2: with offload; 3: with the settings.
void search_axes(benchmark::State& state) {
  SearchCase c("deepseek-v3", "gb300-nvl72", 256, 4096, 4096, Precision::mxfp8);
  const auto axes = state.range(0);
  c.config.recompute = axes >= 1;
  c.config.offload = axes >= 2;
  if (axes < 3) {
    c.config.pin<"sharding">() = Sharding::zero1;
    c.config.pin<"dispatcher">() = Dispatcher::hybridep;
    c.config.pin<"cuda-graph">() = CudaGraph::full_iteration;
    c.config.pin<"cp-comm">() = CpComm::p2p;
    c.config.hybrid_sharding = false;
    c.config.pin<"ep-overlap">() = c.config.pin<"tp-overlap">() = false;
    c.config.pin<"shared-expert-overlap">() = false;
  }
  run(state, c);
}
BENCHMARK(search_axes)->DenseRange(1, 3)->Unit(benchmark::kMillisecond)->Iterations(1);

// The spaces that Calculon searches exhaustively: 4,096 A100 of 80 GB, 4,096 sequences of 2,048
// tokens. Argument: with offload.
void search_calculon(benchmark::State& state, const char* model) {
  SearchCase c(model, "a100-sxm", 4096, 4096, 2048);
  c.config.offload = state.range(0) != 0;
  run(state, c);
}
BENCHMARK_CAPTURE(search_calculon, gpt3_175b, "gpt3-175b")
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(search_calculon, megatron_1t, "gpt-1008.0b")
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

// A space small enough to price every plan of it: 64 H100, pinned but for pipeline, experts and
// flags.
SearchCase small_space() {
  SearchCase c("mixtral-8x7b", "h100-sxm", 64, 256, 4096);
  c.config.pin<"tp">() = {1};
  c.config.pin<"cp">() = {1};
  c.config.pin<"micro-batch">() = {1, 2};
  c.config.pin<"vpp">() = {1, 2};
  c.config.pin<"etp">() = {1};
  RecomputeChoice activation, all;
  activation.modules = {Module::moe_act};
  all.full = true;
  c.config.recompute_sets = {{}, activation, all};
  return c;
}

void small_space_priced(benchmark::State& state) {
  const SearchCase c = small_space();
  const auto plans = enumerate_plans(c, c.config);
  for (auto _ : state) {
    const Estimator estimator(c.model, c.workload, c.cluster, c.profile, c.config.runtime);
    for (const SpacePlan& p : plans) benchmark::DoNotOptimize(estimator(p.plan));
  }
  state.counters["priced"] = static_cast<double>(plans.size());
  state.counters["plans_per_s"] = benchmark::Counter(static_cast<double>(plans.size()),
                                                     benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(small_space_priced)->Unit(benchmark::kMillisecond)->Iterations(1);

void small_space_searched(benchmark::State& state) { run(state, small_space()); }
BENCHMARK(small_space_searched)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pleat
