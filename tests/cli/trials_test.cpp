// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat tune --on local` and mpirun, and --replay: jobs that end in every way, a tuning that is
// killed and goes on. Job files of a user stand in for most of the training, so that times are
// what the test says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "core/json/parse.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

using Words = std::vector<std::string>;

std::string folder() { return test_folder() + "/out"; }

Words tune_on(const std::string& on) {
  return {"tune",  "--on",       on,       "--model",        "tiny-moe", "--gpus",
          "2",     "--seq-len",  "64",     "--global-batch", "8",        "--runtime",
          "pleat", "--out",      folder(), "--steps",        "6",        "--interval",
          "0.1",   "--min-gain", "0",      "--no-recompute"};
}

// A job file that notes each start in `runs` and then, by the trial's number, does as `cases` says;
// `steps N S` prints N steps of S seconds.
std::string script(const std::string& cases) {
  const std::string file = test_folder() + "/job.sh";
  write_text(file, "#!/bin/bash\necho \"$PLEAT_TRIAL\" >>" + test_folder() +
                       "/runs\n"
                       "steps() { local i; for ((i = 0; i < $1; ++i)); do echo \"step    $i   loss "
                       "3.0000   $2 s   1 tok/s\"; done; }\n"
                       "case \"$PLEAT_TRIAL\" in\n" +
                       cases + "esac\n");
  return file;
}

std::string runs() { return read_text(test_folder() + "/runs"); }

JsonValue trials_json(const Said& run) {
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return parse_json(run.out, "out");
}

std::string text_at(const JsonValue& json, const char* key) {
  const JsonValue* const found = json.find(key);
  const std::string* const text = found == nullptr ? nullptr : found->as_string();
  return text == nullptr ? "none" : *text;
}

std::string outcome(const JsonValue& json, std::size_t trial) {
  const JsonValue& t = json.find("trials")->items().at(trial);
  const std::string reason = text_at(t, "reason");
  return text_at(t, "outcome") + (reason.empty() ? "" : ": " + reason);
}

TEST(Trials, AnUnknownPlaceIsRefusedBeforeAnythingRuns) {
  const Said said = run_pleat({"tune", "--on", "slrum", "--model", "tiny-moe", "--gpus", "4",
                               "--seq-len", "128", "--global-batch", "32", "--dry-run"});
  EXPECT_EQ(said.exit_code, 2);
  EXPECT_THAT(said.err, testing::HasSubstr("--on: slrum not in {local,mpirun,slurm}"));
  EXPECT_EQ(said.out, "");
}

TEST(Trials, TrainForAFewStepsAndTheWinnerCanBeTrained) {
  write_text(test_folder() + "/text", read_text(std::string(PLEAT_SOURCE_DIR) + "/LICENSE"));
  Words words = tune_on("local") + Words{"--trials", "2", "--data", test_folder() + "/text"};
  *std::ranges::find(words, "6") = "4";  // too few for one to be stopped early
  const JsonValue json = trials_json(run_pleat(words + Words{"--json"}));
  ASSERT_EQ(json.find("trials")->items().size(), 2u);
  for (const JsonValue& trial : json.find("trials")->items()) {
    EXPECT_EQ(text_at(trial, "outcome"), "measured") << text_at(trial, "reason");
    EXPECT_GT(*trial.find("measured_step_s")->as_double(), 0);
    EXPECT_NE(trial.find("measured_peak_bytes"), nullptr);
  }
  const std::string log = folder() + "/trial-001/log";
  const auto written = std::filesystem::last_write_time(log);
  const Said again = run_pleat(words);
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, AllOf(HasSubstr("2 trials so far"), HasSubstr("winner: trial ")));
  EXPECT_EQ(std::filesystem::last_write_time(log), written);
  EXPECT_EQ(run_pleat({"train", "--plan", folder() + "/winner.json", "--dry-run"}).exit_code, 0);
  const Said learned = run_pleat({"calibrate", "--from-runs", folder() + "/trial-001/plan.json",
                                  log, "--cluster", "localhost", "--dry-run"});
  EXPECT_NE(learned.exit_code, 2) << learned.err;
}

TEST(Trials, EveryEndIsAResultAndNothingRunsTwice) {
  const Words words =
      tune_on("local") +
      Words{"--trials",
            "6",
            "--trial-time",
            "3s",
            "--json",
            "--script",
            script("1) steps 6 0.100 ;;\n"
                   "2) steps 2 0.100; kill -9 $$ ;;\n"
                   "3) steps 2 0.100; sleep 60 ;;\n"
                   "4) steps 5 0.500; sleep 60 ;;\n"
                   "5) echo 'error: no such data'; exit 3 ;;\n"
                   "6) echo 'torch.OutOfMemoryError: CUDA out of memory.'; exit 1 ;;\n")};
  const JsonValue json = trials_json(run_pleat(words));
  ASSERT_EQ(json.find("trials")->items().size(), 6u);
  EXPECT_EQ(outcome(json, 0), "measured");
  EXPECT_THAT(outcome(json, 1), StartsWith("failed: ended by signal 9 (SIGKILL) after 2 of 6"));
  EXPECT_THAT(outcome(json, 2), StartsWith("hung: 2 of 6 steps in "));
  EXPECT_THAT(outcome(json, 3), StartsWith("behind: stopped after 5 of 6 steps: none took less "
                                           "than 5.00 times"));
  EXPECT_EQ(outcome(json, 4), "failed: exit code 3 after 0 of 6 steps: error: no such data");
  EXPECT_EQ(outcome(json, 5), "out of memory: after 0 of 6 steps");
  EXPECT_EQ(*json.find("winner")->as_integer(), 1);
  EXPECT_EQ(runs(), "1\n2\n3\n4\n5\n6\n");
  trials_json(run_pleat(words));
  EXPECT_EQ(runs(), "1\n2\n3\n4\n5\n6\n");
}

TEST(Trials, TrainingThatRunsOutOfItsMemoryIsSaidToHave) {
  Words words = tune_on("local") +
                Words{"--micro-batch",
                      "64",
                      "--trials",
                      "1",
                      "--script",
                      script("*) ulimit -v 1500000\n"
                             "exec pleat train --plan \"$PLEAT_TRIAL_PLAN\" --steps 6 ;;\n")};
  *std::ranges::find(words, "64") = "512";  // tokens of a sequence: more than a GiB a rank
  *std::ranges::find(words, "8") = "128";
  const Said run = run_pleat(words);
  EXPECT_EQ(run.exit_code, 4) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("trial 1: out of memory: after 0 of 6 steps"));
  EXPECT_THAT(run.err, HasSubstr("every trial ran out of memory"));
}

TEST(Trials, AKilledTuningGoesOnWithTheJobsThatStillRun) {
  const Words words =
      tune_on("local") + Words{"--trials",
                               "3",
                               "--parallel",
                               "2",
                               "--script",
                               script("1 | 2) steps 4 0.100; sleep 2; steps 6 0.10$PLEAT_TRIAL ;;\n"
                                      "*) steps 6 0.090 ;;\n")};
  const Said killed =
      disturb_pleat(words, "trial 2:", [](pid_t process) { kill(process, SIGKILL); });
  EXPECT_EQ(killed.exit_code, -SIGKILL);
  const Said run = run_pleat(words);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("2 trials so far, 2 of them running"),
                             HasSubstr("trial 1: 101.00 ms"), HasSubstr("trial 2: 102.00 ms"),
                             HasSubstr("winner: trial 3")));
  std::string all = runs();
  std::ranges::sort(all);
  EXPECT_EQ(all, "\n\n\n123");
}

TEST(Trials, AKilledTuningFindsWhatEndedMeanwhile) {
  const Words words =
      tune_on("local") + Words{"--trials", "2", "--script",
                               script("1) sleep 0.5; steps 6 0.100 ;;\n*) steps 6 0.200 ;;\n")};
  (void)disturb_pleat(words, "trial 1:", [](pid_t process) { kill(process, SIGKILL); });
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const Said run = run_pleat(words);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("winner: trial 1"));
  EXPECT_EQ(runs(), "1\n2\n");
}

// As if it had been killed between handing a trial over and noting who runs it, or just before.
TEST(Trials, AJobThatNobodyNotedIsFoundAndOneThatWasNotStartedIsStarted) {
  const Words words = tune_on("local") + Words{"--trials", "1", "--script",
                                               script("*) sleep 1.5; steps 6 0.100 ;;\n")};
  const auto forget = [] {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open((folder() + "/tune.sqlite").c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, "UPDATE trials SET state = 'starting', job = ''", nullptr, nullptr,
                           nullptr),
              SQLITE_OK);
    sqlite3_close(db);
  };
  (void)disturb_pleat(words, "trial 1:", [](pid_t process) { kill(process, SIGKILL); });
  forget();
  (void)disturb_pleat(words, "1 of them running", [](pid_t process) { kill(process, SIGKILL); });
  EXPECT_EQ(runs(), "1\n");
  std::this_thread::sleep_for(std::chrono::seconds(2));
  forget();
  for (const char* file : {"pid", "exit", "log"})
    std::filesystem::remove(folder() + "/trial-001/" + file);
  const Said run = run_pleat(words);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(runs(), "1\n1\n");
}

TEST(Trials, ALogOfAnotherRunEndsTheTuningAndLeavesNoTrial) {
  const Words words =
      tune_on("local") +
      Words{"--script",
            script("1) printf 'tiny-moe on localhost, another plan\\npredicted step 1 "
                   "ms\\n\\n'; steps 6 0.1 ;;\n*) steps 6 0.1 ;;\n"),
            "--trials", "1"};
  const Said run = run_pleat(words);
  EXPECT_EQ(run.exit_code, 6);
  EXPECT_THAT(run.err,
              AllOf(HasSubstr("is the log of another plan than"), HasSubstr("$PLEAT_TRIAL_PLAN")));
  const Said plan = run_pleat(words + Words{"--dry-run"});
  EXPECT_THAT(plan.out, HasSubstr("would run trial 1:"));
}

TEST(Trials, ThreeFailuresAtTheBeginningAreEnough) {
  const Said run = run_pleat(
      tune_on("local") + Words{"--script", script("*) echo 'error: nobody is here'; exit 1 ;;\n")});
  EXPECT_EQ(run.exit_code, 5);
  EXPECT_THAT(run.out, HasSubstr("ended: the first 3 trials failed"));
  EXPECT_THAT(run.err, HasSubstr("no trial could be measured"));
  EXPECT_EQ(runs(), "1\n2\n3\n");
}

TEST(Trials, TheBudgetEndsThemAndCountsOverAllStarts) {
  const Words words = tune_on("local") + Words{"--budget", "2s", "--script",
                                               script("1) steps 6 0.1 ;;\n*) sleep 60 ;;\n")};
  const Said run = run_pleat(words);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("trial 2: cut off: the budget ended after 0 of 6 steps"),
                             HasSubstr("ended: the budget is used")));
  const Said again = run_pleat(words);
  EXPECT_THAT(again.out, HasSubstr("ended: the budget is used"));
  EXPECT_EQ(runs(), "1\n2\n");
}

TEST(Trials, ADryRunSaysWhatWouldRunAndWhyAndWritesNothing) {
  const Said run = run_pleat(tune_on("slurm") + Words{"--trials", "3", "--dry-run"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("would run trial 1: TP"), HasSubstr("the shortest prediction"),
                    HasSubstr("would run trial 3: TP"),
                    ContainsRegex("expected to gain [0-9.]+% on the best so far")));
  EXPECT_FALSE(std::filesystem::exists(folder()));
}

TEST(Trials, AMissingSchedulerIsOneMessageAndNoFile) {
  for (const auto& [on, program] : {std::pair{"slurm", "sbatch"}, std::pair{"mpirun", "mpirun"}}) {
    const Said run = run_pleat_with({"PATH=/nowhere"}, tune_on(on));
    EXPECT_EQ(run.exit_code, 5);
    EXPECT_THAT(run.err,
                StartsWith(std::string("error: ") + program + ": is not installed here\n"));
    EXPECT_FALSE(std::filesystem::exists(folder()));
  }
}

TEST(Trials, AFileOfOtherTrialsIsRefused) {
  const std::string job = script("*) steps 6 0.1 ;;\n");
  const Words words = tune_on("local") + Words{"--trials", "1", "--script", job};
  ASSERT_EQ(run_pleat(words).exit_code, 0);
  Words other = words;
  other[10] = "16";
  const Said run = run_pleat(other);
  EXPECT_EQ(run.exit_code, 6);
  EXPECT_THAT(run.err, HasSubstr("global batch: its trials are of 8, not of 16"));
  const std::string text = test_folder() + "/text";
  write_text(text, std::string(4096, 'x'));
  const Said wrong = run_pleat(words + Words{"--trials-file", text});
  EXPECT_EQ(wrong.exit_code, 3);
  EXPECT_THAT(wrong.err, HasSubstr("is no file of trials"));
  EXPECT_EQ(read_text(text), std::string(4096, 'x'));
}

TEST(Trials, OptionsOfTheOtherWayAreRefused) {
  for (const Words& wrong :
       {Words{"tune", "--gpus", "4"}, Words{"tune", "--trials", "3"},
        tune_on("local") + Words{"--ranks", "2"}, tune_on("local") + Words{"--partition", "gpu"},
        tune_on("local") + Words{"--budget", "soon"},
        Words{"tune", "--replay", "rows.jsonl", "--ranks", "2"}}) {
    EXPECT_EQ(run_pleat(wrong).exit_code, 2) << wrong.back();
  }
}

TEST(Trials, RunUnderMpirunToo) {
  write_text(test_folder() + "/text", read_text(std::string(PLEAT_SOURCE_DIR) + "/LICENSE"));
  const Said run = run_pleat_with(
      {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"},
      tune_on("mpirun") + Words{"--trials", "1", "--json", "--data", test_folder() + "/text"});
  if (run.err.find("mpirun: is not installed") != std::string::npos) GTEST_SKIP();
  EXPECT_EQ(outcome(trials_json(run), 0), "measured");
  EXPECT_THAT(read_text(folder() + "/trial-001/log"), HasSubstr("process 0 of 2"));
}

TEST(Replay, OfVTrainTheChoiceIsBetterThanTheOrderAlone) {
  const std::string rows = std::string(PLEAT_SOURCE_DIR) + "/configs/validation/vtrain.jsonl";
  const JsonValue json = trials_json(run_pleat({"tune", "--replay", rows, "--json"}));
  ASSERT_EQ(json.find("groups")->items().size(), 61u);
  const auto mean = [&](const char* order, std::size_t trials) {
    return *json.find(order)->find("mean")->items().at(trials - 1).as_double();
  };
  EXPECT_LE(mean("expected_improvement", 3), 0.007);
  EXPECT_LE(mean("expected_improvement", 5), 0.002);
  EXPECT_LE(mean("expected_improvement", 3), mean("prediction", 3));
  EXPECT_LT(mean("prediction", 1), mean("random", 1));
  // For the same steps, what is stopped at its rung leaves room for further trials.
  const JsonValue& steps = *json.find("steps");
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_LE(*steps.find("rungs")->items().at(i).as_double(),
              *steps.find("all")->items().at(i).as_double());
  EXPECT_LT(*steps.find("five_trials")->as_double(), 50);
  const Said none =
      run_pleat({"tune", "--replay",
                 std::string(PLEAT_SOURCE_DIR) + "/configs/validation/simumax_b200.jsonl"});
  EXPECT_THAT(none.exit_code, ::testing::AnyOf(0, 3));
}

}  // namespace
}  // namespace pleat::cli_test
