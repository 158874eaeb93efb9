// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A submitted job from its place in the queue to its end, beside its prediction.
#pragma once

#include <string>

namespace pleat {

// Prints a line when the job's state changes, and one for new steps (loss, tokens/s, step time
// beside the plan's prediction); warns once when it is slower than the band. Looks every `seconds`.
// Ctrl-C leaves the job alone and says how to go on. Throws ConfigError (device_or_io) if the job
// does not complete.
void follow_slurm_job(const std::string& job, const std::string& plan_file, double seconds);

}  // namespace pleat
