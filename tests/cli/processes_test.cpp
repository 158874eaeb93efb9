// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Training in several processes as a user meets it: the same numbers, lost processes, signals.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/json/parse.hpp"
#include "tests/cli/run_pleat.hpp"

namespace pleat::cli_test {
namespace {

using Words = std::vector<std::string>;

// Four ranks; the text is the test's own.
Words training_steps(const std::string& steps) {
  const std::string text = test_folder() + "/text";
  std::string words;
  for (int i = 0; i < 4000; ++i) words += static_cast<char>('a' + i * i % 23);
  write_text(text, words);
  return Words{"train", "--model", "tiny-moe", "--gpus",    "4",  "--ep",
               "2",     "--pp",    "2",        "--seq-len", "32", "--global-batch",
               "4",     "--data",  text,       "--steps",   steps};
}

std::vector<std::pair<double, double>> losses_and_norms(const std::string& json) {
  std::vector<std::pair<double, double>> all;
  const JsonValue document = parse_json(json, "train");
  for (const JsonValue& step : document.find("steps")->items()) {
    all.emplace_back(*step.find("loss")->as_double(), *step.find("grad_norm")->as_double());
  }
  return all;
}

struct Variable {
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  const char* name_;
};

// The processes that `parent` has started, in the order of their ids.
std::vector<pid_t> children_of(pid_t parent) {
  std::ifstream in("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) +
                   "/children");
  std::vector<pid_t> all;
  for (pid_t child; in >> child;) all.push_back(child);
  return all;
}

TEST(Processes, OverTcpGiveTheSameNumbersAsThreads) {
  const Said threads = run_pleat(training_steps("3") + Words{"--json"});
  ASSERT_EQ(threads.exit_code, 0) << threads.err;
  for (const Words& flags : {Words{"--transport", "tcp"}, Words{"--ranks", "2"}}) {
    const Said tcp = run_pleat(training_steps("3") + Words{"--json"} + flags);
    ASSERT_EQ(tcp.exit_code, 0) << tcp.err;
    EXPECT_EQ(losses_and_norms(tcp.out), losses_and_norms(threads.out));
  }
}

TEST(Processes, WhatWasChosenIsPrinted) {
  const Said said = run_pleat(training_steps("1") + Words{"--transport", "tcp"});
  EXPECT_EQ(said.exit_code, 0) << said.err;
  EXPECT_NE(said.out.find("4 processes of 1 rank over TCP: process 0 of 4 (torchrun: RANK=0, "
                          "WORLD_SIZE=4), meeting at 127.0.0.1:"),
            std::string::npos)
      << said.out;
}

TEST(Processes, AKilledOneEndsAllWithItsName) {
  const Said said = disturb_pleat(training_steps("100000") + Words{"--transport", "tcp"},
                                  "step    2", [](pid_t launcher) {
                                    const auto children = children_of(launcher);
                                    ASSERT_EQ(children.size(), 4U);
                                    kill(children[2], SIGKILL);
                                  });
  EXPECT_EQ(said.exit_code, 5);
  for (const int p : {0, 1, 3}) {
    EXPECT_NE(said.err.find("error: process " + std::to_string(p) +
                            ": rank 2 is lost: its process ended\n"),
              std::string::npos)
        << said.err;
  }
  EXPECT_NE(said.err.find("process 2 of 4 was killed by signal 9"), std::string::npos) << said.err;
}

TEST(Processes, DieWithTheirLauncher) {
  std::vector<pid_t> children;
  const Said said = disturb_pleat(training_steps("100000") + Words{"--transport", "tcp"},
                                  "step    2", [&](pid_t launcher) {
                                    children = children_of(launcher);
                                    kill(launcher, SIGKILL);
                                  });
  EXPECT_EQ(said.exit_code, -SIGKILL);
  ASSERT_EQ(children.size(), 4U);
  const auto alive = [](pid_t child) {  // not gone, and not only waiting to be reaped
    std::string stat = read_text("/proc/" + std::to_string(child) + "/stat");
    const std::size_t state = stat.rfind(')');
    return state != std::string::npos && stat[state + 2] != 'Z';
  };
  for (int i = 0; i < 500 && std::any_of(children.begin(), children.end(), alive); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  for (const pid_t child : children) EXPECT_FALSE(alive(child));
}

TEST(Processes, SignalsEndAfterTheStep) {
  const std::pair<int, std::pair<int, const char*>> signals[] = {{SIGTERM, {75, "SIGTERM"}},
                                                                 {SIGINT, {130, "SIGINT"}}};
  for (const Words& transport : {Words{}, Words{"--transport", "tcp"}}) {
    for (const auto& [signal, expected] : signals) {
      const Said said = disturb_pleat(training_steps("100000") + transport, "step    1",
                                      [signal = signal](pid_t pid) { kill(pid, signal); });
      EXPECT_EQ(said.exit_code, expected.first) << said.err;
      EXPECT_NE(said.err.find(std::string("stopped by ") + expected.second + " after step "),
                std::string::npos)
          << said.err;
      EXPECT_NE(said.out.find("peak memory"), std::string::npos) << said.out;
    }
  }
}

TEST(Processes, ContradictingVariablesAreARequestThatIsWrong) {
  const Variable rank("RANK", "4"), size("WORLD_SIZE", "4");
  const Said said = run_pleat(training_steps("1"));
  EXPECT_EQ(said.exit_code, 2);
  EXPECT_EQ(said.err,
            "error: RANK: RANK=4 contradicts WORLD_SIZE=4\n"
            "  hint: processes count from 0: RANK is below WORLD_SIZE\n");
}

// A port of this host that nothing listened at a moment ago.
std::string free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof where;
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&where), size), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&where), &size), 0);
  close(fd);
  return std::to_string(ntohs(where.sin_port));
}

TEST(Processes, AMissingOneIsNamedInBoundedTime) {
  const std::string at = free_port();
  const Variable rank("RANK", "0"), size("WORLD_SIZE", "2"), host("MASTER_ADDR", "127.0.0.1"),
      port("MASTER_PORT", at.c_str());
  const Said said = run_pleat(training_steps("1") + Words{"--rendezvous-timeout", "1"});
  EXPECT_EQ(said.exit_code, 5);
  EXPECT_EQ(said.err,
            "error: process 0: process 1 of 2 did not come to 127.0.0.1:" + at + " within 1 s\n");
}

TEST(Processes, WithoutASecretNoOtherHostIsServed) {
  const Variable rank("RANK", "0"), size("WORLD_SIZE", "2"), host("MASTER_ADDR", "0.0.0.0"),
      port("MASTER_PORT", free_port().c_str());
  const Said said = run_pleat(training_steps("1"));
  EXPECT_EQ(said.exit_code, 2);
  EXPECT_NE(said.err.find("error: PLEAT_JOB_SECRET: is not set: without a secret of the job only "
                          "this host's loopback is served"),
            std::string::npos)
      << said.err;
  EXPECT_NE(said.err.find("openssl rand -hex 32"), std::string::npos) << said.err;
}

// Process 1 of another job: neither joins, both say why, nobody prints a secret.
TEST(Processes, AnotherJobsProcessIsNotLetIn) {
  const std::string at = "127.0.0.1:" + free_port();
  const std::string ours(64, 'a'), others(64, 'b');
  Said joins[2];
  const auto run = [&](int process, const std::string& secret) {
    std::string line = "PLEAT_JOB_SECRET=" + secret + " timeout 100 " PLEAT_BINARY;
    for (const std::string& word : training_steps("1")) line += " '" + word + "'";
    const std::string name = test_folder() + "/process" + std::to_string(process);
    line +=
        " --process " + std::to_string(process) + "/2 --rendezvous-timeout 2 --rendezvous " + at;
    const int status =
        std::system((line + " >" + name + ".out 2>" + name + ".err </dev/null").c_str());
    joins[process] = {WEXITSTATUS(status), read_text(name + ".out"), read_text(name + ".err")};
  };
  static_cast<void>(training_steps("1"));  // makes the folder, which both write to
  std::jthread other([&] { run(1, others); });
  run(0, ours);
  other.join();
  EXPECT_EQ(joins[0].exit_code, 5);
  EXPECT_NE(joins[0].err.find("process 1 of 2 did not come to " + at + " within 2 s; "),
            std::string::npos)
      << joins[0].err;
  EXPECT_NE(joins[0].err.find("did not show that"), std::string::npos) << joins[0].err;
  EXPECT_EQ(joins[1].exit_code, 5);
  EXPECT_NE(joins[1].err.find("does not know this job's secret"), std::string::npos)
      << joins[1].err;
  for (const Said& said : joins) {
    EXPECT_EQ((said.out + said.err).find("aaaa"), std::string::npos);
    EXPECT_EQ((said.out + said.err).find("bbbb"), std::string::npos);
  }
}

// Open MPI ends everyone itself once a process is gone, so what the others say may be cut off.
class UnderMpirun : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string(PLEAT_MPIEXEC).empty()) GTEST_SKIP() << "no MPI in this build";
  }
  static Said run(const Words& arguments) {
    std::string line =
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 100 " PLEAT_MPIEXEC
        " --oversubscribe -n 4 " PLEAT_BINARY;
    for (const std::string& word : arguments) line += " '" + word + "'";
    const std::string out = test_folder() + "/out", err = test_folder() + "/err";
    const int status = std::system((line + " >" + out + " 2>" + err + " </dev/null").c_str());
    return {WEXITSTATUS(status), read_text(out), read_text(err)};
  }
};

TEST_F(UnderMpirun, TheNumbersAreThoseOfThreads) {
  const Said threads = run_pleat(training_steps("3") + Words{"--json"});
  ASSERT_EQ(threads.exit_code, 0) << threads.err;
  const Said mpi = run(training_steps("3") + Words{"--json"});
  ASSERT_EQ(mpi.exit_code, 0) << mpi.err;
  EXPECT_EQ(losses_and_norms(mpi.out), losses_and_norms(threads.out));
}

TEST_F(UnderMpirun, WhatWasChosenIsPrintedOnce) {
  const Said said = run(training_steps("1"));
  EXPECT_EQ(said.exit_code, 0) << said.err;
  const std::string line =
      "4 processes of 1 rank over MPI: process 0 of 4 (Open MPI: OMPI_COMM_WORLD_RANK=0, "
      "OMPI_COMM_WORLD_SIZE=4)";
  const std::size_t first = said.out.find(line);
  EXPECT_NE(first, std::string::npos) << said.out;
  EXPECT_EQ(said.out.find("processes of 1 rank", first + line.size()), std::string::npos)
      << said.out;
}

// The `pleat` process of a rank among all whose arguments name this test's folder; 0: none.
pid_t process_of_rank(const std::string& rank) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string folder = entry.path().string();
    const std::string arguments = read_text(folder + "/cmdline");
    if (!arguments.starts_with(PLEAT_BINARY) ||
        arguments.find(test_folder()) == std::string::npos) {
      continue;
    }
    const std::string variable = "OMPI_COMM_WORLD_RANK=" + rank;
    if (('\0' + read_text(folder + "/environ")).find('\0' + variable + '\0') != std::string::npos) {
      return std::stoi(entry.path().filename().string());
    }
  }
  return 0;
}

// With --enable-recovery mpirun does not kill the others itself, so they end by what they notice.
// Its exit code is its own, so a shell around each rank keeps that of the rank.
TEST_F(UnderMpirun, AKilledOneEndsAllWithItsName) {
  const std::string folder = test_folder();
  std::string line = "trap '' TERM; " PLEAT_BINARY;
  for (const std::string& word : training_steps("100000")) line += " '" + word + "'";
  const std::string said = folder + "/said.$OMPI_COMM_WORLD_RANK";
  write_text(folder + "/rank.sh",
             line + " 2>" + said + "\necho \"ended with $?\" >>" + said + "\n");
  std::jthread job([&] {
    const std::string command =
        "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 100 " PLEAT_MPIEXEC
        " --oversubscribe --enable-recovery -n 4 bash " +
        folder + "/rank.sh >" + folder + "/out 2>" + folder + "/err </dev/null";
    static_cast<void>(!std::system(command.c_str()));
  });
  for (int i = 0; i < 3000 && read_text(folder + "/out").find("step    2") == std::string::npos;
       ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const pid_t lost = process_of_rank("2");
  ASSERT_NE(lost, 0);
  const auto begin = std::chrono::steady_clock::now();
  kill(lost, SIGKILL);
  job.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  for (const std::string p : {"0", "1", "3"}) {
    const std::string expected =
        "error: process " + p + ": rank 2 is lost: its process ended\nended with 5\n";
    for (int i = 0; i < 300 && read_text(folder + "/said." + p) != expected; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(read_text(folder + "/said." + p), expected);
  }
}

// `pleat launch` writes a job file that starts `pleat train` as it is.
TEST_F(UnderMpirun, TheJobFileOfLaunchWorks) {
  const std::string folder = test_folder();
  const Said planned = run_pleat({"predict", "--model", "tiny-moe", "--cluster", "localhost",
                                  "--runtime", "pleat", "--gpus", "4", "--ep", "4", "--seq-len",
                                  "32", "--global-batch", "4", "--out", folder + "/plan.json"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  const Said launch = run_pleat({"launch", "--to", "mpirun", folder + "/plan.json", "--arg",
                                 "--steps=2", "-o", folder + "/job.sh"});
  ASSERT_EQ(launch.exit_code, 0) << launch.err;
  static_cast<void>(training_steps("1"));  // writes the text
  const std::string line =
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
      "PATH=\"$(dirname " PLEAT_MPIEXEC "):$(dirname " PLEAT_BINARY "):$PATH\" timeout 100 bash " +
      folder + "/job.sh --data " + folder + "/text --lr 0.001 --save " + folder + "/ckpt >" +
      folder + "/out 2>" + folder +
      "/err </dev/null";
  EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 0) << read_text(folder + "/err");
  const std::string out = read_text(folder + "/out");
  EXPECT_NE(out.find("4 processes of 1 rank over MPI"), std::string::npos) << out;
  EXPECT_NE(out.find("step    1   loss "), std::string::npos) << out;
}

}  // namespace
}  // namespace pleat::cli_test
