// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What train() says when a plan, a text or a program cannot be run, and the trace that it keeps.
#include "backend/execute/executor.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/diagnostics.hpp"
#include "tests/backend/train_runs.hpp"

namespace pleat {
namespace {

using test::fp32_plan;

std::string execution_error(const Program& program, TrainConfig config = test::small_config()) {
  try {
    static_cast<void>(train(program, config));
  } catch (const ExecutionError& e) {
    return e.what();
  }
  return "";
}

TEST(Supported, NamesEverythingThatTheBackendCannotRun) {
  Program program = test::small_program(fp32_plan());
  program.plan.flash_attention = false;
  program.plan.precision = Precision::fp16;
  try {
    static_cast<void>(train(program, test::small_config()));
    FAIL();
  } catch (const ConfigError& e) {
    ASSERT_EQ(e.diagnostics().size(), 2U);
    EXPECT_EQ(
        to_text(e.diagnostics()[0]),
        "error: precision: this backend has no fp16, whose gradients vanish without loss scaling\n"
        "  hint: use --precision bf16");
    EXPECT_EQ(e.diagnostics()[1].hint, "set flash_attention to true");
    EXPECT_EQ(e.exit_code(), ExitCode::bad_request);
  }
}

TEST(Supported, RefusesRemaindersWithTheCpusStep) {
  const auto refused = [](auto change) {
    Program program = test::small_program(fp32_plan());
    change(program.plan);
    try {
      static_cast<void>(train(program, test::small_config()));
    } catch (const ConfigError& e) {
      return to_text(e.diagnostics()[0]);
    }
    return std::string();
  };
  EXPECT_EQ(refused([](Plan& p) {
              p.optimizer.main_params = DType::remainder16;
              p.optimizer.cpu_offload = 0.5;
            }),
            "error: optimizer.main_params: the CPU's step reads no weights on the device, which "
            "remainders complete\n  hint: set main_params to fp32, or use state_offload");
}

TEST(Supported, RefusesWhatItsStepCannotDo) {
  Program program = test::small_program(fp32_plan());
  program.plan.optimizer.kind = OptimizerKind::lamb;
  program.plan.optimizer.exp_avg = DType::fp8;
  try {
    static_cast<void>(train(program, test::small_config()));
    FAIL();
  } catch (const ConfigError& e) {
    ASSERT_EQ(e.diagnostics().size(), 1U);
    EXPECT_EQ(to_text(e.diagnostics()[0]),
              "error: optimizer.exp_avg: moments below fp32 are AdamW's here\n"
              "  hint: use --optimizer adamw, or set exp_avg and exp_avg_sq to fp32");
  }
}

TEST(Execution, ReportsATensorWithoutALifetime) {
  Program program = test::small_program(fp32_plan());
  LayerProgram& layer = program.stages[0].layers[1].own();
  std::erase_if(layer.lives,
                [&](const Lifetime& l) { return layer.tensor(l.tensor).name == "qkv"; });
  EXPECT_EQ(
      execution_error(program),
      "operation 'qkv' uses tensor 'qkv', which is not alive (microbatch 0, chunk 0, position 1)");
}

TEST(Execution, ReportsAReadOfWhatNothingWrote) {
  Program program = test::small_program(fp32_plan());
  LayerProgram& layer = program.stages[0].layers[1].own();
  std::erase_if(layer.forward, [](const Op& op) { return op.name == "qkv"; });
  compute_lifetimes(layer);
  EXPECT_EQ(execution_error(program),
            "operation 'rope' reads tensor 'qkv', which nothing has written "
            "(microbatch 0, chunk 0, position 1)");
}

TEST(Execution, ReportsAnActivationThatIsNeverFreed) {
  Program program = test::small_program(fp32_plan());
  for (Lifetime& life : program.stages[0].layers[1].own().lives) {
    if (program.stages[0].layers[1]->tensor(life.tensor).name == "attn") life.end.reset();
  }
  EXPECT_EQ(execution_error(program),
            "8 activations are alive after the step, the first is 'attn' "
            "(microbatch 0, chunk 0, position 1)");
}

TEST(Execution, AFailureOfOneRankEndsAllAndIsThrown) {
  TrainConfig config = test::small_config(3);
  config.on_step = [](int step, const StepRecord&) {
    if (step == 1) throw std::out_of_range("stop here");
  };
  EXPECT_THROW(static_cast<void>(train(test::small_program(fp32_plan(2, 2, 2)), config)),
               std::out_of_range);
}

TEST(Execution, KeepsASpanOfEveryOperation) {
  TrainConfig config = test::small_config(2);
  config.trace = true;
  const Program program = test::small_program(fp32_plan(2, 2, 2));
  const TrainResult result = train(program, config);
  EXPECT_EQ(result.trace.kind, "measured");
  std::size_t expected = 0;
  for (const StageProgram& stage : program.stages) {
    std::size_t ops = stage.prologue.size() + stage.epilogue.size();
    for (const Slot& slot : stage.order) {
      for (const LayerInstance& i : stage.chunks[slot.chunk.index()].instances) {
        ops += stage.program(i).ops(slot.pass).size();
      }
    }
    expected += 2 * ops;  // two ranks a stage
  }
  EXPECT_EQ(result.trace.spans.size(), expected);
  std::set<std::pair<int, OpKey>> keys;
  for (const Span& s : result.trace.spans) {
    EXPECT_TRUE(keys.emplace(s.rank, s.key).second) << to_text(s.key);
    EXPECT_GE(s.start_s, 0);
    EXPECT_LE(s.start_s + s.duration_s, result.trace.step_s * 1.5 + 0.01);
  }
}

TEST(Execution, ReportsStepsAndCallsBack) {
  TrainConfig config = test::small_config(3);
  std::vector<double> losses;
  config.on_step = [&](int step, const StepRecord& done) {
    EXPECT_EQ(step, static_cast<int>(losses.size()));
    EXPECT_GT(done.seconds, 0);
    EXPECT_FALSE(done.skipped);
    losses.push_back(done.loss);
  };
  const TrainResult result = train(test::small_program(fp32_plan(2)), config);
  ASSERT_EQ(result.steps.size(), 3U);
  for (std::size_t s = 0; s < 3; ++s) EXPECT_EQ(losses[s], result.steps[s].loss);
}

}  // namespace
}  // namespace pleat
