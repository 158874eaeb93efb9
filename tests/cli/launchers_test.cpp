// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat train` under the launchers themselves, and in jobs over several addresses: the losses are
// those of threads, and what was chosen is printed. A launcher that is not installed is skipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "core/environment.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using ::testing::HasSubstr;

using Words = std::vector<std::string>;

Words training() {
  const std::string text = test_folder() + "/text";
  std::string words;
  for (int i = 0; i < 4000; ++i) words += static_cast<char>('a' + i * i % 23);
  write_text(text, words);
  return {"train", "--model", "tiny-moe", "--gpus",    "4",  "--ep", "2",       "--pp",
          "2",     "--seq-len", "32",     "--global-batch", "4", "--data", text, "--steps", "3"};
}

std::string shell_words(const Words& words) {
  std::string line;
  for (const std::string& word : words) line += " '" + word + "'";
  return line;
}

struct Shell {
  int code = -1;
  std::string out, err;
};

// Some of these jobs meet at addresses that other hosts reach: who may join knows the secret.
Shell shell(const std::string& line, const std::string& name = "shell") {
  const std::string out = test_folder() + "/" + name + ".out",
                    err = test_folder() + "/" + name + ".err";
  const int status = std::system(("( export PLEAT_JOB_SECRET=" + std::string(64, '7') + "; " +
                                  line + " ) >" + out + " 2>" + err + " </dev/null")
                                     .c_str());
  return {WEXITSTATUS(status), read_text(out), read_text(err)};
}

bool installed(const std::string& tool) {
  return std::system(("command -v '" + tool + "' >/dev/null 2>&1").c_str()) == 0;
}

// "loss 5.5263" of every step.
Words losses(const std::string& said) {
  Words all;
  for (std::size_t at = 0; (at = said.find("   loss ", at)) != std::string::npos;) {
    at += 8;
    all.push_back(said.substr(at, said.find(' ', at) - at));
  }
  return all;
}

void expect_as_threads(const Shell& s, const std::string& chosen) {
  const Said threads = run_pleat(training());
  ASSERT_EQ(threads.exit_code, 0) << threads.err;
  ASSERT_EQ(losses(threads.out).size(), 3u);
  EXPECT_EQ(s.code, 0) << s.out << s.err;
  EXPECT_EQ(losses(s.out), losses(threads.out)) << s.out << s.err;
  EXPECT_THAT(s.out, HasSubstr(chosen));
}

const std::string kTrain = "timeout 100 " PLEAT_BINARY;

// Of the reference environment, or the one on the path.
std::string torchrun() {
  if (const auto python = environment_variable("PLEAT_REFERENCE_PYTHON")) {
    const auto beside = std::filesystem::path(*python).parent_path() / "torchrun";
    if (std::filesystem::exists(beside)) return beside.string();
  }
  return installed("torchrun") ? "torchrun" : "";
}

TEST(Launchers, Torchrun) {
  const std::string launcher = torchrun();
  if (launcher.empty()) GTEST_SKIP() << "no torchrun";
  expect_as_threads(
      shell(launcher + " --nproc-per-node 4 --standalone --no-python " + PLEAT_BINARY +
            shell_words(training())),
      "4 processes of 1 rank over TCP: process 0 of 4 (torchrun: RANK=0, WORLD_SIZE=4)");
}

const std::string kMpirun =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 100 " PLEAT_MPIEXEC
    " --oversubscribe ";

TEST(Launchers, TorchrunWithinMpirunIsTheInnermost) {
  const std::string launcher = torchrun();
  if (launcher.empty()) GTEST_SKIP() << "no torchrun";
  if (std::string(PLEAT_MPIEXEC).empty()) GTEST_SKIP() << "no MPI in this build";
  expect_as_threads(
      shell(kMpirun + "-n 1 " + launcher + " --nproc-per-node 4 --standalone --no-python " +
            PLEAT_BINARY + shell_words(training())),
      "process 0 of 4 (torchrun: RANK=0, WORLD_SIZE=4)");
}

// Within a cluster of this host, of which no process is left.
Shell in_slurm(const std::string& line) {
  const std::string folder = test_folder() + "/slurm";
  const Shell done =
      shell("bash " PLEAT_SOURCE_DIR "/tests/cli/one_node_slurm.sh " + folder + " " + line);
  const Shell left =
      shell("grep -lzxF 'SLURM_CONF=" + folder + "/slurm.conf' /proc/[0-9]*/environ", "left");
  EXPECT_EQ(left.out, "");
  return done;
}

TEST(Launchers, Srun) {
  const Shell s = in_slurm("srun --overcommit -n 4 " + kTrain + shell_words(training()));
  if (s.code == 77) GTEST_SKIP() << "no Slurm that could be started";
  expect_as_threads(s, "process 0 of 4 (Slurm: SLURM_PROCID=0, SLURM_STEP_NUM_TASKS=4)");
}

TEST(Launchers, SrunWithTwoRanksAProcess) {
  const Shell s = in_slurm("srun --overcommit -n 2 " + kTrain + shell_words(training()));
  if (s.code == 77) GTEST_SKIP() << "no Slurm that could be started";
  expect_as_threads(s, "2 processes of 2 ranks over TCP: process 0 of 2 (Slurm: SLURM_PROCID=0");
}

TEST(Launchers, Pmi) {
  const Shell s = in_slurm("srun --mpi=pmi2 --overcommit -n 4 " + kTrain + shell_words(training()));
  if (s.code == 77) GTEST_SKIP() << "no Slurm that could be started";
  expect_as_threads(s, "process 0 of 4 (PMI: PMI_RANK=0, PMI_SIZE=4)");
}

TEST(Launchers, TorchrunWithinSrunIsTheInnermost) {
  const std::string launcher = torchrun();
  if (launcher.empty()) GTEST_SKIP() << "no torchrun";
  const Shell s = in_slurm("srun -n 1 --overcommit " + launcher +
                           " --nproc-per-node 4 --standalone --no-python " + PLEAT_BINARY +
                           shell_words(training()));
  if (s.code == 77) GTEST_SKIP() << "no Slurm that could be started";
  expect_as_threads(s, "process 0 of 4 (torchrun: RANK=0, WORLD_SIZE=4)");
}

TEST(Launchers, MpirunWithinAnAllocationIsTheInnermost) {
  if (std::string(PLEAT_MPIEXEC).empty()) GTEST_SKIP() << "no MPI in this build";
  write_text(test_folder() + "/job.sh",
             kMpirun + "-n 4 " PLEAT_BINARY + shell_words(training()) + "\n");
  const Shell s = in_slurm("salloc -n 1 bash " + test_folder() + "/job.sh");
  if (s.code == 77) GTEST_SKIP() << "no Slurm that could be started";
  expect_as_threads(s, "process 0 of 4 (Open MPI: OMPI_COMM_WORLD_RANK=0, OMPI_COMM_WORLD_SIZE=4)");
}

// The file that `pleat launch` writes: it says what is missing, and trains once it is there.
TEST(Launchers, SbatchOfAJobFile) {
  const std::string folder = test_folder(), plan = folder + "/plan.json", job = folder + "/job.sh";
  const Words train = training();
  const auto data = std::find(train.begin(), train.end(), "--data");
  const Said planned = run_pleat(Words{"predict", "--cluster", "localhost", "--out", plan} +
                                 Words(train.begin() + 1, data));
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  ASSERT_EQ(run_pleat({"launch", "--to", "slurm", plan, "-o", job}).exit_code, 0);
  write_text(folder + "/submit.sh",
             "PATH=$(dirname " PLEAT_BINARY "):$PATH\nexport PATH\n"
             "cd " + folder + " || exit 1\n"
             "sbatch --overcommit --wait --output=missing.log job.sh\n"
             "export DATA=" + *(data + 1) + " CHECKPOINTS=ckpt STEPS=3 LR=0.001\n"
             "sbatch --overcommit --wait --output=train.log job.sh\n"
             "code=$?\ncat train.log\nexit $code\n");
  const Shell s = in_slurm("bash " + folder + "/submit.sh");
  if (s.code == 77) GTEST_SKIP() << "no Slurm that could be started";
  expect_as_threads(s, "process 0 of 4 (Slurm: SLURM_PROCID=0, SLURM_STEP_NUM_TASKS=4)");
  EXPECT_THAT(read_text(folder + "/missing.log"), HasSubstr("STEPS is not set: steps to train."));
  EXPECT_TRUE(std::filesystem::exists(folder + "/ckpt/LATEST"));
}

// `pleat launch --run`: from the queue to the last step, or to the reason why not.
TEST(Launchers, LaunchRunsAndFollowsAJob) {
  const std::string folder = test_folder(), pleat = PLEAT_BINARY;
  const Words train = training();
  const auto data = std::find(train.begin(), train.end(), "--data");
  const Said planned = run_pleat(
      Words{"predict", "--cluster", "localhost", "--out", folder + "/plan.json"} +
      Words(train.begin() + 1, data));
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const std::string launch = pleat + " launch --to slurm plan.json --run --interval 0.2 --force";
  write_text(folder + "/submit.sh",
             "PATH=$(dirname " + pleat + "):$PATH\nexport PATH\ncd " + folder + " || exit 1\n" +
                 launch + " 2>missing.err; echo missing $?\n" + "export DATA=" + *(data + 1) +
                 " CHECKPOINTS=ckpt LR=0.001\n" + "STEPS=4 " + launch +
                 " 2>good.err; echo good $?\n" +
                 "STEPS=-1 " + launch + " 2>bad.err; echo bad $?\n");
  const Shell s = in_slurm("bash " + folder + "/submit.sh");
  if (s.code == 77) GTEST_SKIP() << "no Slurm that could be started";
  EXPECT_THAT(s.out, HasSubstr("missing 2\n"));
  EXPECT_THAT(read_text(folder + "/missing.err"), HasSubstr("STEPS is not set: steps to train."));
  EXPECT_THAT(s.out, HasSubstr("job 1: COMPLETED\ngood 0\n")) << s.err;
  EXPECT_THAT(s.out, HasSubstr("step 3, loss ")) << read_text(folder + "/good.err");
  EXPECT_THAT(s.out, HasSubstr("a step (predicted "));
  EXPECT_THAT(s.out, HasSubstr("job 2: FAILED, NonZeroExitCode\nbad 5\n"));
  EXPECT_THAT(read_text(folder + "/bad.err"), HasSubstr("its output: "));
}

// Two processes of two ranks, `where[i]` before the command of the i-th.
void expect_two_hosts(const Words& where, const std::string& rendezvous) {
  const std::string words = shell_words(training());  // makes the folder, which both write to
  const auto run = [&](int process) {
    return shell(where[static_cast<std::size_t>(process)] + kTrain + words +
                     " --process " + std::to_string(process) + "/2 --rendezvous " + rendezvous,
                 "process" + std::to_string(process));
  };
  Shell second;
  std::jthread other([&] { second = run(1); });
  const Shell first = run(0);
  other.join();
  EXPECT_EQ(second.code, 0) << second.err;
  expect_as_threads(first,
                    "2 processes of 2 ranks over TCP: process 0 of 2 (flags: --process 0/2), "
                    "meeting at " +
                        rendezvous);
}

TEST(Launchers, AnotherAddressOfThisHost) {
  const std::string port = std::to_string(20000 + getpid() % 20000);
  expect_two_hosts({"", ""}, "127.0.0.2:" + port);
}

// Hosts that see nothing of each other but one wire.
TEST(Launchers, TwoNetworkNamespaces) {
  const std::string id = std::to_string(getpid());
  const std::string a = "pleat-a" + id, b = "pleat-b" + id;
  const Shell made = shell(
      "ip netns add " + a + " && ip netns add " + b + " && ip link add va" + id + " netns " + a +
      " type veth peer name vb" + id + " netns " + b + " && ip -n " + a +
      " addr add 10.77.0.1/24 dev va" + id + " && ip -n " + b + " addr add 10.77.0.2/24 dev vb" +
      id + " && ip -n " + a + " link set va" + id + " up && ip -n " + b + " link set vb" + id +
      " up && ip -n " + a + " link set lo up && ip -n " + b + " link set lo up");
  if (made.code == 0) {
    expect_two_hosts({"ip netns exec " + a + " ", "ip netns exec " + b + " "}, "10.77.0.1:29600");
  }
  static_cast<void>(shell("ip netns del " + a + "; ip netns del " + b));
  if (made.code != 0) GTEST_SKIP() << "no network namespaces here: " << made.err;
}

// Saved by processes of MPI, gone on with by others: the bits of threads that were not disturbed.
TEST(Launchers, ResumeUnderMpirunIsBitwise) {
  if (std::string(PLEAT_MPIEXEC).empty()) GTEST_SKIP() << "no MPI in this build";
  const auto command = [](const std::string& save, const std::string& steps) {
    Words words = training();
    words.back() = steps;
    return words + Words{"--order-samples",          "400",          "--save",
                         test_folder() + "/" + save, "--save-every", "2"};
  };
  ASSERT_EQ(run_pleat(command("whole", "6")).exit_code, 0);
  const Shell begun = shell(kMpirun + "-n 4 " PLEAT_BINARY + shell_words(command("mpi", "4")));
  ASSERT_EQ(begun.code, 0) << begun.err;
  const Shell resumed = shell(kMpirun + "-n 4 " PLEAT_BINARY +
                              shell_words(command("mpi", "6") + Words{"--resume"}));
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("going on after step "));
  const std::string mine = test_folder() + "/mpi/step_00000006",
                    whole = test_folder() + "/whole/step_00000006";
  ASSERT_EQ(files_in(mine), files_in(whole));
  for (const std::string& file : files_in(whole)) {
    EXPECT_EQ(read_text(mine + "/" + file), read_text(whole + "/" + file)) << file;
  }
}

}  // namespace
}  // namespace pleat::cli_test
