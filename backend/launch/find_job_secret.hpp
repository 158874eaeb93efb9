// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Where a process gets its job's secret from. Never from the command line, which every user of the
// host can read.
#pragma once

#include "backend/comm/job_secret.hpp"
#include "backend/launch/process_facts.hpp"

namespace pleat {

inline constexpr const char* kJobSecretVariable = "PLEAT_JOB_SECRET";
inline constexpr const char* kJobSecretFileVariable = "PLEAT_JOB_SECRET_FILE";

// The text of PLEAT_JOB_SECRET, or what is in the file that PLEAT_JOB_SECRET_FILE names, without
// blanks and line ends around it; none if neither is set. ConfigError (bad_request) if both are
// set, if the text has fewer than 32 characters, or if the file cannot be read, is no plain file,
// belongs to another user than this one or root, or lets others than its owner in. No message shows
// it.
[[nodiscard]] JobSecret find_job_secret(const Variables&);

}  // namespace pleat
