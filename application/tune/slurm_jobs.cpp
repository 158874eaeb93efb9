// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Trials as jobs of Slurm.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "application/launch/slurm_job.hpp"
#include "application/tune/job_runner.hpp"

namespace pleat {
namespace {

class SlurmJobs : public JobRunner {
 public:
  void require() const override { require_slurm(); }

  std::string start(const TrialJob& job) override {
    // Slurm ends what nobody looks at any more.
    const int minutes = static_cast<int>(std::ceil(job.limit_seconds / 60)) + 1;
    return submit_to_slurm(
        job.script,
        {"--job-name=" + job.name, "--output=" + job.log(), "--error=" + job.log(),
         "--open-mode=append", "--no-requeue", fmt::format("--time={}", minutes)},
        job.variables);
  }

  std::string find(const TrialJob& job) const override {
    const std::string number = find_slurm_job(job.name);
    if (!number.empty()) return number;
    // One that ran and was forgotten has left its log.
    std::error_code ignored;
    return std::filesystem::exists(job.log(), ignored) ? "forgotten" : "";
  }

  JobLook look(const std::string& job, const TrialJob&) override {
    JobLook l;
    const SlurmState s = slurm_state(job);
    if (s.forgotten || job == "forgotten") {
      l.phase = JobLook::Phase::over;
      l.why = "Slurm has forgotten the job";
      return l;
    }
    if (s.state == "UNKNOWN") return l;
    const bool waits = s.state == "PENDING" || s.state == "CONFIGURING" || s.state == "REQUEUED" ||
                       s.state == "REQUEUE_HOLD";
    l.phase = s.is_over() ? JobLook::Phase::over
              : waits     ? JobLook::Phase::waiting
                          : JobLook::Phase::running;
    l.why = s.is_over() ? s.state : s.reason;
    l.completed = s.state == "COMPLETED";
    l.has_code = s.is_over() && (s.exit_code != 0 || s.signal != 0);
    l.exit_code = s.exit_code;
    l.signal = s.signal;
    l.out_of_memory = s.state == "OUT_OF_MEMORY";
    l.cancelled = s.state == "CANCELLED";
    l.timed_out = s.state == "TIMEOUT";
    return l;
  }

  void stop(const std::string& job) override { cancel_slurm_job(job); }
  std::string stop_command(const std::string& job) const override { return "scancel " + job; }
};

}  // namespace

std::unique_ptr<JobRunner> slurm_jobs() { return std::make_unique<SlurmJobs>(); }

}  // namespace pleat
