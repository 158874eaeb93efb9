// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What runs trials: processes of this host, or a scheduler. A job outlives the process that started
// it, so that a tuning which was killed finds it again.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pleat {

struct TrialJob {
  std::string name;    // unlike that of any other trial: "pleat-tune-3f2a90cd-004"
  std::string folder;  // absolute; the log and what the runner keeps lie here
  std::string script;  // a job file, for bash or sbatch
  std::vector<std::pair<std::string, std::string>> variables;  // for its environment
  double limit_seconds = 0;                                    // that it may run

  [[nodiscard]] std::string log() const { return folder + "/log"; }
};

struct JobLook {
  enum class Phase { waiting, running, over, unknown };
  Phase phase = Phase::unknown;  // unknown: the scheduler does not answer
  std::string why;               // it waits, or ended: "Resources", "NODE_FAIL"
  bool completed = false;        // over, and it says that all is well
  bool has_code = false;         // over, and its exit code or signal is known
  int exit_code = 0, signal = 0;
  bool out_of_memory = false, cancelled = false, timed_out = false;  // as the system says
};

class JobRunner {
 public:
  JobRunner() = default;
  JobRunner(const JobRunner&) = delete;
  JobRunner& operator=(const JobRunner&) = delete;
  virtual ~JobRunner() = default;

  // ConfigError (device_or_io) if what it needs is not installed.
  virtual void require() const = 0;
  // Starts or submits; how the job is called from now on. ConfigError (device_or_io) with the words
  // of who refused it.
  [[nodiscard]] virtual std::string start(const TrialJob&) = 0;
  // The job that was started for this trial by a process that could not say so any more; empty:
  // none was.
  [[nodiscard]] virtual std::string find(const TrialJob&) const = 0;
  [[nodiscard]] virtual JobLook look(const std::string& job, const TrialJob&) = 0;
  // Ends it with everything that it started.
  virtual void stop(const std::string& job) = 0;
  // "kill -- -4711": what a person would type.
  [[nodiscard]] virtual std::string stop_command(const std::string& job) const = 0;
};

// A shell in a session of its own runs the job file. `needs`: a program without which none can run;
// empty: none. `lock` is a file that the shell closes once it has said who it is.
[[nodiscard]] std::unique_ptr<JobRunner> local_jobs(std::string needs, int lock);
[[nodiscard]] std::unique_ptr<JobRunner> slurm_jobs();

}  // namespace pleat
