// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What of Pleat is there on this machine, which profile its GPU has, and what mends what is not.
#pragma once

#include <string>
#include <vector>

#include "application/doctor/gpus_here.hpp"

namespace pleat {

struct MachineCheck {
  std::string name = {};  // "charts"
  bool there = false;
  bool needed = false;     // here: without it a command fails that this machine is for
  std::string found = {};  // what is there, or what is not and which commands miss it
  std::string mend = {};   // the command that mends it; empty: nothing to do
};

[[nodiscard]] std::vector<MachineCheck> machine_checks(const GpusHere&);

// All that is needed is there.
[[nodiscard]] bool is_well(const std::vector<MachineCheck>&);

}  // namespace pleat
