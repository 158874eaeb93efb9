// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A job of Slurm, through the commands that Slurm has for its users: sbatch and scontrol.
#pragma once

#include <string>

namespace pleat {

// Throws ConfigError (bad_request) with what the job file says is missing.
void check_job_file(const std::string& file);

// Submits a job file; the job's number. Throws ConfigError (device_or_io) with what sbatch said, or
// that there is none.
[[nodiscard]] std::string submit_to_slurm(const std::string& file);

struct SlurmState {
  std::string state = "UNKNOWN";  // "PENDING", "RUNNING", "COMPLETED", …
  std::string reason;             // why it waits or ended: "Resources", "NonZeroExitCode"
  std::string log;                // what it prints to; empty: not known
  [[nodiscard]] bool is_over() const;
};

// UNKNOWN for a job that Slurm has forgotten, or while its controller does not answer.
[[nodiscard]] SlurmState slurm_state(const std::string& job);

}  // namespace pleat
