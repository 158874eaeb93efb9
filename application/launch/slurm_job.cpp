// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/launch/slurm_job.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "core/diagnostics.hpp"
#include "interop/quoting.hpp"

namespace pleat {
namespace {

struct Said {
  int code = -1;
  std::string text;  // stdout and stderr
};

Said shell(const std::string& line) {
  Said said;
  FILE* const pipe = popen((line + " 2>&1 </dev/null").c_str(), "r");
  if (pipe == nullptr) return said;
  std::array<char, 4096> part{};
  while (const std::size_t n = fread(part.data(), 1, part.size(), pipe))
    said.text.append(part.data(), n);
  const int status = pclose(pipe);
  said.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return said;
}

// The value of "JobState=" in the line of `scontrol show job -o`.
std::string field(const std::string& text, const std::string& name) {
  const std::size_t at = text.find(" " + name + "=");
  if (at == std::string::npos) return "";
  const std::size_t begin = at + name.size() + 2;
  return text.substr(begin, text.find_first_of(" \n", begin) - begin);
}

// Assignments before a command.
std::string with_variables(const JobEnvironment& variables) {
  std::string text;
  for (const auto& [name, value] : variables)
    text += name + "=" + interop::shell_word(value, name) + " ";
  return text;
}

}  // namespace

void check_job_file(const std::string& file, const JobEnvironment& variables) {
  const Said said = shell(with_variables(variables) + "PLEAT_CHECK_ONLY=1 bash " +
                          interop::shell_word(file, "--out"));
  if (said.code == 0) return;
  Diagnostics problems;
  for (std::size_t begin = 0; begin < said.text.size();) {
    const std::size_t end = std::min(said.text.find('\n', begin), said.text.size());
    problems.error(ExitCode::bad_request, "", "", said.text.substr(begin, end - begin));
    begin = end + 1;
  }
  problems.throw_if_errors();
}

void require_slurm() {
  if (shell("command -v sbatch").code == 0) return;
  throw_config_error(ExitCode::device_or_io, "sbatch", "", "is not installed here",
                     "a login node of the cluster");
}

std::string submit_to_slurm(const std::string& file, const std::vector<std::string>& options,
                            const JobEnvironment& variables) {
  std::string line = with_variables(variables) + "sbatch --parsable";
  for (const std::string& option : options) line += " " + interop::shell_word(option, "sbatch");
  const Said said = shell(line + " " + interop::shell_word(file, "--out"));
  const auto fail = [&](const std::string& message, const char* hint) {
    throw_config_error(ExitCode::device_or_io, "sbatch", "", message, hint);
  };
  if (said.code == 127)
    fail("is not installed here", "a login node of the cluster, or leave --run out");
  const std::string text = said.text.substr(0, said.text.find_last_not_of('\n') + 1);
  // The last line: warnings come before it. "12" or "12;cluster".
  const std::string last = text.substr(text.rfind('\n') + 1);
  const std::string job = last.substr(0, last.find(';'));
  const bool is_number =
      !job.empty() && std::ranges::all_of(job, [](char c) { return c >= '0' && c <= '9'; });
  if (said.code != 0 || !is_number) fail("did not take the job: " + interop::one_line(last), "");
  return job;
}

bool SlurmState::is_over() const {
  static const std::array kUnfinished{"UNKNOWN",      "PENDING",  "RUNNING",   "SUSPENDED",
                                      "COMPLETING",   "REQUEUED", "RESIZING",  "CONFIGURING",
                                      "REQUEUE_HOLD", "STOPPED",  "STAGE_OUT", "SIGNALING"};
  return std::ranges::find(kUnfinished, state) == kUnfinished.end();
}

SlurmState slurm_state(const std::string& job) {
  const Said said = shell("scontrol show job -o " + interop::shell_word(job, "job"));
  SlurmState s;
  if (said.code != 0) {
    s.forgotten = said.text.find("Invalid job id") != std::string::npos;
    return s;
  }
  s.state = field(said.text, "JobState");
  s.reason = field(said.text, "Reason");
  s.log = field(said.text, "StdOut");
  const std::string code = field(said.text, "ExitCode");  // "1:0"
  s.exit_code = std::atoi(code.c_str());
  if (const std::size_t colon = code.find(':'); colon != std::string::npos)
    s.signal = std::atoi(code.c_str() + colon + 1);
  if (s.state.empty()) s.state = "UNKNOWN";
  return s;
}

std::string find_slurm_job(const std::string& name) {
  const Said said =
      shell("squeue --noheader --states=all --format=%i --name=" +
            interop::shell_word(name, "job"));
  if (said.code != 0) return "";
  return said.text.substr(0, said.text.find_first_not_of("0123456789"));
}

void cancel_slurm_job(const std::string& job) {
  static_cast<void>(shell("scancel --full " + interop::shell_word(job, "job")));
}

}  // namespace pleat
