// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/run_pleat.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace pleat::cli_test {
namespace {

namespace fs = std::filesystem;

// Starts the binary with stdout and stderr on these descriptors.
pid_t start(const std::vector<std::string>& arguments, int out, int err,
            std::vector<std::string> variables = {}, const std::string& program = PLEAT_BINARY) {
  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  variables.push_back("PLEAT_CACHE_DIR=" + test_folder() + "/cache");  // no profile of this machine
  if (!std::ranges::any_of(variables, [](const std::string& v) {
        return v.starts_with("PLEAT_CONFIG=") || v.starts_with("XDG_CONFIG_HOME=");
      })) {
    variables.push_back("PLEAT_CONFIG=");  // no defaults of this machine
  }
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGPIPE, SIG_DFL);
    ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    ::unsetenv("COLUMNS");
    for (std::string& variable : variables) ::putenv(variable.data());
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  return child;
}

int exit_code_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int open_new(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

Said run_onto(int out, const std::vector<std::string>& arguments,
              const std::vector<std::string>& variables = {},
              const std::string& program = PLEAT_BINARY) {
  const std::string err_file = test_folder() + "/stderr";
  const int err = open_new(err_file);
  Said run;
  run.exit_code = exit_code_of(start(arguments, out, err, variables, program));
  ::close(err);
  run.err = read_text(err_file);
  return run;
}

Said run_with(const std::vector<std::string>& variables, const std::string& program,
              const std::vector<std::string>& arguments) {
  const std::string out_file = test_folder() + "/stdout";
  const int out = open_new(out_file);
  Said run = run_onto(out, arguments, variables, program);
  ::close(out);
  run.out = read_text(out_file);
  return run;
}

}  // namespace

Said run_pleat(const std::vector<std::string>& arguments) { return run_pleat_with({}, arguments); }

Said run_pleat_with(const std::vector<std::string>& variables,
                    const std::vector<std::string>& arguments) {
  return run_with(variables, PLEAT_BINARY, arguments);
}

Said run_program(const std::string& program, const std::vector<std::string>& arguments) {
  return run_with({}, program, arguments);
}

Said run_pleat_into(const std::string& file, const std::vector<std::string>& arguments) {
  const int out = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  Said run = run_onto(out, arguments);
  ::close(out);
  return run;
}

Said run_pleat_into_closed_pipe(const std::vector<std::string>& arguments) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]);
  Said run = run_onto(ends[1], arguments);
  ::close(ends[1]);
  return run;
}

Said interrupt_pleat(const std::vector<std::string>& arguments, const std::string& sign) {
  return disturb_pleat(arguments, sign, [](pid_t child) { ::kill(child, SIGINT); });
}

Said disturb_pleat(const std::vector<std::string>& arguments, const std::string& sign,
                   const std::function<void(pid_t)>& act) {
  const std::string out_file = test_folder() + "/stdout", err_file = test_folder() + "/stderr";
  const int out = open_new(out_file), err = open_new(err_file);
  const pid_t child = start(arguments, out, err);
  for (int i = 0; i < 6000 && read_text(out_file).find(sign) == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  act(child);
  const int exit_code = exit_code_of(child);
  ::close(out);
  ::close(err);
  return {exit_code, read_text(out_file), read_text(err_file)};
}

std::string test_folder() {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  const fs::path folder =
      fs::path(::testing::TempDir()) /
      (std::string("pleat-cli-") + info->test_suite_name() + "-" + info->name());
  static std::string made;
  if (made != folder.string()) {
    fs::remove_all(folder);
    fs::create_directories(folder);
    made = folder.string();
  }
  return made;
}

std::string made_folder(const char* name) {
  const std::string folder = test_folder() + "/" + name;
  std::filesystem::create_directories(folder);
  return folder;
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string read_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace pleat::cli_test
