// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The options of a run on the bundled backend: its processes, devices and optimizer.
#pragma once

#include <CLI/App.hpp>

#include "application/processes/devices.hpp"
#include "application/processes/processes.hpp"
#include "application/training/optimizer_options.hpp"

namespace pleat::cli {

void add_process_options(CLI::App&, ProcessOptions&);
void add_device_options(CLI::App&, DeviceOptions&);
void add_optimizer_options(CLI::App&, OptimizerOptions&);

}  // namespace pleat::cli
