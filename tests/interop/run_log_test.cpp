// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Logs of training runs, whoever wrote them.
#include "interop/run_log.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

namespace pleat::interop_test {
namespace {

using namespace interop;

TEST(RunLog, OfMegatron) {
  std::ostringstream text;
  text << std::ifstream(PLEAT_SOURCE_DIR "/tests/interop/data/megatron_mixtral.log").rdbuf();
  const RunLog log = read_run_log(text.str());
  EXPECT_EQ(log.writer, "Megatron-LM");
  EXPECT_EQ(log.planned_steps, 50);
  ASSERT_EQ(log.steps.size(), 10u);
  EXPECT_EQ(log.steps.front().number, 1);
  EXPECT_DOUBLE_EQ(log.steps.front().seconds, 61.2345);
  EXPECT_DOUBLE_EQ(log.steps[1].loss.value(), 10.2);
  EXPECT_EQ(log.arguments.at("world_size").front(), "64");
}

// Of the last time that they were printed, behind whatever label.
TEST(RunLog, TimersOfMegatron) {
  const std::string iteration =
      "0:  iteration        3/      9 | elapsed time per iteration (ms): 1500.0 | lm loss: NAN |\n";
  const RunLog log =
      read_run_log(iteration +
                   "0: (min, max) time across ranks (ms):\n"
                   "0:     forward-backward ...............................: (1200.00, 1300.00)\n" +
                   iteration +
                   "0:     forward-backward ...............................: (1234.50, 1250.25)\n"
                   "0:     optimizer ......................................: (80.10, 90.20)\n"
                   "0:     broken .........................................: (90.10, 10.20)\n"
                   "0:     broken .........................................: (x, 10.20)\n");
  EXPECT_TRUE(std::isnan(log.steps.at(0).loss.value()));
  EXPECT_EQ(log.planned_steps, 9);
  ASSERT_EQ(log.timers.size(), 2u);
  EXPECT_EQ(log.timers[0].name, "forward-backward");
  EXPECT_DOUBLE_EQ(log.timers[0].least, 1.2345);
  EXPECT_DOUBLE_EQ(log.timers[0].most, 1.25025);
  EXPECT_EQ(log.timers[1].name, "optimizer");
}

TEST(RunLog, OfPleat) {
  const RunLog log = read_run_log(
      "winner   TP1 CP1\n"
      "   step    6   loss 3.5000   0.500 s\n"
      "0: step    7   loss 3.2145   0.412 s   4971 tok/s   MFU 31.2 %   grad 0.81   lr 0.001\n"
      "step    8   loss nan   0.413 s   skipped: gradients are not finite\n"
      "step    9   loss 3.1");  // not finished
  EXPECT_EQ(log.writer, "pleat train");
  ASSERT_EQ(log.steps.size(), 3u);
  EXPECT_EQ(log.steps[1].number, 7);
  EXPECT_DOUBLE_EQ(log.steps[1].seconds, 0.412);
  EXPECT_DOUBLE_EQ(log.steps[1].loss.value(), 3.2145);
  EXPECT_TRUE(std::isnan(log.steps[2].loss.value()));
}

// A run that went on from step 7's checkpoint: step 8 as it was at last.
TEST(RunLog, OfPleatAsJson) {
  const RunLog log = read_run_log(
      "{\"step\":7,\"loss\":3.25,\"seconds\":0.5}\n"
      "{\"step\":8,\"loss\":3,\"seconds\":0.25}\n"
      "{\"step\":8,\"loss\":null,\"seconds\":2}\n"
      "{\"step\":\"9\",\"loss\":3,\"seconds\":0.25}\n"
      "{\"step\":10,\"loss\":3,\"seconds\":-1}\n"
      "{\"step\":11,\"lo\n");
  ASSERT_EQ(log.steps.size(), 2u);
  EXPECT_DOUBLE_EQ(log.steps[0].loss.value(), 3.25);
  EXPECT_DOUBLE_EQ(log.steps[1].seconds, 2);
  EXPECT_TRUE(std::isnan(log.steps[1].loss.value()));
}

TEST(RunLog, WithoutAStep) {
  EXPECT_TRUE(read_run_log("").steps.empty());
  EXPECT_TRUE(read_run_log("iteration 1/ 2\nstep\n{}\n").steps.empty());
}

}  // namespace
}  // namespace pleat::interop_test
