// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Trials as processes of this host.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>

#include "application/tune/job_runner.hpp"
#include "core/diagnostics.hpp"
#include "core/environment.hpp"
#include "core/json/text_file.hpp"

namespace pleat {
namespace {

namespace fs = std::filesystem;

// Says who it is, lets go of the lock, runs the job, says how it ended: its exit code (128 and the
// signal), and how often the kernel has killed a process of this control group for its memory.
// Arguments: the folder, the job file, the lock.
constexpr const char* kShell = R"sh(
cd "$1" || exit 1
read -ra stat <"/proc/$$/stat"
printf '%s:%s\n' "$$" "${stat[21]}" >pid.part && mv pid.part pid
eval "exec $3>&-"
cd "$4" || exit 1
kills() {
  local group name count
  group="$(sed -n 's/^0:://p' /proc/self/cgroup 2>/dev/null)"
  while read -r name count; do
    if [[ "$name" == oom_kill ]]; then echo "$count"; fi
  done 2>/dev/null <"/sys/fs/cgroup$group/memory.events"
}
before="$(kills 2>/dev/null)"
bash "$2" >>"$1/log" 2>&1
code=$?
after="$(kills 2>/dev/null)"
printf '%s %s\n' "$code" "$((${after:-0} - ${before:-0}))" >"$1/exit.part"
mv "$1/exit.part" "$1/exit"
)sh";

struct LocalJob {
  pid_t process = 0;
  std::string started;  // clock ticks since the start of the machine
};

std::optional<LocalJob> job_named(const std::string& name) {
  const std::size_t colon = name.find(':');
  int process = 0;
  const auto read =
      std::from_chars(name.data(), name.data() + std::min(colon, name.size()), process);
  if (colon == std::string::npos || read.ec != std::errc() || process <= 1) return std::nullopt;
  return LocalJob{process, name.substr(colon + 1)};
}

std::string text_of(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return "";
  try {
    return read_text_file(path);
  } catch (const ConfigError&) {
    return "";  // of a process that has just ended
  }
}

// The fields of /proc/N/stat after the name, which may have blanks: state is the first.
std::vector<std::string> stat_of(const std::string& process) {
  std::string text = text_of("/proc/" + process + "/stat");
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos) return {};
  std::istringstream rest(text.substr(end + 1));
  std::vector<std::string> fields;
  for (std::string word; rest >> word;) fields.push_back(word);
  return fields;
}
constexpr int kGraceTenths = 50;  // of a second, from SIGTERM to SIGKILL
constexpr std::size_t kStatState = 0, kStatSession = 3, kStatStart = 19;

bool is_alive(const LocalJob& job) {
  const auto fields = stat_of(std::to_string(job.process));
  return fields.size() > kStatStart && fields[kStatStart] == job.started &&
         fields[kStatState] != "Z" && fields[kStatState] != "X";
}

// How many there were.
int kill_session(pid_t session, int signal) {
  int killed = 0;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto fields = stat_of(name);
    if (fields.size() <= kStatSession || fields[kStatSession] != std::to_string(session)) continue;
    if (fields[kStatState] == "Z") continue;
    ++killed;
    kill(static_cast<pid_t>(std::atol(name.c_str())), signal);
  }
  return killed;
}

class LocalJobs : public JobRunner {
 public:
  LocalJobs(std::string needs, int lock) : needs_(std::move(needs)), lock_(lock) {}

  void require() const override {
    if (needs_.empty()) return;
    const std::string path = environment_variable("PATH").value_or("/usr/bin:/bin");
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t end = std::min(path.find(':', begin), path.size());
      if (access((path.substr(begin, end - begin) + "/" + needs_).c_str(), X_OK) == 0) return;
      begin = end + 1;
    }
    throw_config_error(ExitCode::device_or_io, needs_, "", "is not installed here",
                       "install it, or say another --on");
  }

  std::string start(const TrialJob& job) override {
    std::vector<std::string> words{"bash",
                                   "-c",
                                   kShell,
                                   job.name,
                                   job.folder,
                                   job.script,
                                   std::to_string(lock_),
                                   fs::current_path().string()};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::vector<std::string> lines;
    for (const auto& [name, value] : job.variables) lines.push_back(name + "=" + value);
    std::vector<char*> environment;
    for (std::string& line : lines) environment.push_back(line.data());
    for (char** inherited = inherited_environment(); *inherited != nullptr; ++inherited) {
      const std::string line = *inherited;
      const std::string name = line.substr(0, line.find('='));
      const bool is_set = std::any_of(job.variables.begin(), job.variables.end(),
                                      [&](const auto& v) { return v.first == name; });
      if (!is_set) environment.push_back(*inherited);
    }
    environment.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t as_usual;
    sigemptyset(&as_usual);
    for (const int signal : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM}) sigaddset(&as_usual, signal);
    posix_spawnattr_setsigdefault(&attributes, &as_usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF);
    pid_t process = 0;
    const int error =
        posix_spawnp(&process, "bash", &files, &attributes, arguments.data(), environment.data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    if (error != 0) throw_config_error(ExitCode::device_or_io, "bash", "", std::strerror(error));
    // It has not ended: nobody has waited for it.
    const auto fields = stat_of(std::to_string(process));
    return fmt::format("{}:{}", process, fields.size() > kStatStart ? fields[kStatStart] : "0");
  }

  std::string find(const TrialJob& job) const override {
    std::string name = text_of(job.folder + "/pid");
    return name.substr(0, name.find('\n'));
  }

  JobLook look(const std::string& name, const TrialJob& job) override {
    JobLook l;
    const auto local = job_named(name);
    if (local) waitpid(local->process, nullptr, WNOHANG);  // if it is ours
    if (local && is_alive(*local)) {
      l.phase = JobLook::Phase::running;
      return l;
    }
    l.phase = JobLook::Phase::over;
    std::istringstream said(text_of(job.folder + "/exit"));
    int code = 0, kills = 0;
    if (!(said >> code >> kills)) {
      l.why = "its shell was killed";
      return l;
    }
    l.completed = code == 0;
    l.has_code = true;
    l.exit_code = code;
    l.out_of_memory = kills > 0 && code != 0;
    return l;
  }

  void stop(const std::string& name) override {
    const auto local = job_named(name);
    if (!local || !is_alive(*local)) return;
    kill_session(local->process, SIGTERM);  // mpirun ends its ranks on other hosts
    for (int i = 0; i < kGraceTenths && kill_session(local->process, 0) > 0; ++i) usleep(100'000);
    kill_session(local->process, SIGKILL);
    waitpid(local->process, nullptr, WNOHANG);
  }

  std::string stop_command(const std::string& name) const override {
    return "pkill -s " + name.substr(0, name.find(':'));
  }

 private:
  std::string needs_;
  int lock_;
};

}  // namespace

std::unique_ptr<JobRunner> local_jobs(std::string needs, int lock) {
  return std::make_unique<LocalJobs>(std::move(needs), lock);
}

}  // namespace pleat
