// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A small launcher for one host. The processes die with it, and are told by the variables that
// torchrun sets who they are. A new secret in their environment lets them join, and nobody else.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "application/processes/processes.hpp"
#include "backend/launch/find_job_secret.hpp"
#include "console/exit_request.hpp"
#include "console/output.hpp"
#include "core/diagnostics.hpp"
#include "core/environment.hpp"

namespace pleat {
namespace {

constexpr double kGraceSeconds = 20;  // for the others, after one has failed

bool is_good_order(int code) {
  return code == static_cast<int>(ExitCode::preempted) ||
         code == static_cast<int>(ExitCode::interrupted);
}

struct Words {  // for execve
  std::vector<std::string> texts;
  std::vector<char*> pointers;
  char** get() {
    pointers.clear();
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers.data();
  }
};

Words own_arguments() {
  Words words;
  std::ostringstream all;
  all << std::ifstream("/proc/self/cmdline", std::ios::binary).rdbuf();
  std::istringstream in(all.str());
  for (std::string word; std::getline(in, word, '\0');) words.texts.push_back(word);
  return words;
}

Words environment_of(int process, int processes, const Address& at, int listener,
                     const std::string& secret) {
  std::vector<std::pair<std::string, std::string>> own = {
      {"RANK", std::to_string(process)},
      {"WORLD_SIZE", std::to_string(processes)},
      {"LOCAL_RANK", std::to_string(process)},
      {"LOCAL_WORLD_SIZE", std::to_string(processes)},
      {"MASTER_ADDR", at.host},
      {"MASTER_PORT", std::to_string(at.port)},
      {kJobSecretVariable, secret}};
  if (process == 0) own.emplace_back("PLEAT_LISTENER", std::to_string(listener));
  Words words;
  for (char** entry = inherited_environment(); *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const bool ours = std::any_of(own.begin(), own.end(), [&](const auto& variable) {
      return text.starts_with(variable.first + "=");
    });
    if (!ours && !text.starts_with(std::string(kJobSecretFileVariable) + "="))
      words.texts.push_back(text);
  }
  for (const auto& [name, value] : own) words.texts.push_back(name + "=" + value);
  return words;
}

pid_t start(int process, int processes, const Socket& listener, const std::string& secret) {
  Words arguments = own_arguments();
  Words environment = environment_of(process, processes, listener.local(), listener.fd(), secret);
  char** const argv = arguments.get();
  char** const envp = environment.get();
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0)
    throw std::runtime_error(fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (child > 0) return child;
  // Only async-signal-safe calls. A group of its own: Ctrl-C reaches it through its starter, once.
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  if (process == 0) fcntl(listener.fd(), F_SETFD, 0);
  execve("/proc/self/exe", argv, envp);
  _exit(127);
}

}  // namespace

int spawn_processes(int processes) {
  const Socket listener = listen_at({"127.0.0.1", 0});
  const std::string secret = new_secret_text();
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) children.push_back(start(p, processes, listener, secret));
  catch_stop_signals();
  int first_failure = 0, handed_on = 0;
  Deadline grace{};  // unset: none has failed
  std::size_t left = children.size();
  const auto send_all = [&](int signal) {
    for (const pid_t child : children) {
      if (child > 0) kill(child, signal);
    }
  };
  while (left > 0) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, WNOHANG);
    const auto place = std::find(children.begin(), children.end(), ended);
    if (ended > 0 && place != children.end()) {
      *place = 0;
      --left;
      const int code =
          WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(ExitCode::device_or_io);
      if (WIFSIGNALED(status)) {
        note(fmt::format("process {} of {} was killed by signal {}", place - children.begin(),
                         processes, WTERMSIG(status)));
      }
      if (code != 0 && first_failure == 0) {
        first_failure = code;
        // Those that were asked to end may still be saving.
        if (!is_good_order(code)) grace = after(kGraceSeconds);
      }
      continue;
    }
    if (const int signal = stop_signal(); signal != 0 && handed_on == 0) {
      handed_on = signal;
      send_all(signal);
    }
    const bool over = grace != Deadline() && grace < std::chrono::steady_clock::now();
    if (over) send_all(SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return first_failure;
}

}  // namespace pleat
