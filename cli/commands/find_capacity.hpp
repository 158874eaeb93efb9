// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat capacity`: its question asked, its answer printed.
#pragma once

#include "application/request/capacity_request.hpp"

namespace pleat::cli {

// `pleat capacity`. Nothing meets the goals: ConfigError (nothing_fits), after the table, with what
// misses and what would do. Ctrl-C: what is done is printed, with the best plans so far, exit code
// 130; SIGTERM likewise, 75.
void capacity(const CapacityOptions&);

}  // namespace pleat::cli
