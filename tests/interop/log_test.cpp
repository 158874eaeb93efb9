// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Megatron-LM logs: lines in their documented formats, arguments to a plan, odd input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"
#include "core/plan/constraints.hpp"
#include "core/spec/catalog.hpp"
#include "interop/megatron_import.hpp"
#include "interop/megatron_log.hpp"

namespace pleat::interop_test {
namespace {

using namespace interop;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

MegatronLog mixtral() {
  return parse_megatron_log(read_text_file(std::string(PLEAT_SOURCE_DIR) +
                                           "/tests/interop/data/megatron_mixtral.log"));
}

TEST(MegatronLog, ReadsIterationsOnce) {
  const MegatronLog log = mixtral();
  ASSERT_THAT(log.iterations, SizeIs(10));  // the eleventh line repeats the tenth from another rank
  EXPECT_EQ(log.iterations[0].iteration, 1);
  EXPECT_DOUBLE_EQ(log.iterations[0].milliseconds, 61234.5);
  EXPECT_DOUBLE_EQ(log.iterations[9].milliseconds, 7015.1);
  EXPECT_TRUE(log.iterations[9].tflops_per_gpu.has_value());
}

TEST(MegatronLog, DropsWarmUpAndTakesTheMedian) {
  const LogTimes times = log_times(mixtral(), 3, "log");
  EXPECT_EQ(times.used, 7u);
  EXPECT_DOUBLE_EQ(times.median_seconds, 7.0151);
  EXPECT_DOUBLE_EQ(times.fastest_seconds, 7.0089);
  EXPECT_DOUBLE_EQ(times.slowest_seconds, 7.0317);
  EXPECT_DOUBLE_EQ(log_times(mixtral(), 8, "log").median_seconds, (7.0244 + 7.0151) / 2);
  EXPECT_THROW(static_cast<void>(log_times(mixtral(), 10, "log")), ConfigError);
}

TEST(MegatronLog, ReadsMemoryByRank) {
  const MegatronLog log = mixtral();
  ASSERT_THAT(log.memory, SizeIs(2));
  EXPECT_EQ(log.memory.at(0).max_allocated, static_cast<std::int64_t>(61440.5 * 1048576));
  EXPECT_EQ(log.memory.at(16).max_reserved, static_cast<std::int64_t>(61000.0 * 1048576));
}

TEST(MegatronLog, ArgumentsBecomeAPlan) {
  const ImportedRun run = import_arguments(mixtral().arguments, 0, "log");
  const PlanDocument& d = run.document;
  Plan want;
  want.attention = {.tp = 1, .cp = 1, .dp = 16, .pp = 4};
  want.expert = {.etp = 1, .ep = 8, .edp = 2};
  want.vpp = 2;
  want.sequence_parallel = false;
  want.recompute = {Module::core_attn, Module::moe_act};
  want.fusions.permute = want.fusions.router = false;  // no flag asks for them
  EXPECT_TRUE(d.plan == want) << summary(d.plan);
  EXPECT_EQ(d.gpus, 64);
  EXPECT_EQ(d.workload.global_batch, 256);
  EXPECT_THAT(violations({d.model, d.workload, d.plan, d.gpus}), IsEmpty());
  ModelSpec mixtral = load_model("mixtral-8x7b").model;
  mixtral.name = d.model.name;
  mixtral.model_type = d.model.model_type;
  mixtral.ffn = d.model.ffn;  // no layer is dense
  EXPECT_TRUE(d.model == mixtral);
}

TEST(MegatronLog, FusionsAndBucketsAsTheArgumentsSay) {
  auto arguments = mixtral().arguments;
  arguments["moe_permute_fusion"] = {"True"};
  arguments["ddp_bucket_size"] = {"768000000"};
  arguments["ddp_num_buckets"] = {"4"};
  const ImportedRun run = import_arguments(arguments, 0, "log");
  EXPECT_EQ(run.document.plan.fusions, (Fusions{.permute = true, .router = false}));
  EXPECT_EQ(run.document.plan.ddp_bucket_size, 768'000'000);
  EXPECT_THAT(run.ignored, ::testing::Contains("ddp_num_buckets 4"));
}

// Before --cuda-graph-modules it was --cuda-graph-scope.
TEST(MegatronLog, GraphsByWhatTheyCapture) {
  const auto imported = [](const char* member, std::vector<std::string> modules) {
    auto arguments = mixtral().arguments;
    arguments["cuda_graph_impl"] = {"transformer_engine"};
    arguments.erase("cuda_graph_modules");
    arguments[member] = std::move(modules);
    return import_arguments(arguments, 0, "log").document.plan.cuda_graph;
  };
  for (const char* member : {"cuda_graph_modules", "cuda_graph_scope"}) {
    EXPECT_EQ(imported(member, {"attn"}), CudaGraph::attention) << member;
    EXPECT_EQ(imported(member, {"moe_router", "moe_preprocess"}), CudaGraph::router) << member;
    EXPECT_EQ(imported(member, {"attn", "moe_router"}), CudaGraph::partial) << member;
    EXPECT_EQ(imported(member, {"attn", "mlp"}), CudaGraph::partial) << member;
    EXPECT_EQ(imported(member, {}), CudaGraph::partial) << member;  // whole layers
  }
}

TEST(MegatronLog, OldAndOddLines) {
  const MegatronLog log = parse_megatron_log(
      " iteration        1/  317892 | consumed samples: 96 | elapsed time per iteration (ms): "
      "25849.1 "
      "| learning rate: 1.2E-08 | global batch size: 96 | TFLOPs: 77.10 |\r\n"
      "iteration 2/10 | elapsed time per iteration (ms): nan |\n"
      "iteration 3/10 | elapsed time per iteration (ms): -4 |\n"
      "iteration 99999999999999999999/10 | elapsed time per iteration (ms): 4 |\n"
      "iteration | elapsed time per iteration (ms): 5\n"
      "[Rank x] (after 2 iterations) memory (MB) | max allocated: 5\n"
      "[Rank 1] (after 2 iterations) memory (MB) | allocated: 1 | max allocated: inf\n"
      " iteration        4/      10 | elapsed time per iteration (ms): 100.0");
  ASSERT_THAT(log.iterations, SizeIs(2));
  EXPECT_DOUBLE_EQ(log.iterations[0].milliseconds, 25849.1);
  EXPECT_DOUBLE_EQ(*log.iterations[0].tflops_per_gpu, 77.1);
  EXPECT_EQ(log.iterations[1].iteration, 4);
  EXPECT_THAT(log.memory, IsEmpty());
  EXPECT_THAT(parse_megatron_log(std::string(1000, '\0')).iterations, IsEmpty());
}

TEST(MegatronLog, NamesWhatAnArgumentListLacks) {
  try {
    static_cast<void>(
        import_arguments({{"num_layers", {"4"}}, {"hidden_size", {"x"}}}, 8, "a.log"));
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.exit_code(), ExitCode::bad_file);
    EXPECT_THAT(e.what(), HasSubstr("a.log: hidden_size: 'x' is not a whole number"));
    EXPECT_THAT(e.what(), HasSubstr("seq_length: is not given"));
    EXPECT_THAT(e.what(), HasSubstr("num_attention_heads: is not given"));
  }
}

TEST(PythonValues, ListsAndScalars) {
  EXPECT_THAT(python_values("['core_attn', 'moe']"), ElementsAre("core_attn", "moe"));
  EXPECT_THAT(python_values("[<CudaGraphModule.attn: 2>, <CudaGraphModule.moe_router: 5>]"),
              ElementsAre("attn", "moe_router"));
  EXPECT_THAT(python_values("[]"), IsEmpty());
  EXPECT_THAT(python_values("(127, 0)"), ElementsAre("(127, 0)"));
}

}  // namespace
}  // namespace pleat::interop_test
