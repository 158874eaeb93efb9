// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/exchange/bridge_recipe.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/diagnostics.hpp"
#include "core/environment.hpp"
#include "core/json/text_file.hpp"
#include "interop/quoting.hpp"

namespace pleat {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostAnswer = std::size_t{64} << 20;
constexpr std::size_t kMostNoise = std::size_t{1} << 16;  // of what it prints, the end is kept
constexpr int kAnswerFd = 3, kLifeFd = 4;                 // in the child
constexpr int kLastWords = 500;                           // ms to wait for them
constexpr const char* kRunConfig =
    "run_config.yaml beside a run's checkpoints needs no Python; of NeMo-Run --to-yaml is read";

[[noreturn]] void fail(const std::string& message, const std::string& hint) {
  throw_config_error(ExitCode::bad_request, "FILE", "", message, hint);
}

// Beyond those that the child's actions use, closed in every program that is started.
class Pipe {
 public:
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_to_start();
    for (std::size_t i = 0; i < 2; ++i) {
      ends_[i] = fcntl(ends[i], F_DUPFD_CLOEXEC, 10);
      close(ends[i]);
    }
    if (ends_[0] < 0 || ends_[1] < 0) fail_to_start();
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  [[nodiscard]] int read_end() const { return ends_[0]; }
  [[nodiscard]] int write_end() const { return ends_[1]; }
  void close_end(std::size_t end) {
    if (ends_[end] >= 0) close(ends_[end]);
    ends_[end] = -1;
  }
  [[noreturn]] static void fail_to_start() {
    throw_config_error(ExitCode::device_or_io, "--python", "",
                       std::string("cannot be started: ") + std::strerror(errno), "");
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

struct Ran {
  std::string answer, noise;  // of descriptor 3; of stdout and stderr
  int status = 0;
  bool late = false;
  [[nodiscard]] bool is_answered() const { return answer.ends_with('\0'); }
};

// False at the end of the file.
bool take(int fd, std::string& text) {
  std::array<char, 65536> part{};
  const ssize_t n = read(fd, part.data(), part.size());
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  text.append(part.data(), static_cast<std::size_t>(n));
  return n > 0;
}

Ran run_python(const std::string& python, const std::vector<std::string>& arguments,
               double seconds) {
  Pipe answer, noise, life;
  std::vector<std::string> words{python, "-c", std::string(recipe_script())};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, noise.write_end(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, noise.write_end(), STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, answer.write_end(), kAnswerFd);
  posix_spawn_file_actions_adddup2(&actions, life.read_end(), kLifeFd);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // killed with its children
  pid_t child = 0;
  const int failed = posix_spawn(&child, python.c_str(), &actions, &attributes, pointers.data(),
                                 inherited_environment());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    errno = failed;
    Pipe::fail_to_start();
  }
  answer.close_end(1);
  noise.close_end(1);
  life.close_end(0);

  Ran ran;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::array<pollfd, 2> ends{pollfd{answer.read_end(), POLLIN, 0},
                             pollfd{noise.read_end(), POLLIN, 0}};
  while (ends[0].fd >= 0 && !ran.is_answered() && ran.answer.size() <= kMostAnswer) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    ran.late = left.count() <= 0;
    if (ran.late) break;
    if (poll(ends.data(), ends.size(),
             static_cast<int>(std::min<std::int64_t>(left.count(), 500))) <= 0)
      continue;
    for (pollfd& e : ends) {
      if (e.fd < 0 || e.revents == 0) continue;
      if (!take(e.fd, &e == ends.data() ? ran.answer : ran.noise)) e.fd = -1;
      e.revents = 0;
    }
    if (ran.noise.size() > 2 * kMostNoise) ran.noise.erase(0, ran.noise.size() - kMostNoise);
  }
  // It closed its answer without one, so it is about to end; what it says last is its reason.
  pollfd last{noise.read_end(), POLLIN, 0};
  while (ends[0].fd < 0 && Clock::now() < end && poll(&last, 1, kLastWords) > 0 &&
         take(last.fd, ran.noise))
    if (ran.noise.size() > 2 * kMostNoise) ran.noise.erase(0, ran.noise.size() - kMostNoise);
  kill(-child, SIGKILL);  // with what it started; one that has ended keeps how it did
  while (waitpid(child, &ran.status, 0) < 0 && errno == EINTR) {
  }
  return ran;
}

std::string python_of(const RecipeOptions& o) {
  std::string python = o.python;
  if (python.empty()) python = recipe_python();
  if (python.empty()) python = "python3";
  if (python.find('/') != std::string::npos) return python;
  return program_in_path(python);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// How to have the file written where the package is.
std::string command_for(const std::string& file, const std::string& function) {
  return fmt::format(
      "where it is installed: pleat import megatron-bridge {0} --python /path/to/its/python, or "
      "there: python3 -c \"import runpy; "
      "runpy.run_path('{0}')['{1}']().to_yaml('run_config.yaml')\" and give run_config.yaml; {2}",
      interop::one_line(file), function.empty() ? "NAME_OF_THE_RECIPE" : function, kRunConfig);
}

std::string ending_of(const Ran& ran) {
  std::string text = WIFSIGNALED(ran.status)
                         ? fmt::format("was ended by signal {}", WTERMSIG(ran.status))
                         : fmt::format("ended with code {}", WEXITSTATUS(ran.status));
  const std::vector<std::string> noise = lines_of(ran.noise);
  if (!noise.empty()) text += ": " + interop::one_line(noise.back());
  return text;
}

}  // namespace

bool is_recipe(const std::string& file) { return file.ends_with(".py"); }

std::string read_bridge_recipe(const std::string& file, const RecipeOptions& o) {
  (void)read_text_file(file);  // says what is wrong with it
  const std::string python = python_of(o);
  if (python.empty() || access(python.c_str(), X_OK) != 0) {
    fail(fmt::format("{} is Python, and there is no {} to run it", file,
                     python.empty() ? "python3" : python),
         command_for(file, o.function));
  }
  const Ran ran = run_python(python, {file, o.function, o.gpu}, o.seconds);
  if (ran.late) {
    fail(fmt::format("{} was killed: it ran longer than {:g} s in {}", file, o.seconds, python),
         "--recipe-time SECONDS gives it longer; it must not train, only return its configuration");
  }
  const std::size_t line = ran.answer.find('\n');
  if (!ran.is_answered() || line == std::string::npos) {
    fail(fmt::format("{} returned no configuration: its process {}", file, ending_of(ran)),
         "a function that returns a ConfigContainer");
  }
  const std::string word = ran.answer.substr(0, line);
  std::string text = ran.answer.substr(line + 1);
  text.pop_back();
  if (word == "config") return text;
  const std::vector<std::string> names = lines_of(text);
  if (word == "missing") {
    fail(fmt::format("{} is Python for Megatron-Bridge, and {} has no megatron.bridge", file,
                     python),
         command_for(file, names.size() == 1 ? names.front() : ""));
  }
  if (word == "choose" && !o.function.empty()) {
    fail(fmt::format("--recipe: {} has no {}", file, o.function),
         names.empty() ? "a function of the file" : fmt::format("{}", fmt::join(names, ", ")));
  }
  if (word == "choose" && names.empty()) {
    fail(fmt::format("{} has no function without arguments that could return a ConfigContainer",
                     file),
         kRunConfig);
  }
  if (word == "choose") {
    fail(fmt::format("{} has {} recipes", file, names.size()),
         fmt::format("--recipe with one of {}", fmt::join(names, ", ")));
  }
  fail(fmt::format("{} raised {}", file, interop::one_line(text)),
       fmt::format("it was run by {}; another one: --python, or PLEAT_PYTHON", python));
}

}  // namespace pleat
