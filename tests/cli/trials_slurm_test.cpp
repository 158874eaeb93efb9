// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat tune --on slurm` in a Slurm of this host alone: jobs that are killed, hang, run out of
// memory, are cancelled, wait too long or are refused; a tuning that is killed and goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>

#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// Runs a script in Slurm, with `tune` as a function; its output. Skips the test (false) where there
// is none.
bool slurm_runs(const std::string& script, std::string& out) {
  const std::string folder = test_folder();
  write_text(folder + "/drive.sh",
             "cd " + folder + " || exit 1\n" + "export HOME=" + folder + "\n" +
                 "tune() { " PLEAT_BINARY
                 " tune --on slurm --runtime pleat --model tiny-moe --gpus 2 "
                 "--seq-len 64 --global-batch 8 --no-recompute --steps ${STEPS:-6} --interval 0.2 "
                 "--min-gain 0 "
                 "--out out \"$@\"; }\n"
                 "settle() { for ((i = 0; i < 200; ++i)); do if grep -q \"$1\" \"$2\" 2>/dev/null; "
                 "then return; fi; sleep 0.1; done; echo \"no $1 in $2\"; }\n" +
                 script);
  const int status =
      std::system(("bash " PLEAT_SOURCE_DIR "/tests/cli/one_node_slurm.sh " + folder +
                   "/slurm bash " + folder + "/drive.sh >" + folder + "/said 2>&1")
                      .c_str());
  out = read_text(folder + "/said");
  return !(WIFEXITED(status) && WEXITSTATUS(status) == 77);
}

// A job file of the user's: notes each start in `runs`, then does as the cases say.
std::string job(const std::string& cases) {
  return "cat >job.sh <<'JOB'\n#!/bin/bash\n#SBATCH --ntasks=1\necho \"$PLEAT_TRIAL\" >>runs\n"
         "steps() { local i; for ((i = 0; i < $1; ++i)); do echo \"step    $i   loss 3.0000   $2 s "
         "  1 tok/s\"; done; }\ncase \"$PLEAT_TRIAL\" in\n" +
         cases + "esac\nJOB\n";
}

TEST(SlurmTrials, OurOwnJobsTrainSeveralAtATime) {
  std::string out;
  if (!slurm_runs(
          "export STEPS=4  # too few for one to be stopped early\n"
          "tune --trials 2 --parallel 2\necho \"code $?\"\n"
          "squeue --states=all --noheader --format='%j %T'\n"
          "tune --trials 2 >again; echo \"again $?\"; squeue --states=all --noheader | wc -l\n",
          out))
    GTEST_SKIP() << "no Slurm that could be started";
  EXPECT_THAT(
      out, AllOf(ContainsRegex("trial 1: [0-9.]+ m?s a step, expected"),
                 ContainsRegex("trial 2: [0-9.]+ m?s a step, expected"),
                 HasSubstr("pleat launch --to slurm out/winner.json --run"), HasSubstr("code 0"),
                 ContainsRegex("pleat-tune-[0-9a-f]+-001 COMPLETED"), HasSubstr("again 0\n2\n")));
}

TEST(SlurmTrials, EveryEndIsAResult) {
  std::string out;
  if (!slurm_runs(
          job("1) steps 6 0.100 ;;\n"
              "2) steps 2 0.100; kill -9 $$ ;;\n"
              "3) steps 2 0.100; sleep 60 ;;\n"
              "4) steps 2 0.100; scancel $SLURM_JOB_ID; sleep 60 ;;\n"
              "5) echo 'slurmstepd: error: Detected 1 oom_kill event in StepId=5.0'; exit 9 ;;\n"
              "6) echo 'error: no such data'; exit 3 ;;\n") +
              "tune --trials 6 --trial-time 3s --script job.sh\necho \"code $?\"\n"
              "tune --trials 6 --script job.sh >again\ncat runs\n",
          out))
    GTEST_SKIP() << "no Slurm that could be started";
  EXPECT_THAT(out,
              AllOf(HasSubstr("trial 1: 100.00 ms a step"),
                    HasSubstr("trial 2: failed: ended by signal 9 (SIGKILL) after 2 of 6 steps"),
                    HasSubstr("trial 3: hung: 2 of 6 steps in "),
                    HasSubstr("trial 4: cancelled: by scancel, after 2 of 6 steps"),
                    HasSubstr("trial 5: out of memory: after 0 of 6 steps"), HasSubstr("code 0")));
  EXPECT_THAT(out, HasSubstr("\n1\n2\n3\n4\n5\n"));  // 6 needs as much memory as 5
}

// Training itself: one rank is killed, the tuning is killed, one that has no memory.
TEST(SlurmTrials, KilledTrainingAndAKilledTuning) {
  std::string out;
  if (!slurm_runs("export STEPS=100000\ntune --trials 1 >first 2>&1 &\npleat=$!\n"
                  "settle 'step *3' out/trial-001/log\n"
                  "for p in /proc/[0-9]*; do if [[ \"$(tr '\\0' ' ' 2>/dev/null <$p/cmdline)\" == "
                  "*'train --plan '*out/trial-001/* ]]; then rank=${p#/proc/}; fi; done\n"
                  "tuning=$(pgrep -P $pleat -x pleat || echo $pleat)\n"
                  "kill -9 $tuning; wait $pleat 2>/dev/null\n"
                  "kill -9 $rank\n"
                  "tune --trials 1; echo \"code $?\"\n"
                  "squeue --states=all --noheader | wc -l\n",
                  out))
    GTEST_SKIP() << "no Slurm that could be started";
  EXPECT_THAT(out,
              AllOf(HasSubstr("1 trial so far, 1 of them running"),
                    ContainsRegex("trial 1: failed: ended by signal 9 .SIGKILL. after [0-9]+ of "
                                  "100000 steps: srun: error: .*Killed"),
                    HasSubstr("code 5\n1\n"), Not(HasSubstr("no step"))));
}

TEST(SlurmTrials, AKilledTuningGoesOnAndNothingRunsTwice) {
  std::string out;
  if (!slurm_runs(
          job("1 | 2) steps 3 0.100; sleep 4; steps 6 0.10$PLEAT_TRIAL ;;\n"
              "*) steps 6 0.090 ;;\n") +
              "tune --trials 3 --parallel 2 --script job.sh >first 2>&1 &\npleat=$!\n"
              "settle '^trial 2' first\n"
              "kill -9 $(pgrep -P $pleat -x pleat || echo $pleat); wait $pleat 2>/dev/null\n"
              "tune --trials 3 --parallel 2 --script job.sh; echo \"code $?\"\nsort runs\n",
          out))
    GTEST_SKIP() << "no Slurm that could be started";
  EXPECT_THAT(out, AllOf(HasSubstr("2 trials so far, 2 of them running"),
                         HasSubstr("trial 1: 101.00 ms"), HasSubstr("trial 2: 102.00 ms"),
                         HasSubstr("winner: trial 3"), HasSubstr("code 0\n1\n2\n3\n")));
}

TEST(SlurmTrials, WaitingTooLongIsAResultAndARefusalAMessage) {
  std::string out;
  if (!slurm_runs(
          job("*) steps 6 0.100; sleep 8 ;;\n") +
              "sed -i 's/ntasks=1/ntasks=8/' job.sh\n"
              "tune --trials 2 --parallel 2 --queue-time 3s --script job.sh; echo \"code $?\"\n"
              "rm -r out; tune --trials 2 --partition nowhere; echo \"refused $?\"\n"
              "find out -name 'trial-*' | wc -l\n"
              "tune --trials 1 --partition nowhere --dry-run\n",
          out))
    GTEST_SKIP() << "no Slurm that could be started";
  EXPECT_THAT(out, AllOf(HasSubstr("trial 2: never started: waited 3 s in the queue: Resources"),
                         HasSubstr("winner: trial 1"), HasSubstr("code 0"),
                         HasSubstr("error: sbatch: did not take the job: "),
                         HasSubstr("refused 5\n0\n"), HasSubstr("would run trial 1:")));
}

}  // namespace
}  // namespace pleat::cli_test
