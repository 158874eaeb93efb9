// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A job of Slurm, through the commands that Slurm has for its users: sbatch and scontrol.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace pleat {

// For the environment of a job.
using JobEnvironment = std::vector<std::pair<std::string, std::string>>;

// Throws ConfigError (bad_request) with what the job file says is missing.
void check_job_file(const std::string& file, const JobEnvironment& = {});

// Throws ConfigError (device_or_io) if there is no sbatch here.
void require_slurm();

// Submits a job file; the job's number. Options of sbatch come before those of the file; the job
// gets this environment and `variables`. Throws ConfigError (device_or_io) with what sbatch said,
// or that there is none.
[[nodiscard]] std::string submit_to_slurm(const std::string& file,
                                          const std::vector<std::string>& options = {},
                                          const JobEnvironment& variables = {});

struct SlurmState {
  std::string state = "UNKNOWN";  // "PENDING", "RUNNING", "COMPLETED", …
  std::string reason;             // why it waits or ended: "Resources", "NonZeroExitCode"
  std::string log;                // what it prints to; empty: not known
  int exit_code = 0, signal = 0;  // once it is over
  bool forgotten = false;         // Slurm knows no such job (any more)
  [[nodiscard]] bool is_over() const;
};

// UNKNOWN for a job that Slurm has forgotten, or while its controller does not answer.
[[nodiscard]] SlurmState slurm_state(const std::string& job);

// The number of this user's job of that name, waiting, running or just over; empty: none.
[[nodiscard]] std::string find_slurm_job(const std::string& name);

void cancel_slurm_job(const std::string& job);  // says nothing if it is over

}  // namespace pleat
