// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Jobs of several real processes over TCP: the same bits as threads, and the end of all of them
// when one is killed, wherever it is.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <csignal>
#include <functional>
#include <numeric>

#include "tests/backend/forked_processes.hpp"
#include "tests/backend/train_runs.hpp"

namespace pleat {
namespace {

using test::fp32_plan;

using namespace test::forked;

// A result as text, every float in full.
std::string exact(const TrainResult& r) {
  std::string text;
  const auto add = [&](double v) { text += fmt::format("{:a} ", v); };
  for (const StepRecord& s : r.steps) add(s.loss), add(s.grad_norm);
  add(r.min_router_margin);
  for (const RankMeasurement& m : r.ranks) {
    text += fmt::format("\n{} ", m.peak_live_bytes);
    for (const auto& [where, count] : m.routed) text += fmt::format("{} ", count.routed);
  }
  for (const auto* tensors : {&r.weights, &r.gradients}) {
    for (const auto& [name, values] : *tensors) {
      std::uint64_t hash = 1;
      for (const float v : values) hash = hash * 1099511628211U + std::bit_cast<std::uint32_t>(v);
      text += fmt::format("\n{} {} {:x}", name, values.size(), hash);
    }
  }
  return text + fmt::format("\nspans {}", r.trace.spans.size());
}

TEST(Processes, GiveTheSameBitsAsThreads) {
  TrainConfig config = test::small_config(2);
  config.trace = true;
  Plan bf16 = test::tp_plan(2, 2, 2), bf16_gradients = bf16;
  bf16.precision = bf16_gradients.precision = Precision::bf16;
  bf16_gradients.optimizer.main_grads = DType::bf16;
  const std::pair<Plan, std::vector<int>> jobs[] = {
      {bf16, {1, 1, 1, 1}},
      {bf16_gradients, {1, 3}},
      {fp32_plan(4, 4), {1, 1, 1, 1}},
      {fp32_plan(2, 2, 2), {1, 2, 1}},
      {fp32_plan(4, 2, 2), {4, 4}},
      {test::tp_plan(2, 1, 2, 2), {1, 1, 1, 1}},
  };
  for (const auto& [plan, ranks] : jobs) {
    const Program program = test::small_program(plan);
    TcpJob job(ranks);
    const auto ended =
        run_processes(static_cast<int>(ranks.size()), [&](int process, std::string& say) {
          const JobPart part = job.join(process);
          const TrainResult r = train(program, config, part);
          say = process == 0 ? exact(r) : fmt::format("{:a}", r.steps.back().loss);
          return 0;
        });
    const TrainResult threads = train(program, config);
    EXPECT_EQ(ended[0].said, exact(threads));
    for (std::size_t p = 1; p < ended.size(); ++p) {
      EXPECT_EQ(ended[p].said, fmt::format("{:a}", threads.steps.back().loss)) << p;
    }
    for (const Ended& e : ended) EXPECT_EQ(e.code, 0);
  }
}

// What the ranks say, and their exit codes, when rank 2 of 4 is killed before the operation that
// `here` picks in step 1.
void expect_death_noticed(const std::function<bool(const Op&)>& here) {
  const Program program = test::small_program(fp32_plan(2, 2, 2));
  TcpJob job({1, 1, 1, 1});
  const auto begin = std::chrono::steady_clock::now();
  const auto ended = run_processes(4, [&](int process, std::string& say) {
    TrainConfig config = test::small_config(1000);
    config.before_op = [&](Rank rank, const Op& op, int step) {
      if (rank.value == 2 && step == 1 && here(op)) kill(getpid(), SIGKILL);
    };
    const JobPart part = job.join(process);
    try {
      static_cast<void>(train(program, config, part));
    } catch (const std::exception& e) {
      say = e.what();
      return 5;
    }
    return 0;
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(seconds.count(), 10);
  for (const int r : {0, 1, 3}) {
    const Ended& e = ended[static_cast<std::size_t>(r)];
    EXPECT_EQ(e.code, 5);
    EXPECT_EQ(e.said, "rank 2 is lost: its process ended") << r;
  }
  EXPECT_EQ(ended[2].code, -SIGKILL);
}

TEST(LostRank, InForwardEndsAllAndIsNamed) {
  expect_death_noticed([](const Op& op) { return op.kind == OpKind::attention; });
}
TEST(LostRank, InBackwardEndsAllAndIsNamed) {
  expect_death_noticed([](const Op& op) { return op.kind == OpKind::attention_bwd; });
}
TEST(LostRank, InDispatchEndsAllAndIsNamed) {
  expect_death_noticed([](const Op& op) { return op.kind == OpKind::exchange_rows; });
}
TEST(LostRank, BetweenStagesEndsAllAndIsNamed) {
  expect_death_noticed([](const Op& op) { return op.kind == OpKind::recv; });
}
TEST(LostRank, InTheGradientReductionEndsAllAndIsNamed) {
  expect_death_noticed([](const Op& op) { return op.kind == OpKind::reduce_bucket; });
}
TEST(LostRank, InTheOptimizerEndsAllAndIsNamed) {
  expect_death_noticed([](const Op& op) { return op.kind == OpKind::adamw; });
}

// All ranks of a process that held several.
TEST(LostRank, AProcessOfSeveralRanksIsNamedByAllOfThem) {
  const Program program = test::small_program(fp32_plan(4, 4));
  TcpJob job({2, 2});
  const auto ended = run_processes(2, [&](int process, std::string& say) {
    TrainConfig config = test::small_config(1000);
    config.before_op = [&](Rank rank, const Op& op, int step) {
      if (rank.value == 3 && step == 1 && op.kind == OpKind::adamw) kill(getpid(), SIGKILL);
    };
    const JobPart part = job.join(process);
    try {
      static_cast<void>(train(program, config, part));
    } catch (const std::exception& e) {
      say = e.what();
    }
    return 5;
  });
  EXPECT_EQ(ended[0].said, "ranks 2-3 are lost: its process ended");
}

// Stopped, not killed: its connections stay, its signs of life do not. It wakes too late.
TEST(LostRank, ASilentProcessIsLostAfterItsTime) {
  const Program program = test::small_program(fp32_plan(2, 2));
  TcpJob job({1, 1});
  const auto begin = std::chrono::steady_clock::now();
  const auto ended = run_processes(2, [&](int process, std::string& say) {
    TrainConfig config = test::small_config(1000);
    config.before_op = [&](Rank rank, const Op& op, int step) {
      if (rank.value != 1 || step != 1 || op.kind != OpKind::attention) return;
      if (fork() == 0) {  // somebody has to wake it
        sleep(2);
        kill(getppid(), SIGKILL);
        _exit(0);
      }
      raise(SIGSTOP);
    };
    const JobPart part = job.join(process, {.beat_s = 0.1, .lost_s = 0.8});
    try {
      static_cast<void>(train(program, config, part));
    } catch (const std::exception& e) {
      say = e.what();
    }
    return 5;
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(seconds.count(), 10);
  EXPECT_EQ(ended[0].said, "rank 1 is lost: no sign of life for 1 s");
}

TEST(StallOfProcesses, NamesTheRanksOfAllAndWhereTheyWait) {
  Program program = test::small_program(fp32_plan(1, 1, 2));
  for (SharedLayer& shared : program.stages[0].layers) {
    LayerProgram& layer = shared.own();
    std::erase_if(layer.forward, [](const Op& op) { return op.kind == OpKind::send; });
    compute_lifetimes(layer);
  }
  TcpJob job({1, 1});
  const auto ended = run_processes(2, [&](int process, std::string& say) {
    TrainConfig config = test::small_config();
    config.stall_seconds = process == 0 ? 0.5 : 60;
    const JobPart part = job.join(process, {.beat_s = 0.1});
    try {
      static_cast<void>(train(program, config, part));
    } catch (const std::exception& e) {
      say = e.what();
    }
    return 5;
  });
  const std::string reason =
      "no operation finished for 0.5 s: rank 0 waits in 'recv.grad' (recv over pp_next), layer 7, "
      "microbatch 0, step 0; rank 1 waits in 'recv' (recv over pp_prev), layer 6, microbatch 0, "
      "step 0";
  EXPECT_EQ(ended[0].said, reason);
  EXPECT_EQ(ended[1].said, "rank 0 failed: " + reason);
}

TEST(FailureOfProcesses, OneRanksFailureIsEverybodysReason) {
  const Program program = test::small_program(fp32_plan(2, 2, 2));
  TcpJob job({1, 1, 1, 1});
  const auto ended = run_processes(4, [&](int process, std::string& say) {
    TrainConfig config = test::small_config(1000);
    config.before_op = [&](Rank rank, const Op& op, int step) {
      if (rank.value == 1 && step == 1 && op.kind == OpKind::clip) throw std::bad_alloc();
    };
    const JobPart part = job.join(process);
    try {
      static_cast<void>(train(program, config, part));
    } catch (const std::exception& e) {
      say = e.what();
    }
    return 5;
  });
  EXPECT_EQ(ended[1].said, "std::bad_alloc");
  for (const std::size_t r : {0U, 2U, 3U}) {
    EXPECT_EQ(ended[r].said, "rank 1 failed: std::bad_alloc");
  }
}

}  // namespace
}  // namespace pleat
