// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What else a machine does while something is timed.
#pragma once

namespace pleat {

// From its construction on.
class MachineLoad {
 public:
  MachineLoad();
  // Share of all cores' time that other programs ran, 0 to 1; 0 where the system does not say.
  [[nodiscard]] double of_others() const;

 private:
  double busy_ = 0, all_ = 0, own_ = 0;  // seconds of cores
};

// Core-seconds that this process has run.
[[nodiscard]] double process_seconds();

}  // namespace pleat
