// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat watch` over logs of real runs of ours, and over logs that are made to be slow.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

// A plan on 64 H100 and the step time that is predicted for it.
struct Planned {
  std::string file;
  double seconds = 0;
};

Planned planned() {
  const std::string file = test_folder() + "/plan.json";
  const Said run = run_pleat({"predict", "--model", "mixtral-8x7b", "--cluster", "h100-sxm",
                              "--gpus", "64", "--seq-len", "4096", "--global-batch", "256", "--tp",
                              "2", "--pp", "2", "--ep", "8", "--out", file});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const std::string plan = read_text(file), name = "\"step_seconds\": ";
  const std::size_t at = plan.find(name);
  EXPECT_NE(at, std::string::npos) << plan;
  return {file, std::stod(plan.substr(at + name.size()))};
}

// Megatron-LM's lines: 40 steps of so many seconds, every tenth three times as long.
std::string log_of(double seconds, const std::string& arguments = "") {
  std::string text = arguments;
  for (int i = 1; i <= 40; ++i) {
    text += fmt::format(
        " iteration {:8}/{:8} | elapsed time per iteration (ms): {:.3f} | lm loss: {:.3f} |\n", i,
        100, 1000 * seconds * (i % 10 == 0 ? 3 : 1), 10 - 0.1 * i);
  }
  return text;
}

TEST(Watch, SaysWhetherARunIsAsFastAsPredicted) {
  const Planned plan = planned();
  const std::string log = test_folder() + "/train.log";
  write_text(log, log_of(plan.seconds));
  const Said good = run_pleat({"watch", log, "--plan", plan.file, "--check", "--window", "10"});
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_THAT(good.out, HasSubstr("train.log: step 40 of 100, 40.0%, loss 6.0000 (Megatron-LM)"));
  EXPECT_THAT(good.out, HasSubstr("the run is 0.0%"));
  EXPECT_THAT(good.out, HasSubstr("within the band"));
  EXPECT_THAT(good.out, HasSubstr("slow steps   4 took over 1.5 times the median"));
  EXPECT_THAT(good.out, HasSubstr("left         60 steps, "));

  write_text(log, log_of(2 * plan.seconds));
  const Said slow = run_pleat({"watch", log, "--plan", plan.file, "--check"});
  EXPECT_EQ(slow.exit_code, 6);
  EXPECT_THAT(slow.out, HasSubstr("the run is 100.0% slower, OUTSIDE OF THE BAND"));
  EXPECT_THAT(slow.err, HasSubstr("slower than its prediction's band"));
  const Said json = run_pleat({"watch", log, "--plan", plan.file, "--json"});
  EXPECT_EQ(json.exit_code, 0);
  EXPECT_THAT(json.out, HasSubstr("\"verdict\": \"slower\""));
}

TEST(Watch, ALogOfAnotherRunIsRefused) {
  const Planned plan = planned();
  const std::string log = test_folder() + "/train.log";
  const std::string arguments =
      "------------------------ arguments ------------------------\n"
      "  global_batch_size ............................... 256\n"
      "  tensor_model_parallel_size ...................... 4\n"
      "  world_size ...................................... 64\n"
      "-------------------- end of arguments ---------------------\n";
  write_text(log, log_of(1, arguments));
  const Said run = run_pleat({"watch", log, "--plan", plan.file});
  EXPECT_EQ(run.exit_code, 6);
  EXPECT_THAT(run.err, HasSubstr("tensor_model_parallel_size: is 4 in the log, 2 in "));
  EXPECT_THAT(run.err, Not(HasSubstr("world_size")));
  EXPECT_EQ(run.out, "");
}

TEST(Watch, LogsWithoutAStepAreSaid) {
  const std::string log = test_folder() + "/empty.log";
  write_text(log, "starting\n");
  const Said empty = run_pleat({"watch", log});
  EXPECT_EQ(empty.exit_code, 3);
  EXPECT_THAT(empty.err, HasSubstr("has no finished step yet"));
  EXPECT_EQ(run_pleat({"watch", test_folder() + "/missing.log"}).exit_code, 5);
  write_text(log, log_of(1));
  const Said both = run_pleat({"watch", log, "--tokens", "1T"});
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("--tokens: needs --plan"));
}

// From before its first step to its last.
TEST(Watch, FollowsARunToItsEnd) {
  const std::string log = test_folder() + "/log.jsonl";
  const std::string out = test_folder() + "/watched";
  std::jthread watcher([&] {
    EXPECT_EQ(std::system((PLEAT_BINARY " watch " + log +
                           " --follow --interval 0.1 --steps 7 --warmup 0 --json >" + out + " 2>" +
                           out + ".err")
                              .c_str()),
              0);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const Said trained =
      run_pleat({"train", "--model", "tiny-moe", "--cluster", "localhost", "--gpus", "2", "--ep",
                 "2", "--seq-len", "32", "--global-batch", "4", "--steps", "8", "--log-json", log});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  watcher.join();
  EXPECT_THAT(read_text(out + ".err"), HasSubstr("waiting for a step in "));
  EXPECT_THAT(read_text(out), HasSubstr("\"step\":7"));
}

// The page has every step, the prediction with its band, what differs between ranks, what is left.
TEST(Watch, APageStandsBesideTheText) {
  const Planned plan = planned();
  const std::string log = test_folder() + "/train.log", page = test_folder() + "/run.html";
  const std::string timers =
      "(min, max) time across ranks (ms):\n    forward-backward ....: (900.00, 1900.00)\n"
      "    optimizer ....: (10.00, 12.00)\n";
  write_text(log, log_of(1.2 * plan.seconds) + timers);
  const Words words{"watch", log, "--plan", plan.file, "--steps", "100000", "--html", page};
  const Said run = run_pleat(words);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::string text = read_text(page);
  for (const char* part : {"upper end of the band", "slow steps", "steps, ", " days at this pace",
                           "forward-backward", "111.1", "Seconds of every step"})
    EXPECT_THAT(text, HasSubstr(part));
  write_text(log, log_of(1.2 * plan.seconds));  // replaced whole
  ASSERT_EQ(run_pleat(words).exit_code, 0);
  EXPECT_THAT(read_text(page), Not(HasSubstr("forward-backward")));
  EXPECT_EQ(run_pleat({"watch", log, "--html", test_folder() + "/none/run.html"}).exit_code, 5);
}

}  // namespace
}  // namespace pleat::cli_test
