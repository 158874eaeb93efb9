// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// pleat tune, once its options are read.
#pragma once

#include "cli/commands/tune_trials.hpp"

namespace pleat::cli {

void run_tune(const TuneRequest&);

}  // namespace pleat::cli
